#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The text of `serry plan` is a script, and that of `serry check` a list with a sum.
load lib

ODD='{"msg": "it'\''s \"$HOME\" `x` \\ *\n;", "batch-size": "5", "empty": "", "é": "ü"}'

# pasted N: the script in $T/out starts the N ranks that the plan as JSON has
pasted() {
    local rank
    cp "$T/out" "$T/script"
    serry plan --json --secrets
    (cd "$T/cwd" && timeout 20 env -i "${container[@]}" sh "$T/script" >/dev/null)
    for ((rank = 0; rank < $1; rank++)); do
        jq -j ".ranks[$rank].argv[] + \"\u0000\"" "$T/out" | cmp - "$T/argv.$rank"
        jq -j ".environment + .aliases + .ranks[$rank].env | to_entries[] | \"\(.key)=\(.value)\u0000\"" \
            "$T/out" | sort -z >"$T/planned"
        # all of it, and besides only what the container and the shell have
        sort -z "$T/env.$rank" | comm -z -23 "$T/planned" - | cmp - /dev/null
    done
}

@test "pasted, it starts the same ranks" {
    program show
    torch_job 2 show "$ODD"
    serry plan --secrets
    is "$status" 0 status
    pasted 2
}

@test "no variable is exported twice, whatever its port" {
    program show
    torch_job 2 show
    serry plan --set torch.port=7001
    is "$(grep -c '^export MASTER_PORT=' "$T/out")" 1
    has "$T/out" '^export MASTER_PORT=7001$'
    is "$(sed -n 's/^export \([A-Za-z0-9_]*\)=.*/\1/p' "$T/out" | sort | uniq -d)" ""
}

@test "what this version cannot run yet is planned, with a warning" {
    entry train.sh <<<'#!/bin/sh'
    job train.sh
    container+=(CA_REPOSITORY_ARN=arn:aws:codeartifact:eu-west-1:1:repository/d/r)
    echo requests >"$BASE/code/requirements.txt"
    entry train.py </dev/null
    job train.py
    serry plan
    is "$status" 0 status
    has "$T/out" '^# warning: CA_REPOSITORY_ARN: .*is not part of this version$' '^cd '
    serry check
    is "$status" 0 status
    has "$T/out" '^warning: CA_REPOSITORY_ARN' '^0 errors, 1 warning$'
    serry check --json
    jq -e '.ok and .findings[0].severity == "warning" and .findings[0].blame == "launcher"' "$T/out"
}

@test "many ranks share one command, and can still be pasted" {
    program show
    torch_job 20 show "$ODD"
    serry plan --secrets
    is "$status" 0 status
    is "$(grep -c '\./show ' "$T/out")" 1
    is "$(grep -c '^rank RANK=' "$T/out")" 20
    pasted 20
}

@test "settings that differ and warnings are told" {
    entry train.sh <<<'#!/bin/sh'
    job train.sh '{"serried_stop_grace_s": "7"}'
    container+=(SERRIED_STOP_GRACES=1)
    serry plan --set log.format=json
    has "$T/out" '^# setting stop\.grace_s = 7 \(default 100\)$' '^# setting log\.format = json ' \
        '^# warning: .*SERRIED_STOP_GRACES.*SERRIED_STOP_GRACE_S'
}

@test "standard output that cannot be written is an error" {
    entry train.sh <<<'#!/bin/sh'
    job train.sh
    status=0
    env -i "${container[@]}" "$SERRY" plan --base "$BASE" >/dev/full 2>"$T/err" || status=$?
    is "$status" 71 status
    has "$T/err" 'standard output'
}

@test "check ends with a sum; as JSON it says who can do something about it" {
    entry train.sh <<<'#!/bin/sh'
    job train.sh '{"serried_torch_port": "0"}'
    serry check --set stop.grace_s=soon
    is "$status" 65 status
    is "$(tail -n 1 "$T/out")" "2 errors, 0 warnings"
    is "$(grep -c '^error: ' "$T/out")" 2
    serry check --json
    is "$status" 65 status
    jq -e '.ok == false and (.findings | length == 1) and .findings[0].severity == "error"
        and .findings[0].blame == "configuration" and (.findings[0].text | test("torch.port"))' "$T/out"
    job train.sh
    serry check
    is "$status" 0 status
    is "$(cat "$T/out")" "0 errors, 0 warnings"
}

@test "wrong use is told in one line, with status 64" {
    for words in "plan --jsn" "paln" "doctor" "plan extra" "check --secrets" "help nothing" ""; do
        status=0
        # shellcheck disable=SC2086 # words are words
        "$SERRY" $words >"$T/out" 2>"$T/err" || status=$?
        is "$status" 64 "status of serry $words"
        is "$(wc -l <"$T/err")" 1 "lines of serry $words"
        is "$(cat "$T/out")" ""
    done
    for words in "help" "help plan" "--help" "plan --help" "--version"; do
        # shellcheck disable=SC2086
        "$SERRY" $words >"$T/out"
        [[ -s $T/out ]]
    done
}
