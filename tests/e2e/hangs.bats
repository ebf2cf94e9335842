#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Nothing holds up the end: a process that the kernel keeps, a name server that does not answer, a
# console that nobody reads, a stop at an odd moment.
load lib

# A rank cannot be reaped while a stranger traces it: to us it is as one that is stuck in the kernel.
trace() { # PID
    cat >"$T/trace.py" <<'END'
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
sys.exit("not allowed") if libc.ptrace(0x4206, int(sys.argv[1]), 0, 0) else print("held", flush=True)
sys.stdin.read()
END
    mkfifo "$T/release"
    "$PYTHON" "$T/trace.py" "$1" <"$T/release" >"$T/traced" 2>&1 3>&- {idle}>&- &
    tracer=$!
    exec {release}>"$T/release"
    wait_for 10 line_in "$T/traced" .
    grep -q held "$T/traced" || skip "no process may be traced here"
}

clear_up() {
    [[ -z ${release:-} ]] || exec {release}>&-
    [[ -z ${tracer:-} ]] || wait "$tracer" || true
}

@test "a rank that not even SIGKILL ends" {
    entry train.sh <<'END'
#!/bin/sh
echo $$ >"$STORY/pid.$RANK"
[ "$RANK" = 0 ] && exec sleep 600
read -r _ <"$STORY/go.1"
exit 3
END
    gates 2
    torch_job 2 train.sh
    start --set stop.failure_grace_s=0.5
    wait_for 10 line_in "$T/pid.0" .
    wait_for 10 line_in "$T/pid.1" .
    trace "$(cat "$T/pid.0")"
    let_go 1
    finish 14
    failed_with 3 'rank 1 on algo-1'
    has "$T/err" 'rank 0 .*SIGKILL'
}

# start_deaf: as start, where the name server takes questions and does not answer
start_deaf() {
    local run=(unshare --net --mount)
    ((UID == 0)) || run=(unshare --user --map-root-user "${run[@]:1}")
    cat >"$T/silent.py" <<'END'
import fcntl, os, socket, struct, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
fcntl.ioctl(s, 0x8914, struct.pack("16sh14x", b"lo", 1))
s.bind(("127.0.0.1", 53))
os.set_inheritable(s.fileno(), True)
os.execv(sys.argv[1], sys.argv[1:])
END
    echo "nameserver 127.0.0.1" >"$T/resolv.conf"
    "${run[@]}" sh -c 'mount --bind "$1" /etc/resolv.conf' - "$T/resolv.conf" || skip "no namespaces here"
    began_ms=$(now_ms)
    (cd "$T/cwd" && exec "${run[@]}" env -i "${container[@]}" sh -c 'mount --bind "$1" /etc/resolv.conf
        shift; exec "$@"' - "$T/resolv.conf" "$PYTHON" "$T/silent.py" "$SERRIED" --base "$BASE" \
        <"$in" >"$out" 2>"$err" 3>&- {idle}>&-) &
    daemon=$!
}

@test "a name server that does not answer" {
    entry train.sh <<'END'
#!/bin/sh
echo "$MASTER_ADDR" >"$STORY/address"
END
    job train.sh
    start_deaf
    finish 20
    succeeded
    is "$(cat "$T/address")" 127.0.0.1
    under "$took_ms" 4000 milliseconds
}

is_asking() {
    [[ $(cat "/proc/$daemon/comm") == serried && -d /proc/$daemon/task ]] &&
        (($(find "/proc/$daemon/task" -mindepth 1 -maxdepth 1 | wc -l) > 1))
}

@test "a stop while the name server is asked" {
    entry train.sh <<'END'
#!/bin/sh
: >"$STORY/started"
END
    job train.sh
    start_deaf
    wait_for 10 is_asking
    kill -TERM "$daemon"
    finish 10
    is "$status" 143 status
    [[ ! -e $T/started && ! -e $BASE/output/failure && ! -e $BASE/output/success ]]
}

@test "a step that takes too long, and takes no notice of SIGTERM" {
    mkdir "$T/bin"
    cat >"$T/bin/python3" <<END
#!/bin/sh
[ "\$2" = pip ] || exec $PYTHON "\$@"
trap '' TERM
echo "Collecting torch"
echo "Retrying (Retry(total=4))" >&2
sleep 600 & wait; sleep 600
END
    chmod 755 "$T/bin/python3"
    container+=(PATH="$T/bin:$HOST_PATH")
    echo torch >"$BASE/code/requirements.txt"
    : >"$BASE/code/train.py"
    job train.py
    serried --set step.install_limit_s=1 --set stop.failure_grace_s=0.5
    failed_with 1 '^user: not finished after 1 s, step install on algo-1$' \
        '^help: .*step\.install_limit_s' '^Collecting torch$' '^Retrying'
    is "$(failure .step)" install
    under "$took_ms" 6000 milliseconds
}

# unread: standard output is a full pipe that nobody reads
unread() {
    out=$T/full
    mkfifo "$out"
    exec {full}<>"$out"
    timeout 1 head -c 2000000 /dev/zero >&"$full" || true
}

@test "a stop while the last lines wait for a reader" {
    unread
    entry train.sh <<'END'
#!/bin/sh
echo unread
echo done >&2
END
    job train.sh
    began_ms=$(now_ms)
    (cd "$T/cwd" && exec env -i --default-signal=INT "${container[@]}" "$SERRIED" --base "$BASE" \
        --set stop.drain_s=60 --set stop.grace_s=0.5 <"$in" >&"$full" 2>"$err" 3>&- {idle}>&-) &
    daemon=$!
    wait_for 10 line_in "$err" 'ended well'
    kill -INT "$daemon"
    kill -TERM "$daemon"
    read -rt 0.2 -u "$idle" _ || true
    kill -INT "$daemon"
    finish 5
    succeeded
    exec {full}>&-
}

@test "a stop when all ranks have ended well comes too late to matter" {
    unread
    entry train.sh <<'END'
#!/bin/sh
echo unread
END
    job train.sh
    began_ms=$(now_ms)
    (cd "$T/cwd" && exec env -i "${container[@]}" "$SERRIED" --base "$BASE" \
        --set stop.drain_s=1 <"$in" >&"$full" 2>"$err" 3>&- {idle}>&-) &
    daemon=$!
    wait_for 10 line_in "$err" 'ended well'
    kill -TERM "$daemon"
    finish 5
    succeeded
    has_not "$err" 'asked to end'
    exec {full}>&-
}
