#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Field cases 17, 18, 22, 26, 29, 31, 32, 36, 38 across hosts.
load hosts

@test "no time is lost at the end" {
    some_hosts 2
    for code in 0 3; do
        hosts_entry sleeper.sh <<END
#!/bin/sh
sleep 1
date +%s%N >"\$SM_OUTPUT_DATA_DIR/end.\$RANK"
exit $code
END
        hosts_torch_job 1 sleeper.sh
        emulated
        ended_ms=$(($(date +%s%N) / 1000000))
        is "$status" "$code" status
        last=$(cat "$TREE"/*/output/data/end.* | sort -n | tail -n 1)
        under $((ended_ms - last / 1000000)) 2000 "ms after the last rank"
        rm "$TREE"/*/output/data/end.*
    done
}

@test "the port is taken on the leader: all agree on another" {
    some_hosts 2
    hosts_program reduce
    hosts_torch_job 1 reduce
    emulate --fault late-start:algo-1@2
    wait_for 10 eval 'in_host algo-1 true 2>/dev/null'
    in_host algo-1 "$PYTHON" -c 'import socket, os
s = socket.create_server(("", 7777))
print("taken", flush=True)
if os.fork() == 0:
    os.close(1)
    s.accept()' >"$T/taker"
    has "$T/taker" taken
    finish 30
    all_succeeded
    has "$T/err" 'algo-1\] serried: port 7777 is taken: MASTER_PORT is' 'algo-2\] serried: port 7777 is taken: MASTER_PORT is'
}

@test "the console shows one rank, and the last words of the one that failed on another host" {
    some_hosts 2
    hosts_entry five.sh <<'END'
#!/bin/sh
for i in 1 2 3 4 5; do echo "line $i of rank $RANK"; done
echo said >"$SM_OUTPUT_DATA_DIR/said.$RANK"
[ "$RANK" = 3 ] && exit 9
exec sleep 600
END
    hosts_torch_job 2 five.sh
    emulated --set log.ranks=0
    is "$status" 9 status
    has "$T/out" '^\[algo-1:0\] line 5 of rank 0$' '^\[algo-2:3\] line 5 of rank 3$'
    has_not "$T/out" 'of rank [12]$'
    is "$(wc -l <"$(own_of algo-1)/logs/0.out")" 5
    is "$(wc -l <"$(own_of algo-2)/logs/3.out")" 5
}

@test "the first failure, not the loudest, across hosts" {
    some_hosts 2
    hosts_entry loud.py <<'END'
import os, sys, time
rank = int(os.environ["RANK"])
if rank == 0:
    print("note: ignoring Exception in plugin", file=sys.stderr, flush=True)
if rank == 3:
    time.sleep(0.5)
    try:
        raise ValueError("bad shard")
    finally:
        sys.stderr.flush()
open(os.path.join(os.environ["SM_OUTPUT_DATA_DIR"], "up"), "w").close()
time.sleep(0.55)
for i in range(40):
    print(f"ConnectionResetError: [Errno 104] Connection reset by peer {i}", file=sys.stderr)
sys.exit(1)
END
    hosts_torch_job 2 loud.py
    emulated --set "python=$PYTHON"
    all_failed_with 1 algo-1 algo-2 -- '^user: exit code 1, rank 3 on algo-2$' '^ValueError: bad shard$'
    is "$(failure_of algo-1 '[.followers[].rank] | sort | join(",")')" 0,1,2
}

@test "a rank is killed: the others' errors are consequences, on every host" {
    some_hosts 3
    hosts_program reduce
    hosts_torch_job 2 reduce '{"steps": "100000", "ms": "5", "kill-rank": "4"}'
    emulated
    all_failed_with 137 algo-1 algo-2 algo-3 -- '^user: signal 9 \(SIGKILL\), rank 4 on algo-3$'
}

@test "survivors of every host are gone, whoever failed" {
    some_hosts 2
    hosts_entry leave.sh <<'END'
#!/bin/sh
sleep 600 &
setsid sleep 600 &
(trap '' TERM HUP; setsid sh -c 'trap "" TERM HUP; sleep 600' & )
[ "$RANK" = 1 ] && exit 5
exec sleep 600
END
    hosts_torch_job 1 leave.sh
    emulated
    is "$status" 5 status
    wait_for 5 none_left
}

@test "a rank that ignores the stop is killed on its own host, after the grace" {
    some_hosts 2
    hosts_program reduce
    hosts_torch_job 1 reduce '{"steps": "100000", "ms": "20", "stubborn": "1"}'
    emulate --set stop.grace_s=1
    wait_for 20 eval '[[ $(count "$T/out" joined) == 2 ]]'
    kill -TERM "$daemon"
    began_ms=$(now_ms)
    finish 20
    is "$status" 143 status
    under "$took_ms" 4000 milliseconds
    is "$(failure_of algo-1 '.killed | sort | join(",")')" 0,1
}

@test "the launcher's daemon is killed on one host: its ranks go too" {
    some_hosts 2
    hosts_program reduce
    hosts_torch_job 1 reduce '{"steps": "100000", "ms": "20"}'
    emulate
    wait_for 20 eval '[[ $(count "$T/out" joined) == 2 ]]'
    trouble kill:algo-2
    finish 20
    is "$status" 69 status
    wait_for 5 none_left
}

@test "the emulator is killed: nothing is left" {
    some_hosts 3
    hosts_program reduce
    hosts_torch_job 1 reduce '{"steps": "100000", "ms": "20"}'
    emulate
    wait_for 20 eval '[[ $(count "$T/out" joined) == 3 ]]'
    kill -KILL "$daemon"
    finish 5
    wait_for 5 none_left
}

@test "an interface that no host has is replaced by the one that leads to the others" {
    some_hosts 2
    hosts_entry say.sh <<'END'
#!/bin/sh
echo "interface $SM_NETWORK_INTERFACE_NAME"
END
    hosts_torch_job 1 say.sh
    for host in algo-1 algo-2; do
        config_of "$host" resourceconfig "$(jq -c '.network_interface_name = "ethwe"' "$TREE/$host/input/config/resourceconfig.json")"
    done
    emulated
    all_succeeded
    has "$T/out" '^\[algo-1:0\] interface eth0$' '^\[algo-2:1\] interface eth0$'
    has "$T/err" 'network_interface_name: this host has no ethwe'
}

@test "a plan of two hosts shows all, and starts nothing" {
    some_hosts 2
    hosts_program reduce
    hosts_torch_job 2 reduce
    BASE=$TREE/algo-2 serry plan --json
    is "$status" 0 status
    is "$(jq -c '.world' "$T/out")" '{"size":4,"hosts":[{"name":"algo-1","first_rank":0,"ranks":2},{"name":"algo-2","first_rank":2,"ranks":2}]}'
    is "$(jq -c '[.ranks[].rank]' "$T/out")" '[2,3]'
    is "$(jq -r '.role' "$T/out")" peer
    is "$(jq -c '.warnings' "$T/out")" '[]'
}

@test "the memory limit of one host is named, and only there" {
    some_hosts 2
    for host in algo-1 algo-2; do BASE=$TREE/$host program hog; done
    hosts_entry eat.sh <<'END'
#!/bin/sh
[ "$RANK" = 1 ] || exec sleep 600
exec /opt/ml/code/hog
END
    hosts_torch_job 1 eat.sh
    emulate --fault memory:algo-2:64MiB
    finish 30
    ! line_in "$T/err" 'memory limits need' || skip "no memory controller can be written here"
    all_failed_with 137 algo-1 algo-2 -- '^user: killed: out of memory, limit 64.0 MiB, rank 1 on algo-2$'
}

@test "the disk of one host is full: the verdict is the same" {
    some_hosts 2
    hosts_entry fill.sh <<'END'
#!/bin/sh
[ "$RANK" = 1 ] || exec sleep 600
cat /dev/zero >/opt/ml/output/data/fill 2>/dev/null
exit 4
END
    hosts_torch_job 1 fill.sh
    emulated --fault disk:algo-2:4MiB
    is "$status" 4 status
    has "$TREE/algo-1/output/failure" '^user: exit code 4, rank 1 on algo-2$'
}

@test "the ranks of one host leave early: said once, and final if that is asked for" {
    some_hosts 2
    hosts_entry leave.sh <<'END'
#!/bin/sh
[ "$RANK" = 1 ] && exit 0
exec sleep 600
END
    hosts_torch_job 1 leave.sh
    emulated --set rank.early_exit_s=1 --set rank.early_exit_fails=true
    all_failed_with 1 algo-1 algo-2 -- '^user: left early with exit code 0, rank 1 on algo-2$'
    is "$(count "$T/err" 'algo-2 ended with 0 more than 1 s ago; still running: rank 0$')" 1
}
