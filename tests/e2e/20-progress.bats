#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Field case 20: carriage returns.
load lib

@test "a bar is shown while it runs, a few times a second, and its last state always" {
    program bar
    gates 2
    torch_job 2 bar
    container+=(UPDATES=200 BAR_MS=1000)
    start
    # shown during the run: the bars wait halfway
    wait_for 10 line_in "$T/out" '^\[algo-1:0\] .*(4[0-9]|50)%'
    wait_for 10 line_in "$T/out" '^\[algo-1:1\] .*(4[0-9]|50)%'
    let_go 0 1
    finish
    succeeded
    LC_ALL=C grep -avE '^\[algo-1:[01]\] ' "$T/out" && return 1
    for rank in 0 1; do
        shown=$(grep -c "^\[algo-1:$rank\]" "$T/out")
        echo "rank $rank: $shown lines"
        ((shown >= 2 && shown <= took_ms * 2 / 1000 + 6))
        is "$(grep "^\[algo-1:$rank\]" "$T/out" | tail -n 1 | tr -d '\r')" "[algo-1:$rank]  100%"
    done
    is "$(tr -cd '\r' <"$OWN/logs/0.out" | wc -c)" 200 "carriage returns in the rank's file"
}

@test "log.progress_per_s sets how often" {
    program bar
    gates 1
    job bar
    container+=(UPDATES=200 BAR_MS=1000)
    start --set log.progress_per_s=20
    let_go 0
    finish
    succeeded
    (($(wc -l <"$T/out") >= 8 && $(wc -l <"$T/out") <= took_ms / 50 + 4))
}

@test "CRLF ends a line like LF does" {
    entry train.sh <<'END'
#!/bin/sh
printf 'a\r\nb\n'
printf 'c\r'
sleep 0.3
printf '\nd\r\n'
END
    job train.sh
    serried
    succeeded
    is "$(tr -d '\r' <"$T/out")" "$(printf 'a\nb\nc\nd')"
    is "$(wc -l <"$T/out")" 4
    is "$(od -An -c "$OWN/logs/0.out" | tr -d ' \n')" 'a\r\nb\nc\r\nd\r\n'
}

@test "a bar that never ends its line shows its last state, in bounded memory" {
    program bar
    gates 1
    job bar
    container+=(UPDATES=20000 BAR_MS=0 FAT=1000 ENDLESS=1)
    start
    # halfway, when 10 MB have passed
    wait_for 10 file_has "$OWN/logs/0.out" 9000000
    before=$(awk '/VmRSS/ { print $2 }' "/proc/$daemon/status")
    let_go 0
    finish
    succeeded
    echo "resident halfway: $before KiB"
    is_sanitized || under "$before" 16384 KiB
    tail -n 1 "$T/out" | grep -q ' 100%$'
    under "$(wc -c <"$T/out")" 1000000 "bytes shown"
    is "$(wc -c <"$OWN/logs/0.out")" $((20000 * 1005)) "bytes in the rank's file"
}
