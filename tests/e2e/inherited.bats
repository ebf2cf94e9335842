#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What whoever starts the daemon may have left it: signals that are blocked or ignored, few
# descriptors, an output that nobody reads.
load lib

# with OPTION...: env(1) sets this up for the daemon
with() {
    container=("$@" "${container[@]}")
}

waiting_rank() {
    entry train.sh <<'END'
#!/bin/sh
ulimit -n >"$STORY/limit"
echo ready
exec sleep 600
END
}

@test "a blocked SIGTERM ends the job nevertheless" {
    with --block-signal=TERM,INT
    waiting_rank
    job train.sh
    start
    wait_for 10 line_in "$T/out" ready
    kill -TERM "$daemon"
    finish 10
    is "$status" 143 status
}

@test "with SIGCHLD ignored the statuses of ranks and steps are known" {
    with --ignore-signal=CHLD
    entry train.sh <<'END'
#!/bin/sh
exit 7
END
    torch_job 2 train.sh
    serried
    failed_with 7 'rank'
}

@test "an ignored SIGHUP stays away from the ranks" {
    with --ignore-signal=HUP
    program signals
    torch_job 1 signals
    start
    wait_for 10 line_in "$T/out" ready
    kill -HUP "$daemon"
    kill -USR1 "$daemon"
    wait_for 10 line_in "$T/signals.0" USR1
    has_not "$T/signals.0" HUP
    kill -TERM "$daemon"
    finish 10
    is "$status" 143 status
}

@test "a low limit of descriptors is raised for the daemon and kept for the ranks" {
    entry train.sh <<'END'
#!/bin/sh
ulimit -n
END
    torch_job 40 train.sh
    ulimit -Sn 60
    serried
    succeeded
    is "$(cat "$OWN"/logs/*.out | sort | uniq -c | xargs)" "40 60"
    has_not "$T/err" 'Too many'
}

@test "with no descriptors left one sentence says so, and nothing stays behind" {
    entry train.sh <<'END'
#!/bin/sh
exec sleep 600
END
    torch_job 40 train.sh
    ulimit -n 60
    serried --set stop.failure_grace_s=2
    failed_with 71 'Too many open files'
}

# unread: standard error is a full pipe that nobody reads
unread() {
    err=$T/full
    mkfifo "$err"
    exec {full}<>"$err"
    timeout 1 head -c 2000000 /dev/zero >&"$full" || true
}

@test "a refusal does not wait for ever for a reader of its sentence" {
    unread
    config hyperparameters '{'
    start_unread --set stop.drain_s=0.5
    finish 8
    is "$status" 65 status
    has "$BASE/output/failure" '^configuration: .*hyperparameters'
    exec {full}>&-
}

start_unread() {
    began_ms=$(now_ms)
    (cd "$T/cwd" && exec env -i "${container[@]}" "$SERRIED" train --base "$BASE" "$@" \
        <"$in" >"$out" 2>"$err" 3>&- {idle}>&-) &
    daemon=$!
}
