#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Field case 24: what a dying rank wrote is there, before the launcher's own summary.
load lib

expect_last_words() {
    is "$status" 134 status
    LC_ALL=C sed -n 's/^\[algo-1:1\] //p' "$T/err" | cmp - "$T/expected"
    cmp "$OWN/logs/1.err" "$T/expected"
    last=$(grep -n '^\[algo-1:1\] ' "$T/err" | tail -n 1 | cut -d: -f1)
    summary=$(grep -nE '^serried: .*(SIGABRT|signal 6)' "$T/err" | tail -n 1 | cut -d: -f1)
    echo "last word in line $last, summary in line $summary"
    ((summary > last))
}

@test "2,000 lines and an abort in the same instant, twenty times" {
    program lastwords
    torch_job 4 lastwords
    for ((i = 1; i <= 2000; i++)); do
        echo "last word $i of a rank that is about to abort"
    done >"$T/expected"
    for ((round = 0; round < 20; round++)); do
        echo "round $round"
        if ((round == 10)); then container+=(AT_ONCE=1); fi
        serried
        expect_last_words
    done
}
