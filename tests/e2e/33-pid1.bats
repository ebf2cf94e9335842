#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Field case 33: PID 1 duties and the end of output.
load lib

# start_as_pid_1: `daemon` is unshare's pid, `first` that of PID 1 seen from outside
start_as_pid_1() {
    local unshare=(unshare --pid --fork --mount-proc --kill-child=KILL)
    ((UID == 0)) || unshare=(unshare --user --map-root-user "${unshare[@]:1}")
    "${unshare[@]}" true 2>/dev/null || skip "no PID namespace allowed here"
    : >"$T/out"
    : >"$T/err"
    began_ms=$(now_ms)
    (cd "$T/cwd" && exec "${unshare[@]}" env -i --default-signal=INT,QUIT "${container[@]}" \
        "$SERRIED" train --base "$BASE" </dev/null >"$T/out" 2>"$T/err" 3>&- {idle}>&-) &
    daemon=$!
    wait_for 10 eval 'first=$(cat "/proc/$daemon/task/$daemon/children" 2>/dev/null) && [[ $first ]]'
    first=${first// /}
}

zombies_of() { # PID
    awk -v parent="$1" '$4 == parent && $3 == "Z"' /proc/[0-9]*/stat 2>/dev/null | wc -l
}

@test "500 orphans a second leave no crowd of zombies, and the exit status is not lost" {
    local most=0 now
    program orphans
    job orphans
    container+=(ORPHANS_MS=2000)
    start_as_pid_1
    wait_for 10 line_in "$T/out" ready
    for ((i = 0; i < 15; i++)); do
        now=$(zombies_of "$first")
        ((now <= most)) || most=$now
        read -rt 0.1 -u "$idle" _ || true
    done
    finish 15
    echo "zombies seen: $most"
    under "$most" 25 zombies
    is "$status" 7 status
}

@test "as a subreaper the same" {
    local most=0 now
    program orphans
    job orphans
    container+=(ORPHANS_MS=1000)
    start
    wait_for 10 line_in "$T/out" ready
    for ((i = 0; i < 8; i++)); do
        now=$(zombies_of "$daemon")
        ((now <= most)) || most=$now
        read -rt 0.1 -u "$idle" _ || true
    done
    finish 15
    under "$most" 25 zombies
    is "$status" 7 status
}

holds_output() {
    entry train.sh <<'END'
#!/bin/sh
setsid sleep 600 &
echo over
END
    job train.sh
}

@test "a process that holds the output does not hold up the end" {
    holds_output
    serried
    succeeded
    under "$took_ms" 3000 milliseconds
    is "$(cat "$T/out")" over
}

@test "as PID 1 neither" {
    holds_output
    start_as_pid_1
    finish 10
    succeeded
    under "$took_ms" 3000 milliseconds
    is "$(cat "$T/out")" over
}

@test "a rank that closes its output and works on is waited for, and its status counts" {
    entry train.sh <<'END'
#!/bin/sh
echo last
exec >&- 2>&-
sleep 1
: >"$STORY/worked"
exit 5
END
    torch_job 2 train.sh
    serried
    is "$status" 5 status
    files_there "$T/worked"
    ((took_ms >= 1000))
}

@test "as PID 1 a stop reaches the ranks, and 143 comes out" {
    program signals
    torch_job 2 signals
    container+=(SAVE_MS=300)
    start_as_pid_1
    wait_for 10 eval '[[ $(grep -c ready "$T/out") == 2 ]]'
    kill -TERM "$first"
    finish 10
    is "$status" 143 status
    files_there "$T/saved.0" "$T/saved.1"
}

@test "as PID 1 the status of a rank that was killed comes out as 128 and the signal" {
    entry train.sh <<'END'
#!/bin/sh
kill -9 $$
END
    job train.sh
    start_as_pid_1
    finish 10
    is "$status" 137 status
}
