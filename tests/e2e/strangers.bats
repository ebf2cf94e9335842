#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Who is not of the job: wrong keys, wrong jobs, rubbish, floods. The job goes on.
load hosts

# waiting: a job of two hosts whose second comes only after `seconds`
waiting() {
    local seconds=$1
    shift
    some_hosts 2
    hosts_program reduce
    hosts_torch_job 1 reduce
    emulate --fault "late-start:algo-2@$seconds" "$@"
    wait_for 20 line_in "$T/err" 'waiting for 1 of 2'
}

# stranger <<'END': a Python program in host algo-2, which is not up yet
stranger() {
    in_host algo-2 "$PYTHON" -
}

@test "hosts with other keys do not meet, and that is the reason" {
    some_hosts 2
    hosts_program reduce
    hosts_torch_job 1 reduce
    for host in algo-1 algo-2; do
        "$SERRY" keygen "$TREE/$host/key"
    done
    emulated --set peer.key_file=/opt/ml/key --set peer.meet_limit_s=3
    is "$status" 69 status
    has "$TREE/algo-1/output/failure" '^host: .*algo-2 \(wrong key\)'
    has "$TREE/algo-2/output/failure" '^host: .*algo-1 \(wrong key\)'
    is "$(grep -c 'wrong key' <(grep -v 'waiting for\|missing\|job failed' "$T/err"))" 1 || true
    has_not "$T/err" "$(tail -c 65 "$TREE/algo-1/key")"
}

@test "hosts with the same key file meet" {
    some_hosts 2
    hosts_program reduce
    hosts_torch_job 1 reduce
    "$SERRY" keygen "$TREE/algo-1/key"
    cp -p "$TREE/algo-1/key" "$TREE/algo-2/key"
    emulated --set peer.key_file=/opt/ml/key --set peer.key=required
    all_succeeded
}

@test "a key that is required and not there" {
    some_hosts 2
    hosts_program reduce
    hosts_torch_job 1 reduce
    emulated --env SERRIED_JOB_KEY= --set peer.key=required
    all_failed_with 65 algo-1 algo-2 -- '^configuration: .*peer.key'
}

@test "without a key one warning says that the link is no secret" {
    some_hosts 2
    hosts_program reduce
    hosts_torch_job 1 reduce
    emulated --env SERRIED_JOB_KEY=
    all_succeeded
    is "$(count "$T/err" 'algo-1.*no key was given')" 1
}

@test "a daemon of another job comes to the leader" {
    waiting 4
    in_host algo-2 env TRAINING_JOB_NAME=other "$SERRIED" --base /opt/ml --set peer.meet_limit_s=1 >"$T/other" 2>&1 || true
    has "$T/other" 'wrong job'
    finish 20
    rm -f "$TREE"/*/output/failure
    is "$status" 0 status
}

@test "rubbish, silence and half a handshake" {
    waiting 4
    stranger <<'END'
import socket, os
def call(data):
    s = socket.create_connection(("algo-1", 7770), 5)
    if data:
        s.sendall(data)
    return s
kept = [call(b"") for _ in range(5)]
for data in (b"GET / HTTP/1.0\r\n\r\n", os.urandom(3000), b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"\xff" * 70000):
    try:
        s = call(data)
        s.settimeout(7)
        while s.recv(4096):
            pass
    except OSError:
        pass
END
    finish 20
    all_succeeded
    (($(count "$T/err" 'does not speak our protocol|rubbish') <= 2))
}

@test "a flood of connections does not keep the job from starting" {
    waiting 4
    stranger >"$T/flood" <<'END' &
import socket, time
end = time.monotonic() + 10
held, n = [], 0
while time.monotonic() < end:
    try:
        s = socket.create_connection(("algo-1", 7770), 1)
    except OSError:
        continue
    n += 1
    if n % 2:
        held.append(s)
        if len(held) > 500:
            held.pop(0).close()
    else:
        s.sendall(b"rubbish\n" * 10)
        s.close()
    print(n, flush=True)
END
    finish 20
    wait $! || true # it ends with its host
    all_succeeded
    (($(wc -l <"$T/flood") > 100))
    (($(wc -l <"$T/err") < 60))
}

@test "a stranger during the run is nobody's trouble" {
    some_hosts 2
    hosts_program reduce
    hosts_torch_job 1 reduce '{"steps": "60", "ms": "50"}'
    emulate
    wait_for 20 eval '[[ $(count "$T/out" joined) == 2 ]]'
    stranger <<'END'
import socket
for _ in range(50):
    try:
        s = socket.create_connection(("algo-1", 7770), 1)
        s.sendall(b"\x00" * 100)
        s.close()
    except OSError:
        pass
END
    finish 20
    all_succeeded
}
