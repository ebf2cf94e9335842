#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Field case 19: partial and long lines.
load lib

# unprefixed FILE RANK: what stands behind this rank's prefix, in order
unprefixed() {
    LC_ALL=C sed -n "s/^\[algo-1:$2\] //p" "$1"
}

# joined: undoes the cutting of long lines: a backslash ends every piece but the last and begins
# every piece but the first
joined() {
    LC_ALL=C awk '{
        more = /\\$/; piece = $0
        if (cut) piece = substr(piece, 2)
        if (more) piece = substr(piece, 1, length(piece) - 1)
        ORS = more ? "" : "\n"
        print piece
        cut = more
    }'
}

# long_line CHARACTERS SEED: a line of letters of one to four bytes
long_line() {
    awk -v n="$1" -v seed="$2" 'BEGIN {
        split("a b ü € 😀 z ß 7", letter, " ")
        for (i = 0; i < n; i++) printf "%s", letter[(i * seed + int(i / 7)) % 8 + 1]
        print ""
    }'
}

@test "a line written in two parts is one line with one prefix" {
    entry train.sh <<'END'
#!/bin/sh
if [ "$RANK" = 0 ]; then
    printf part
    sleep 0.4
    printf 'ial\n'
else
    for i in 1 2 3 4 5 6; do echo "meanwhile $i"; sleep 0.1; done
fi
END
    torch_job 2 train.sh
    serried
    succeeded
    is "$(unprefixed "$T/out" 0)" partial
    is "$(unprefixed "$T/out" 1)" "$(printf 'meanwhile %d\n' 1 2 3 4 5 6)"
    is "$(wc -l <"$T/out")" 7
}

@test "20,000 characters stay in one piece" {
    entry train.sh <<'END'
#!/bin/sh
cat "$STORY/line"
END
    printf '%020000d\n' 7 >"$T/line"
    torch_job 2 train.sh
    serried
    succeeded
    is "$(wc -l <"$T/out")" 2
    unprefixed "$T/out" 0 | cmp - "$T/line"
    unprefixed "$T/out" 1 | cmp - "$T/line"
}

@test "eight ranks with lines of 300,000 characters: cut at characters, marked, never mixed" {
    entry train.sh <<'END'
#!/bin/sh
cat "$STORY/line.$RANK"
echo "after the line of $RANK"
END
    for rank in 0 1 2 3 4 5 6 7; do
        long_line 300000 $((rank * 2 + 1)) >"$T/line.$rank"
    done
    torch_job 8 train.sh
    serried
    succeeded
    LC_ALL=C grep -avE '^\[algo-1:[0-7]\] ' "$T/out" && return 1
    iconv -f UTF-8 -t UTF-8 "$T/out" >/dev/null
    LC_ALL=C awk 'length($0) > 66000 { exit 1 }' "$T/out"
    for rank in 0 1 2 3 4 5 6 7; do
        echo "after the line of $rank" | cat "$T/line.$rank" - >"$T/expected"
        unprefixed "$T/out" $rank | joined | cmp - "$T/expected"
        cmp "$OWN/logs/$rank.out" "$T/expected"
    done
}

@test "log.line_max says where lines are cut" {
    entry train.sh <<'END'
#!/bin/sh
cat "$STORY/line"
END
    long_line 2000 3 >"$T/line"
    job train.sh
    serried --set log.line_max=256
    succeeded
    (($(wc -l <"$T/out") >= $(wc -c <"$T/line") / 256))
    LC_ALL=C awk 'length($0) > 256 + 2 { exit 1 }' "$T/out"
    iconv -f UTF-8 -t UTF-8 "$T/out" >/dev/null
    joined <"$T/out" | cmp - "$T/line"
}
