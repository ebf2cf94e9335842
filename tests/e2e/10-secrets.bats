#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Field case 10: secrets reach the program and nothing that the launcher writes.
load lib

SECRETS='pw-111|tok-222|key-333|pw-444|sec-555|ses-666|pw-777'

secret_job() {
    torch_job "${2:-2}" "$1" '{"db_password": "pw-111", "sagemaker_mpi_custom_mpi_options": "-x API_KEY=key-333",
        "nested": "{\"api_token\": \"pw-777\", \"lr\": 1}"}'
    container+=(HF_TOKEN=tok-222 DATASET_URL=https://user:pw-444@host/x AWS_SECRET_ACCESS_KEY=sec-555
        AWS_SESSION_TOKEN=ses-666 AWS_ACCESS_KEY_ID=AKIAEXAMPLE)
}

no_secret_in() {
    ! grep -EnaH -r --exclude-dir=logs -e "$SECRETS" "$@"
}

@test "the program has them all; console at debug level, files and plan have none" {
    program show
    secret_job show 1
    container+=(SHOW_STATUS=3)
    serried --set log.level=debug
    is "$status" 3 status
    tr '\0' '\n' <"$T/env.0" >"$T/env"
    has "$T/env" '^SM_HP_DB_PASSWORD=pw-111$' '^HF_TOKEN=tok-222$' '^AWS_SECRET_ACCESS_KEY=sec-555$' \
        '^AWS_SESSION_TOKEN=ses-666$' '^DATASET_URL=https://user:pw-444@host/x$' \
        '^SM_FRAMEWORK_PARAMS=.*key-333' '^SM_HP_NESTED=.*pw-777'
    tr '\0' '\n' <"$T/args.0" >"$T/args"
    has "$T/args" '^pw-111$'
    no_secret_in "$T/out" "$T/err" "$BASE/output"
}

@test "plan shows none, as text and as JSON, unless asked to" {
    program show
    secret_job show
    serry plan
    is "$status" 0 status
    no_secret_in "$T/out" "$T/err"
    serry plan --json
    is "$status" 0 status
    no_secret_in "$T/out" "$T/err"
    serry plan --json --secrets
    has "$T/out" 'pw-111'
}

@test "secrets under other names and within texts; ordinary names stay readable" {
    program show
    torch_job 2 show '{"api_tokens": "[\"tok-1aa\", \"tok-1bb\"]", "hftoken": "tok-1cc", "pgpass": "tok-1dd",
        "cmd": "curl -H \"Authorization: Bearer tok-1ee\" --token tok-1ff https://h/?sig=tok-1gg",
        "note": "use hf_abcdefghijklmnopqrstuvwx", "pem_password": "tok-1hh\nit'"'"'s \"x\"", "max_token": "512",
        "pad_token": "</s>", "sort_key": "length"}'
    for form in "" --json; do
        # shellcheck disable=SC2086 # none or one
        serry plan $form
        is "$status" 0 status
        has_not "$T/out" 'tok-1' 'hf_abc'
        has "$T/out" '"?SM_HP_MAX_TOKEN"?[=:].?"?512' 'SM_HP_PAD_TOKEN.*</s>' 'SM_HP_SORT_KEY.*length'
    done
}

@test "what a rank says goes through untouched, but into no report" {
    entry train.sh <<'END'
#!/bin/sh
echo "ValueError: cannot log in with pw-111" >&2
exit 3
END
    secret_job train.sh
    serried --set log.level=debug
    is "$status" 3 status
    has "$T/err" '^\[algo-1:[01]\] ValueError: cannot log in with pw-111$'
    no_secret_in "$BASE/output"
    has "$BASE/output/failure" 'ValueError: cannot log in with'
    grep -v '^\[algo-1:[01]\] ' "$T/err" >"$T/ours" || true
    no_secret_in "$T/ours"
}

@test "a bad configuration gives none away" {
    secret_job train.sh
    config hyperparameters '{"db_password": "pw-111", "sagemaker_program": "train.sh", '
    serried --set log.level=debug
    refused 'hyperparameters\.json'
    no_secret_in "$T/out" "$T/err" "$BASE/output"
}
