#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Field case 01: strings, double-encoded strings, containers.
load lib

VALUES='{"note": "some text", "epochs": "3", "obj": "\"reg:sq\"", "layers": "[64, 128]",
  "opt": "{\"name\": \"a b\", \"k\": [1, 2]}", "path": "s3://b/k?x=1&y=2", "empty": ""}'

expect_values() { # RANK
    printf '%s\0' --empty '' --epochs 3 --layers '[64, 128]' --note 'some text' \
        --obj reg:sq --opt 'k=[1, 2],name=a b' --path 's3://b/k?x=1&y=2' >"$T/expected"
    cmp "$T/expected" "$T/args.$1"
    tr '\0' '\n' <"$T/env.$1" >"$T/env"
    sed -n 's/^SM_HPS=//p' "$T/env" >"$T/hps"
    is "$(cat "$T/hps")" '{"empty":"","epochs":3,"layers":[64,128],"note":"some text","obj":"reg:sq","opt":{"k":[1,2],"name":"a b"},"path":"s3://b/k?x=1&y=2"}'
    has "$T/env" '^SM_HP_NOTE=some text$' '^SM_HP_EPOCHS=3$' '^SM_HP_OBJ=reg:sq$' '^SM_HP_EMPTY=$' \
        '^SM_HP_LAYERS=\[64,128\]$' '^SM_HP_PATH=s3://b/k\?x=1&y=2$'
    jq -e . "$T/hps" >/dev/null
}

@test "each value is decoded once and arrives as one argument" {
    program show
    job show "$VALUES"
    serried
    succeeded
    expect_values 0
}

@test "the same for each of four ranks" {
    program show
    torch_job 4 show "$VALUES"
    serried
    succeeded
    for rank in 0 1 2 3; do expect_values $rank; done
}

@test "nobody says that a plain string is bad JSON" {
    program show
    job show "$VALUES"
    serried
    succeeded
    has_not "$T/err" '[Ff]ail|[Pp]ars|[Dd]ecod|JSON|some text.*(error|warning)'
}
