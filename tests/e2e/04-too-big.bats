#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Field case 04: too much for one environment variable (128 KiB each).
load lib

# many COUNT: hyperparameters of 2,500 characters each, the service's own limit
many() {
    jq -nc --argjson n "$1" '[range($n) | {key: "p\(.)", value: ("v\(.)-" + "x" * 2490)[:2500]}]
        | from_entries'
}

# Copies what the variables named *_FILE point to, while it runs.
keep_files() {
    entry train.sh <<'END'
#!/bin/sh
echo "$#" >"$STORY/count.$RANK"
printf '%s\0' "$@" >"$STORY/args.$RANK"
env -0 | tr '\0' '\n' | cut -c1-200 >"$STORY/env.$RANK"
sed -n 's/^\(SM_[A-Z_]*\)=\(\/.*\)$/\1 \2/p' "$STORY/env.$RANK" | while read -r name path; do
    [ -f "$path" ] && cp "$path" "$STORY/file.$name.$RANK"
done
exit 0
END
}

@test "100 values of 2,500 characters: all arguments arrive, the rest is in a file" {
    many 100 >"$T/many"
    keep_files
    torch_job 2 train.sh "$(cat "$T/many")"
    serried
    succeeded
    jq -j 'to_entries | sort_by(.key)[] | "--\(.key)\u0000\(.value)\u0000"' "$T/many" >"$T/expected"
    for rank in 0 1; do
        is "$(cat "$T/count.$rank")" 200 arguments
        cmp "$T/expected" "$T/args.$rank"
        has "$T/env.$rank" '^SM_HP_P0=v0-x' '^SM_HP_P99=v99-x' '^SM_CURRENT_HOST=algo-1$'
        has_not "$T/env.$rank" '^SM_HPS=' '^SM_TRAINING_ENV=' '^SM_USER_ARGS='
        cmp <(jq -S . "$T/many") <(jq -S . "$T/file.SM_HPS_FILE.$rank")
        jq -e '.hyperparameters | length == 100' "$T/file.SM_TRAINING_ENV_FILE.$rank"
        jq -e 'length == 200' "$T/file.SM_USER_ARGS_FILE.$rank"
    done
    is "$(count "$T/err" 'warning.*SM_HPS')" 1
    has "$T/err" 'warning.*SM_HPS.*[0-9]{6}.*/.*' # its size and the file
}

@test "just over the limit only the variable that is too big is left out" {
    many 52 >"$T/many"
    keep_files
    job train.sh "$(cat "$T/many")"
    serried
    succeeded
    is "$(cat "$T/count.0")" 104 arguments
    has_not "$T/env.0" '^SM_TRAINING_ENV='
    jq -e '.hyperparameters | length == 52' "$T/file.SM_TRAINING_ENV_FILE.0"
}

@test "a small stack limit leaves less room: parameters go to files as well" {
    jq -nc '[range(100) | {key: "p\(.)", value: ("x" * 2000)}] | from_entries' >"$T/many"
    keep_files
    job train.sh "$(cat "$T/many")"
    ulimit -S -s 1024
    serried
    succeeded
    is "$(cat "$T/count.0")" 200 arguments
    has "$T/env.0" '^SM_HP_P10_FILE=/' '^SM_HPS_FILE=/'
    is "$(count "$T/err" 'warning.*variables SM_HP_\*')" 1
}

@test "far too much: one sentence, at once" {
    jq -nc '[range(15000) | {key: "p\(.)", value: ("x" * 60)}] | from_entries + {sagemaker_program: "train.sh"}' \
        >"$BASE/input/config/hyperparameters.json"
    entry train.sh <<<': >"$STORY/started"'
    serried
    refused 'hyperparameters\.json: arguments and variables take [0-9]+ bytes'
    is "$(wc -l <"$T/err")" 1 "lines on the console"
}
