#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Field case 14: slow and missing hosts.
load hosts

one_rank_each() {
    hosts_program reduce
    hosts_torch_job 1 reduce "$@"
}

@test "a host that comes late is waited for, calmly" {
    some_hosts 2
    one_rank_each
    emulated --fault late-start:algo-2@3
    all_succeeded
    under 3000 "$took_ms" "start"
    has "$T/err" 'waiting for 1 of 2 hosts: algo-2 \(connection refused\)'
    has_not "$T/err" '[Ee]rror|[Tt]raceback'
    (($(count "$T/err" 'waiting for') <= 3))
}

@test "a name that resolves late is waited for" {
    some_hosts 2
    one_rank_each
    emulated --fault late-name:algo-1@3
    all_succeeded
    has "$T/err" 'waiting for .*algo-1 \(its name is not found\)'
}

@test "a name that never resolves: every host that is there ends, and names it" {
    some_hosts 3
    one_rank_each
    emulated --fault no-name:algo-3 --fault no-start:algo-3 --set peer.meet_limit_s=4
    under "$took_ms" 7000 "milliseconds"
    all_failed_with 69 algo-1 algo-2 -- '^host: .*missing after 4 s: algo-3 \(its name is not found\)'
    has_not "$TREE/algo-1/output/failure" 'algo-2'
    has_not "$T/out" joined
}

@test "a host that refuses the connection is named with that reason" {
    some_hosts 3
    one_rank_each
    emulated --fault no-start:algo-2 --set peer.meet_limit_s=4
    under "$took_ms" 7000 "milliseconds"
    all_failed_with 69 algo-1 algo-3 -- '^host: .*missing after 4 s: algo-2 \(connection refused\)'
}

@test "a host that does not answer is named with that reason" {
    some_hosts 2
    one_rank_each
    emulated --fault cut:algo-2 --set peer.meet_limit_s=4
    under "$took_ms" 8000 "milliseconds"
    is "$status" 69 status
    has "$TREE/algo-1/output/failure" '^host: .*missing after 4 s: algo-2 \(no answer\)'
    has "$TREE/algo-2/output/failure" '^host: .*missing after 4 s: leader algo-1 \(no answer\)'
}

@test "the leader never comes: the others say so" {
    some_hosts 3
    one_rank_each
    emulated --fault no-start:algo-1 --set peer.meet_limit_s=3
    is "$status" 69 status
    for host in algo-2 algo-3; do
        has "$TREE/$host/output/failure" '^host: .*missing after 3 s: leader algo-1 \(connection refused\)'
    done
}

@test "hosts that disagree do not start, and the difference is named" {
    some_hosts 2
    one_rank_each '{"epochs": "3", "password": "pw-111"}'
    config_of algo-2 hyperparameters "$(jq -c '.epochs = "4"' "$TREE/algo-2/input/config/hyperparameters.json")"
    emulated
    all_failed_with 65 algo-1 algo-2 -- '^configuration: .*hyperparameters.json: /epochs.*algo-2.*algo-1'
    has_not "$T/out" joined
    has_not "$T/err" 'pw-111'
}

@test "hosts that do not have the same list of hosts do not start" {
    some_hosts 2
    one_rank_each
    config_of algo-2 resourceconfig '{"current_host": "algo-2", "hosts": ["algo-1", "algo-2", "algo-3"]}'
    emulated --set peer.meet_limit_s=5
    is "$status" 65 status
    has "$TREE/algo-1/output/failure" '^configuration: .*hosts'
    has "$TREE/algo-2/output/failure" '^configuration: .*hosts'
}

@test "hosts that each take another for the leader do not start" {
    some_hosts 2
    one_rank_each
    config_of algo-2 resourceconfig '{"current_host": "algo-2", "hosts": ["algo-2", "algo-1"]}'
    emulated --set peer.meet_limit_s=5
    is "$status" 65 status
    has "$TREE/algo-2/output/failure" '^configuration: .*'
}
