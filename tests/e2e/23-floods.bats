#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Field case 23: floods and slow readers. The reader is a gate: it takes nothing until it is told.
load lib

resident() {
    awk '/VmHWM/ { print $2 }' "/proc/$daemon/status"
}

# Takes the daemon's output once told to.
slow_reader() {
    mkfifo "$T/console" "$T/read"
    out=$T/console
    # shellcheck disable=SC2094 # the output is another file
    (exec 3>&- {idle}>&-; exec <"$T/console"; timeout 30 cat "$T/read" >/dev/null; exec cat) \
        >"$T/taken" &
    reader=$!
}

# All ranks are at it, and the daemon has taken in more than the reader's pipe holds.
backlog() {
    files_there "$T"/up.{0,1,2,3} && (($(cat "$OWN"/logs/*.out | wc -c) > 200000))
}

expected_of() { # RANK LINES
    awk -v r="$1" -v n="$2" 'BEGIN { for (i = 0; i < n; i++) printf "%d %08d %089d\n", r, i, i * 7919 }'
}

@test "no byte is lost or reordered when the reader is slow, and memory stays bounded" {
    program flood
    torch_job 4 flood
    container+=(LINES=40000)
    slow_reader
    start
    wait_for 10 backlog
    is_sanitized || under "$(resident)" 65536 "KiB of the daemon"
    timeout 10 sh -c ': >"$1"' - "$T/read"
    finish 40
    wait_for 10 is_gone "$reader"
    succeeded
    for rank in 0 1 2 3; do
        expected_of $rank 40000 >"$T/expected"
        LC_ALL=C sed -n "s/^\[algo-1:$rank\] //p" "$T/taken" | cmp - "$T/expected"
        cmp "$OWN/logs/$rank.out" "$T/expected"
    done
}

@test "a stop reaches the ranks at once in spite of the backlog, and the end does not wait for ever" {
    program flood
    torch_job 4 flood
    container+=(LINES=10000000)
    slow_reader
    start --set stop.grace_s=5 --set stop.drain_s=1
    wait_for 10 backlog
    told=$(now_ms)
    kill -TERM "$daemon"
    finish 10
    is "$status" 143 status
    under $(($(now_ms) - told)) 5000 "milliseconds from stop to end"
    under "$took_ms" 20000 milliseconds
    for rank in 0 1 2 3; do
        heard=$(od -An -t d8 "$T/term.$rank" | awk '{ printf "%d", $1 * 1000 + $2 / 1000000 }')
        under $((heard - told)) 1000 "milliseconds until rank $rank heard"
    done
    timeout 10 sh -c ': >"$1"' - "$T/read"
    wait_for 10 is_gone "$reader"
}

@test "a fast reader gets it all" {
    program flood
    torch_job 4 flood
    container+=(LINES=100000)
    serried --set log.file_max=0
    succeeded
    is "$(wc -lc <"$T/out" | xargs)" "400000 $((400000 * 112))"
}
