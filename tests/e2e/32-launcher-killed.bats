#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Field case 32: the launcher is killed with SIGKILL, and is not PID 1. A helper that has left its
# session and emptied its environment cannot be told from other people's then; all others can.
load lib

@test "all ranks and their helpers are gone within 5 s" {
    local pids
    program survivors
    container+=(LEAVE=stay MARKED=1)
    torch_job 2 survivors
    start
    wait_for 10 eval '[[ $(grep -c ready "$T/out") == 2 ]]'
    mapfile -t pids < <(cat "$T"/pids.*)
    is "${#pids[@]}" 8
    killed=$(now_ms)
    kill -KILL "$daemon"
    wait_for 5 is_gone "$daemon"
    wait_for 5 all_gone "${pids[@]}"
    wait_for 5 none_left
    under $(($(now_ms) - killed)) 5000 milliseconds
    wait "$daemon" || true
}

@test "ranks that are just being started are gone too" {
    program survivors
    container+=(LEAVE=stay MARKED=1)
    torch_job 24 survivors
    start
    wait_for 10 files_there "$T/pids.0"
    kill -KILL "$daemon"
    wait_for 5 is_gone "$daemon"
    wait_for 5 none_left
    wait "$daemon" || true
}
