#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Field case 25: a reason in one kilobyte. Also failure.json.
load lib

@test "the first 1,024 bytes name rank, host, exit code and carry the end of the traceback" {
    entry train.py <<'END'
import sys

def größe_prüfen(n):
    if n == 0:
        raise ValueError("schlechte Größe – 悪いサイズ 😀")
    größe_prüfen_noch_einmal_mit_einem_langen_namen(n - 1)

def größe_prüfen_noch_einmal_mit_einem_langen_namen(n):
    "ä" * 3; größe_prüfen(n)  # eine Zeile mit Umlauten: äöüß€
for i in range(300):
    print("ordinary line", i)
sys.stdout.flush()
größe_prüfen(12)
END
    torch_job 2 train.py
    serried --set stop.failure_grace_s=1
    is "$status" 1 status
    (($(wc -c <"$BASE/output/failure") > 1024))
    iconv -f UTF-8 -t UTF-8 "$BASE/output/failure" >/dev/null
    head -c 1024 "$BASE/output/failure" >"$T/head"
    iconv -f UTF-8 -t UTF-8 "$T/head" >/dev/null
    head -n 1 "$T/head" >"$T/first-line"
    # the slower of the two may have been told to end between its last words and its exit
    has "$T/first-line" '^user: .*rank [01] on algo-1' 'exit code 1|failed, then ended by the launcher'
    has "$T/head" 'ValueError: schlechte Größe – 悪いサイズ 😀' 'raise ValueError'
    has_not "$T/head" 'ordinary line'
}

@test "every cut of the head is valid, whatever letters the error is made of" {
    entry train.py <<'END'
import sys
sys.stderr.reconfigure(encoding="utf-8")
raise RuntimeError("x" * int(sys.argv[2]) + "😀é" * 900)
END
    for shift in 0 1 2 3 4 5; do
        job train.py "{\"shift\": \"$shift\"}"
        serried
        is "$status" 1 status
        head -c 1024 "$BASE/output/failure" | iconv -f UTF-8 -t UTF-8 >/dev/null
        head -c 1024 "$BASE/output/failure" | grep -q 'RuntimeError: '
    done
}

@test "a failure file written by the program stays byte for byte; our account goes elsewhere" {
    entry train.sh <<'END'
#!/bin/sh
printf 'my own words \377\n\nwithout an end' >"$SM_OUTPUT_DIR/failure"
echo "about to fail" >&2
exit 3
END
    job train.sh
    serried
    is "$status" 3 status
    printf 'my own words \377\n\nwithout an end' | cmp - "$BASE/output/failure"
    is "$(failure .exit)" 3
    is "$(failure .rank)" 0
    has "$T/err" '^serried: .*exit code 3'
}

@test "one renamed into place stays as well" {
    entry train.sh <<'END'
#!/bin/sh
echo "moved here" >"$SM_OUTPUT_DIR/data/reason"
mv "$SM_OUTPUT_DIR/data/reason" "$SM_OUTPUT_DIR/failure"
exit 3
END
    job train.sh
    serried
    is "$status" 3 status
    is "$(cat "$BASE/output/failure")" "moved here"
}

@test "a failure file of a program that ends well stays, and does not make it fail" {
    entry train.sh <<'END'
#!/bin/sh
echo "a note" >"$SM_OUTPUT_DIR/failure"
END
    job train.sh
    serried
    is "$status" 0 status
    is "$(cat "$BASE/output/failure")" "a note"
}

@test "failure.json holds the same account for machines" {
    entry train.sh <<'END'
#!/bin/sh
[ "$RANK" = 1 ] || { trap 'exit 5' TERM; read -r _ <"$STORY/go.$RANK"; exit 6; }
echo "ordinary"
printf 'Traceback (most recent call last):\n  File "x.py", line 1, in <module>\nKeyError: 7\n' >&2
exit 3
END
    gates 3
    torch_job 3 train.sh
    serried
    is "$status" 3 status
    is "$(failure .blame)" user
    is "$(failure .host)" algo-1
    is "$(failure .rank)" 1
    is "$(failure .exit)" 3
    is "$(failure .signal)" null
    has <(failure .message) 'KeyError: 7'
    failure .cause >/dev/null
    has <(failure '.last_lines | if type == "array" then .[] else . end') 'KeyError: 7'
    is "$(failure '[.followers[].rank] | sort | join(" ")')" "0 2"
    is "$(failure '.followers[0].host')" algo-1
}
