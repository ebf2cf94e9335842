#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Field case 16 and its kind: a host is killed, freezes, or is cut off; the leader and others.
load hosts

# run_on N: ranks that go on until something ends them; returns when all have met
run_on() {
    some_hosts "$1"
    shift
    hosts_program reduce
    hosts_torch_job 1 reduce '{"steps": "1000000", "ms": "20"}'
    emulate --set peer.silence_s=2 --set peer.heartbeat_s=0.3 "$@"
    wait_for 20 eval '[[ $(count "$T/out" joined) == '${#names[@]}' ]]'
}

lost() { # MS-LIMIT HOST-LOST HOSTS-THAT-TELL...
    local limit=$1 gone=$2 host
    shift 2
    finish 20
    under "$took_ms" "$limit" milliseconds
    is "$status" 69 status
    for host; do
        has "$TREE/$host/output/failure" "^host: .*$gone"
        is "$(failure_of "$host" '"\(.status) \(.blame) \(.host)"')" "69 host $gone"
    done
}

@test "the leader is killed with all its processes" {
    run_on 3
    trouble kill:algo-1
    began_ms=$(now_ms)
    lost 3000 algo-1 algo-2 algo-3
    has "$TREE/algo-2/output/failure" '^host: .*lost.*leader algo-1'
}

@test "the leader is killed while a peer waits for the start" {
    some_hosts 3
    hosts_program reduce
    hosts_torch_job 1 reduce
    emulate --fault no-start:algo-3
    wait_for 20 line_in "$T/err" 'waiting for 1 of 3'
    trouble kill:algo-1
    began_ms=$(now_ms)
    lost 3000 algo-1 algo-2
}

@test "another host is killed while a third is waited for" {
    some_hosts 3
    hosts_program reduce
    hosts_torch_job 1 reduce
    emulate --fault no-start:algo-3
    wait_for 20 line_in "$T/err" 'waiting for 1 of 3'
    trouble kill:algo-2
    began_ms=$(now_ms)
    lost 10000 algo-2 algo-1
}

@test "another host is killed" {
    run_on 3
    trouble kill:algo-2
    began_ms=$(now_ms)
    lost 3000 algo-2 algo-1 algo-3
    cmp "$TREE/algo-1/output/failure" "$TREE/algo-3/output/failure"
}

@test "the leader freezes" {
    run_on 3
    trouble freeze:algo-1
    began_ms=$(now_ms)
    lost 8000 algo-1 algo-2 algo-3 # the emulator ends a frozen host that nobody is left to thaw
    has "$TREE/algo-2/output/failure" 'no sign of life for 2'
}

@test "another host freezes, and thaws when the others are gone" {
    run_on 3 --fault thaw:algo-2@8
    trouble freeze:algo-2
    began_ms=$(now_ms)
    wait_for 20 files_there "$TREE/algo-1/output/failure" "$TREE/algo-3/output/failure"
    lost 12000 algo-2 algo-1 algo-3
    has "$TREE/algo-2/output/failure" '^host: .*lost.*leader algo-1'
}

@test "a freeze that is shorter than the limit is forgiven" {
    run_on 2
    trouble freeze:algo-2
    read -rt 1 -u "$idle" _ || true
    trouble thaw:algo-2
    read -rt 2 -u "$idle" _ || true
    [[ ! -e $TREE/algo-1/output/failure ]]
    trouble stop:algo-1
    finish 20
    is "$status" 143 status
}

@test "a host is cut off" {
    run_on 3
    trouble cut:algo-3
    began_ms=$(now_ms)
    lost 8000 algo-3 algo-1 algo-2
    has "$TREE/algo-3/output/failure" '^host: .*lost.*leader algo-1'
}

@test "the leader is cut off" {
    run_on 3
    trouble cut:algo-1
    began_ms=$(now_ms)
    finish 20
    under "$took_ms" 8000 milliseconds
    is "$status" 69 status
    for host in algo-2 algo-3; do
        has "$TREE/$host/output/failure" '^host: .*lost.*leader algo-1'
    done
    has "$TREE/algo-1/output/failure" '^host: .*lost.*host algo-[23]'
}

@test "a slow and lossy network is no loss" {
    some_hosts 2
    hosts_program reduce
    hosts_torch_job 1 reduce '{"steps": "20"}'
    emulated --fault delay:algo-2:50ms --fault loss:algo-2:5% --set peer.silence_s=5
    all_succeeded
}
