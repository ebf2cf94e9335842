#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Field case 28: one rank leaves early with 0.
load lib

one_leaves() {
    entry train.sh <<'END'
#!/bin/sh
[ "$RANK" != 1 ] || exit 0
read -r _ <"$STORY/go.$RANK"
END
    gates 3
    torch_job 3 train.sh
}

@test "nothing is killed; one warning names the ranks still running" {
    one_leaves
    start --set rank.early_exit_s=1
    wait_for 10 line_in "$T/err" 'warning.*rank.* 1 '
    let_go 0 2
    finish
    succeeded
    is "$(count "$T/err" 'serried: warning: .*rank')" 1
    has "$T/err" 'warning.*0, 2|warning.*0 and 2'
    has "$T/err" 'warning.*[0-9]+ s'
}

@test "it is said once, however long it lasts" {
    one_leaves
    start --set rank.early_exit_s=1
    wait_for 10 line_in "$T/err" 'warning.*rank.* 1 '
    # two more limits pass
    read -rt 2.2 -u "$idle" _ || true
    let_go 0 2
    finish
    succeeded
    is "$(count "$T/err" 'serried: warning: .*rank')" 1
}

@test "no warning by default" {
    one_leaves
    start
    let_go 0 2
    finish
    succeeded
    is "$(count "$T/err" 'warning')" 0
}

@test "with the limit as final, the job ends as failed with that reason" {
    one_leaves
    serried --set rank.early_exit_s=1 --set rank.early_exit_fails=true
    ((status != 0 && status != 143))
    failed_with "$status" 'rank 1'
    under "$took_ms" 6000 milliseconds
    has "$BASE/output/failure" '0, 2|0 and 2|early|left'
}
