#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Field case 21: bytes and blanks go through as they are.
load lib

odd_output() {
    entry train.sh <<'END'
#!/bin/sh
for byte in 147 162 303 266 303 237 145 342 202 254 012; do printf "\\$byte"; done
printf 'invalid \377\376\000\200 bytes\n'
printf 'and the line after\n'
printf '\n\tindented\n    more\n\n'
printf '\033[31mred\033[0m and \033]0;title\007\n'
printf 'trailing blanks   \t\n \n'
END
}

@test "one rank: the console has exactly what it wrote" {
    odd_output
    job train.sh
    serried
    succeeded
    "$BASE/code/train.sh" >"$T/expected"
    cmp "$T/out" "$T/expected"
    cmp "$OWN/logs/0.out" "$T/expected"
}

@test "two ranks: the same behind the prefix" {
    odd_output
    torch_job 2 train.sh
    serried
    succeeded
    "$BASE/code/train.sh" >"$T/expected"
    for rank in 0 1; do
        LC_ALL=C sed -n "s/^\[algo-1:$rank\] //p" "$T/out" | cmp - "$T/expected"
        cmp "$OWN/logs/$rank.out" "$T/expected"
    done
}

@test "standard output and standard error stay apart" {
    entry train.sh <<'END'
#!/bin/sh
echo to-out
echo to-err >&2
END
    torch_job 2 train.sh
    serried
    succeeded
    is "$(sort "$T/out")" "$(printf '[algo-1:0] to-out\n[algo-1:1] to-out')"
    is "$(grep -a '^\[' "$T/err" | sort)" "$(printf '[algo-1:0] to-err\n[algo-1:1] to-err')"
    is "$(cat "$OWN/logs/1.err")" to-err
    is "$(grep -avE '^(serried: |\[algo-1:)' "$T/err")" ""
}

@test "a last line without its end is shown as a line; the file keeps the bytes" {
    entry train.sh <<'END'
#!/bin/sh
printf 'no end of %s' "$RANK"
END
    torch_job 2 train.sh
    serried
    succeeded
    is "$(sort "$T/out")" "$(printf '[algo-1:0] no end of 0\n[algo-1:1] no end of 1')"
    is "$(wc -c <"$OWN/logs/0.out")" 11
}
