#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Field case 30: helpers of a rank are not signalled while it may still save.
load lib

@test "helpers that would die of SIGTERM answer the rank that is stopping" {
    program helpers
    torch_job 2 helpers
    start
    wait_for 10 eval '[[ $(grep -c ready "$T/out") == 2 ]]'
    kill -TERM "$daemon"
    finish 10
    is "$status" 143 status
    files_there "$T/answered.0" "$T/answered.1"
}

@test "the same after another rank's failure" {
    program helpers
    entry train.sh <<'END'
#!/bin/sh
[ "$RANK" = 0 ] || exec ./helpers
read -r _ <"$STORY/go.0"
exit 3
END
    gates 1
    torch_job 3 train.sh
    start
    wait_for 10 eval '[[ $(grep -c ready "$T/out") == 2 ]]'
    let_go 0
    finish 10
    failed_with 3 'rank 0'
    files_there "$T/answered.1" "$T/answered.2"
}

@test "forwarded signals go to ranks alone" {
    entry train.sh <<'END'
#!/bin/sh
sh -c 'trap "echo helper got it" USR1; echo here >"$STORY/go.0"; read -r _ <"$STORY/go.1"' &
read -r _ <"$STORY/go.0"
trap 'echo rank got it; got=yes' USR1
echo ready
while [ -z "$got" ]; do wait; done
echo end >"$STORY/go.1"
wait
END
    gates 2
    job train.sh
    start
    wait_for 10 line_in "$T/out" ready
    kill -USR1 "$daemon"
    finish 10
    succeeded
    has "$T/out" 'rank got it'
    has_not "$T/out" 'helper got it'
}
