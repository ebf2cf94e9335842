#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Field case 31: detached helpers. Each rank leaves one in the background, one in its own session,
# one that forked twice and is deaf to TERM and HUP, and one without environment or output.
load lib

# none_survive RANKS: nothing that the ranks started is left, at most 5 s after the end
none_survive() {
    local i pids=()
    for ((i = 0; i < $1; i++)); do
        is "$(wc -l <"$T/pids.$i")" 5 "processes of rank $i"
        mapfile -t -O "${#pids[@]}" pids <"$T/pids.$i"
    done
    wait_for 5 all_gone "${pids[@]}"
    wait_for 5 none_left
    kill -0 "$bystander"
}

prepare() {
    # somebody else's process of the same name
    sleep 600 3>&- {idle}>&- &
    bystander=$!
    program survivors
}

clear_up() {
    kill "$bystander" 2>/dev/null || true
}

@test "after success" {
    torch_job 3 survivors
    serried
    succeeded
    under "$took_ms" 5000 milliseconds
    none_survive 3
}

@test "after the failure of one rank" {
    gates 1
    container+=(LEAVE=failure)
    torch_job 3 survivors
    start --set stop.failure_grace_s=1
    wait_for 10 eval '[[ $(grep -c ready "$T/out") == 3 ]]'
    let_go 0
    finish 10
    failed_with 3 'rank 0'
    none_survive 3
}

@test "after a stop" {
    container+=(LEAVE=stay)
    torch_job 3 survivors
    start --set stop.grace_s=1
    wait_for 10 eval '[[ $(grep -c ready "$T/out") == 3 ]]'
    kill -TERM "$daemon"
    finish 10
    is "$status" 143 status
    none_survive 3
}

@test "of a single plain process" {
    job survivors
    serried
    succeeded
    none_survive 1
}

@test "a rank that puts itself in the background has ended" {
    entry train.sh <<'END'
#!/bin/sh
setsid sh -c 'echo $$ >"$STORY/daemonised"; echo up >"$STORY/go.0"; exec sleep 600' &
read -r _ <"$STORY/go.0"
END
    gates 1
    job train.sh
    serried
    succeeded
    wait_for 5 is_gone "$(cat "$T/daemonised")"
}

# The shell that became the launcher had children of its own, such as the reader of its output.
@test "children from before the start are left alone" {
    entry train.sh <<'END'
#!/bin/sh
seq 1 50000
sleep 1000 &
END
    job train.sh
    mkfifo "$T/before"
    (cd "$T/cwd" && exec env -i "${container[@]}" sh -c '
        (exec cat <"$1/before" >"$1/taken") &
        echo $! >"$1/reader"
        exec "$2" --base "$3" >"$1/before"' - "$T" "$SERRIED" "$BASE" 2>"$T/err" 3>&- {idle}>&-)
    wait_for 10 is_gone "$(cat "$T/reader")"
    is "$(tail -n 1 "$T/taken")" 50000 "the last line that the reader took"
    [[ -e $BASE/output/success ]]
}
