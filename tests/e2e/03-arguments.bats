#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Field case 03: arguments exactly as given, whatever kind of program takes them.
load lib

VALUES='{"msg": "a b", "q": "it'"'"'s \"x\"", "d": "$HOME `id` $(id) ;|&<>*?\\", "u": "größe",
  "nl": "l1\nl2", "dash": "--x", "a": "1"}'

expect_arguments() { # RANK
    # shellcheck disable=SC1003,SC2016 # nothing is to be expanded
    printf '%s\0' -a 1 -d '$HOME `id` $(id) ;|&<>*?\' --dash --x --msg 'a b' --nl $'l1\nl2' \
        -q "it's \"x\"" -u größe >"$T/expected"
    cmp "$T/expected" "$T/args.$1"
}

@test "a command gets them" {
    program show
    job show "$VALUES"
    serried
    succeeded
    expect_arguments 0
}

@test "a shell script gets them, on every rank" {
    entry train.sh <<'END'
#!/bin/sh
printf '%s\0' "$@" >"$STORY/args.$RANK"
END
    torch_job 3 train.sh "$VALUES"
    serried
    succeeded
    for rank in 0 1 2; do expect_arguments $rank; done
}

# The body of a Python program that notes its arguments.
note_arguments() {
    cat <<'END'
import os, sys
with open(os.environ["STORY"] + "/args." + os.environ["RANK"], "wb") as f:
    for word in sys.argv[1:]:
        f.write(os.fsencode(word) + b"\0")
END
}

@test "a Python script gets them, on every rank" {
    note_arguments | entry train.py
    torch_job 2 train.py "$VALUES"
    serried
    succeeded
    expect_arguments 0
    expect_arguments 1
}

@test "a Python script in a folder below gets them" {
    mkdir "$BASE/code/deep down"
    note_arguments | entry "deep down/train it.py"
    job "deep down/train it.py" "$VALUES"
    serried
    succeeded
    expect_arguments 0
}

@test "a module gets them" {
    mkdir "$BASE/code/pkg"
    : >"$BASE/code/pkg/__init__.py"
    note_arguments | entry pkg/mod.py
    job "-m pkg.mod" "$VALUES"
    serried
    succeeded
    expect_arguments 0
}
