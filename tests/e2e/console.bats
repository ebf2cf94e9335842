#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Standard streams that are closed, gone, full or at their end.
load lib

talks() {
    entry train.sh <<'END'
#!/bin/sh
for i in 1 2 3; do echo "line $i"; echo "err $i" >&2; done
END
    torch_job 2 train.sh
}

# run_with REDIRECTION...: like serried, with these redirections
run_with() {
    status=0
    (cd "$T/cwd" && eval "timeout 20 env -i \"\${container[@]}\" \"$SERRIED\" --base \"$BASE\" $* 3>&-") ||
        status=$?
}

@test "closed streams, one and all" {
    talks
    for closed in '<&-' '>&- 2>"$T/err"' '2>&- >"$T/out"' '>&- 2>&-' '<&- >&- 2>&-'; do
        echo "closed: $closed"
        run_with "$closed"
        is "$status" 0 "status with $closed"
        for rank in 0 1; do
            is "$(cat "$OWN/logs/$rank.out")" "$(printf 'line %d\n' 1 2 3)"
            is "$(cat "$OWN/logs/$rank.err")" "$(printf 'err %d\n' 1 2 3)"
        done
    done
    # no file of the job was taken for a stream
    has_not "$BASE/input/config/hyperparameters.json" 'line|serried:'
}

@test "a reader that has gone harms nobody" {
    entry train.sh <<'END'
#!/bin/sh
echo first
read -r _ <"$STORY/go.$RANK"
seq 100000
: >"$STORY/done.$RANK"
END
    gates 2
    torch_job 2 train.sh
    mkfifo "$T/console"
    timeout 20 head -n 1 "$T/console" >"$T/taken" 3>&- &
    reader=$!
    out=$T/console
    start
    wait_for 10 is_gone "$reader"
    let_go 0 1
    finish
    succeeded
    files_there "$T/done.0" "$T/done.1"
    is "$(wc -l <"$OWN/logs/1.out")" 100001
}

@test "a full device is no reason to fail" {
    [[ -c /dev/full ]] || skip "no /dev/full"
    talks
    run_with '>/dev/full 2>&1 </dev/null'
    is "$status" 0 status
    is "$(cat "$OWN/logs/0.out")" "$(printf 'line %d\n' 1 2 3)"
}

@test "a file as console has it all, appended" {
    talks
    echo before >"$T/both"
    run_with '>>"$T/both" 2>&1 </dev/null'
    is "$status" 0 status
    is "$(head -n 1 "$T/both")" before
    is "$(grep -c '^\[algo-1:[01]\] line' "$T/both")" 6
    is "$(grep -c '^\[algo-1:[01]\] err' "$T/both")" 6
}

@test "our own flags on a shared pipe do not disturb its other writers" {
    entry train.sh <<'END'
#!/bin/sh
read -r _ <"$STORY/go.0"
END
    gates 1
    job train.sh
    mkfifo "$T/console"
    exec {shared}<>"$T/console"
    out=$T/console
    start
    wait_for 10 line_in "$T/err" '^serried: '
    flags=$(awk '/^flags/ { print $2 }' "/proc/$$/fdinfo/$shared")
    let_go 0
    finish
    exec {shared}>&-
    is $((0$flags & 04000)) 0 "O_NONBLOCK on the shared description"
}

@test "two at once do not disturb each other" {
    entry train.sh <<'END'
#!/bin/sh
trap 'exit 0' TERM
echo "ready $RANK"
read -r line <"$STORY/$TWIN.$RANK" && echo "got $line"
END
    torch_job 2 train.sh
    local first second
    cp -r "$BASE" "$T/other"
    mkfifo "$T"/{one,two}.{0,1}
    container+=(TWIN=one)
    start
    first=$daemon
    wait_for 10 eval '[[ $(grep -c ready "$T/out") == 2 ]]'
    mv "$T/out" "$T/out1"
    BASE=$T/other
    container+=(TWIN=two)
    start
    second=$daemon
    wait_for 10 eval '[[ $(grep -c ready "$T/out") == 2 ]]'
    kill -TERM "$first"
    daemon=$first
    finish 10
    is "$status" 143 "status of the first"
    kill -0 "$second"
    for rank in 0 1; do timeout 10 sh -c 'echo on >"$1"' - "$T/two.$rank"; done
    daemon=$second
    finish 10
    succeeded
    is "$(grep -c 'got on' "$T/out")" 2
}
