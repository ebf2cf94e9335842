#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Field case 29: stop, and enough time to save. Other signals.
load lib

# signalled RANK: names of the signals that reached it, in order
signalled() {
    cut -d' ' -f1 "$T/signals.$1" | xargs
}

# ready N: all ranks listen
ready() {
    wait_for 10 eval '[[ $(grep -c ready "$T/out") == '"$1"' ]]'
}

@test "every rank hears of it once, at once, and has the time to save" {
    program signals
    torch_job 4 signals
    container+=(SAVE_MS=1500)
    start
    ready 4
    told=$(now_ms)
    kill -TERM "$daemon"
    finish 10
    is "$status" 143 status
    under $(($(now_ms) - told)) 3500 "milliseconds from stop to end"
    for rank in 0 1 2 3; do
        files_there "$T/saved.$rank"
        is "$(signalled $rank)" TERM
        under $(($(cut -d' ' -f2 "$T/signals.$rank") - told)) 1000 "milliseconds until rank $rank heard"
    done
    [[ ! -e $BASE/output/failure && ! -e $BASE/output/success ]]
    has "$T/err" '^serried: .*stop'
}

@test "a rank that takes no notice is killed when the grace is over, and named" {
    program signals
    torch_job 2 signals
    container+=(STUBBORN=1)
    start --set stop.grace_s=1
    ready 2
    told=$(now_ms)
    kill -TERM "$daemon"
    finish 10
    is "$status" 143 status
    took=$(($(now_ms) - told))
    ((took >= 900))
    under $took 3500 "milliseconds from stop to end"
    has "$T/err" '^serried: .*rank.*0.*kill|^serried: .*kill.*rank.*0' \
        '^serried: .*rank.*1.*kill|^serried: .*kill.*rank.*1'
    is "$(failure '.killed | sort | join(" ")')" "0 1"
    [[ ! -e $BASE/output/failure && ! -e $BASE/output/success ]]
}

@test "ranks that end badly on a stop do not make it a failure" {
    entry train.sh <<'END'
#!/bin/sh
trap 'exit 9' TERM
echo ready
read -r _ <"$STORY/go.$RANK"
END
    gates 2
    torch_job 2 train.sh
    start
    ready 2
    kill -TERM "$daemon"
    finish 10
    is "$status" 143 status
    [[ ! -e $BASE/output/failure && ! -e $BASE/output/success ]]
}

@test "a second SIGTERM does not shorten the grace" {
    program signals
    torch_job 2 signals
    container+=(SAVE_MS=1500)
    start --set stop.grace_s=20
    ready 2
    kill -TERM "$daemon"
    wait_for 10 line_in "$T/signals.0" TERM
    wait_for 10 line_in "$T/signals.1" TERM
    kill -TERM "$daemon"
    kill -TERM "$daemon"
    finish 10
    is "$status" 143 status
    files_there "$T/saved.0" "$T/saved.1"
    is "$(signalled 0)" TERM
}

@test "a second SIGINT does" {
    program signals
    torch_job 2 signals
    container+=(STUBBORN=1)
    start --set stop.grace_s=60
    ready 2
    kill -INT "$daemon"
    wait_for 10 line_in "$T/signals.0" TERM
    wait_for 10 line_in "$T/signals.1" TERM
    kill -INT "$daemon"
    finish 5
    is "$status" 143 status
}

@test "USR1, USR2, HUP and CONT are forwarded to the ranks" {
    program signals
    torch_job 2 signals
    start
    ready 2
    for name in USR1 USR2 HUP CONT; do
        kill -$name "$daemon"
        wait_for 10 line_in "$T/signals.0" $name
        wait_for 10 line_in "$T/signals.1" $name
    done
    kill -TERM "$daemon"
    finish 10
    is "$(signalled 0)" "USR1 USR2 HUP CONT TERM"
    is "$(signalled 1)" "USR1 USR2 HUP CONT TERM"
}

@test "a stop before the ranks are up is a stop" {
    entry train.sh <<'END'
#!/bin/sh
exec sleep 600
END
    torch_job 2 train.sh
    for delay in 0 0.005 0.01 0.02 0.05; do
        start
        # how far the start has come does not matter; nothing may hang or be called a failure
        read -rt "$delay" -u "$idle" _ || true
        kill -TERM "$daemon"
        finish 10
        # before its handlers are in place the signal itself ends it, which a shell shows as 143 too
        is "$status" 143 status
        [[ ! -e $BASE/output/failure && ! -e $BASE/output/success ]]
    done
}
