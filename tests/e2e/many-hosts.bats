#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A job of several hosts: starts together, ends together, tells the same story everywhere.
load hosts

@test "two hosts of two ranks each: one world" {
    some_hosts 2
    hosts_program reduce
    hosts_torch_job 2 reduce
    emulated
    all_succeeded
    for rank in 0 1 2 3; do
        host=algo-$((rank / 2 + 1))
        has "$T/out" "^\[$host:$rank\] host $host rank $rank of 4: sum 100$"
    done
    files_there "$(own_of algo-1)/logs/1.out" "$(own_of algo-2)/logs/3.out"
    [[ ! -e $(own_of algo-1)/logs/2.out ]]
}

@test "a rank fails on one host: all end, and all say the same" {
    some_hosts 3
    hosts_program reduce
    hosts_torch_job 2 reduce '{"steps": "100000", "ms": "20", "fail-rank": "3"}'
    emulated
    all_failed_with 3 algo-1 algo-2 algo-3 -- '^user: exit code 3, rank 3 on algo-2$' \
        '^ValueError: bad shard at step 3$'
    for host in algo-1 algo-2 algo-3; do
        is "$(failure_of "$host" '"\(.rank) \(.host) \(.exit)"')" "3 algo-2 3"
        is "$(failure_of "$host" '.followers | length')" 5
    done
}

@test "a plain job runs one process on each host, and they are numbered" {
    some_hosts 3
    hosts_entry say.sh <<'END'
#!/bin/sh
echo "$SM_CURRENT_HOST is $RANK of $WORLD_SIZE, leader $MASTER_ADDR"
END
    hosts_job say.sh
    emulated
    all_succeeded
    has "$T/out" '^\[algo-1:0\] algo-1 is 0 of 3, leader algo-1$' '^\[algo-3:2\] algo-3 is 2 of 3, leader algo-1$'
}

@test "a stop on one host stops all" {
    some_hosts 2
    hosts_program reduce
    hosts_torch_job 1 reduce '{"steps": "100000", "ms": "20"}'
    emulate
    wait_for 20 eval '[[ $(count "$T/out" joined) == 2 ]]'
    trouble stop:algo-2
    finish 20
    is "$status" 143 status
    [[ ! -e $TREE/algo-1/output/failure && ! -e $TREE/algo-2/output/failure ]]
}
