#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Field case 05: the entry point word, and nothing to run. Also the kinds of entry (docs/contract.md 10).
load lib

mark_start() {
    entry train.sh <<'END'
#!/bin/sh
: >"$STORY/started"
END
}

@test "train and no word at all both run the job" {
    mark_start
    job train.sh
    serried
    succeeded
    files_there "$T/started"
    rm "$T/started"
    word=()
    serried
    succeeded
    files_there "$T/started"
}

@test "called by the name train it runs the job too" {
    mark_start
    job train.sh
    ln -s "$SERRIED" "$T/train"
    SERRIED=$T/train
    serried
    succeeded
    files_there "$T/started"
}

@test "an unknown word or option is a usage error" {
    mark_start
    job train.sh
    for words in serve "train twice" --nonsense; do
        # shellcheck disable=SC2206 # words
        word=($words)
        serried
        is "$status" 64 "status of $words"
        [[ ! -e $T/started ]]
        has "$T/err" "${word[-1]}"
    done
    word=(train)
    serried --set
    is "$status" 64 status
}

@test "--version and --help answer on standard output" {
    word=(--version)
    serried
    is "$status" 0 status
    has "$T/out" 'serried [0-9]+\.[0-9]+'
    word=(--help)
    serried
    is "$status" 0 status
    has "$T/out" '--base' '--set'
}

@test "no program named anywhere: one message with the places looked at" {
    mark_start
    job x
    config hyperparameters '{}'
    serried
    refused 'sagemaker_program.*SAGEMAKER_PROGRAM|SAGEMAKER_PROGRAM.*sagemaker_program'
}

@test "a program that is not there: one message with place and names that are" {
    mark_start
    echo 'print()' | entry tran.py
    job train.py
    serried
    refused 'train\.py' 'tran\.py' 'train\.sh' "$BASE/code"
}

@test "a folder is no program" {
    mark_start
    mkdir "$BASE/code/sub"
    for name in sub ./sub/ .; do
        job "$name"
        serried
        refused 'expected a program, found a folder'
        rm -rf "$BASE/output"
    done
}

@test "a program that is not there and leads out of the code folder is named by its place" {
    mark_start
    job ../train.sh
    serried
    refused "$BASE/train\.sh" 'leads out of the code folder'
}

@test "a script whose name looks like an option runs" {
    entry -dash.py <<<'import os; open(os.environ["STORY"] + "/started", "w")'
    job -dash.py
    serried
    succeeded
    files_there "$T/started"
}

@test "several words are counted" {
    word=(train train)
    serried
    is "$status" 64 status
    has "$T/err" 'found 2 words: train train'
}

@test "SAGEMAKER_PROGRAM wins over the hyperparameter" {
    mark_start
    job other.sh
    container+=(SAGEMAKER_PROGRAM=train.sh)
    serried
    succeeded
    files_there "$T/started"
}

@test "SAGEMAKER_SUBMIT_DIRECTORY names a folder where the code runs as it lies" {
    mkdir "$T/image code"
    mark_start
    mv "$BASE/code/train.sh" "$T/image code/"
    echo 'pwd >"$STORY/cwd-seen"' >>"$T/image code/train.sh"
    job train.sh
    container+=(SAGEMAKER_SUBMIT_DIRECTORY="$T/image code")
    serried
    succeeded
    is "$(cat "$T/cwd-seen")" "$T/image code"
}

@test "the base folder comes from SAGEMAKER_BASE_DIR, and --base wins" {
    mark_start
    job train.sh
    container+=(SAGEMAKER_BASE_DIR="$BASE")
    (cd "$T/cwd" && env -i "${container[@]}" timeout 20 "$SERRIED" >"$T/out" 2>"$T/err" 3>&-)
    files_there "$T/started" "$BASE/output/success"
    rm "$T/started"
    container+=(SAGEMAKER_BASE_DIR=/nonexistent)
    serried
    succeeded
    files_there "$T/started"
}

@test "a command need not be executable; only the x bits are added" {
    mark_start
    chmod 640 "$BASE/code/train.sh"
    job train.sh
    serried
    succeeded
    files_there "$T/started"
    is "$(stat -c %a "$BASE/code/train.sh")" 751
}

@test "a program that cannot be started: the sentence says which and why" {
    entry train.sh <<'END'
#!/no/such/interpreter
END
    job train.sh
    serried
    ((status != 0 && status != 143))
    failed_with "$status" 'train\.sh.*(no such file|not found|not there)'
}

@test "the program runs in the code folder with clean signals and descriptors" {
    program show
    torch_job 2 show
    serried
    succeeded
    for rank in 0 1; do
        has "$T/state.$rank" "^cwd: $BASE/code$" '^stdin at its end: yes$' '^leads its session: yes$' \
            '^SigBlk:.0+$' '^SigIgn:.0+$'
        is "$(cut -d' ' -f1 "$T/fds.$rank" | sort | xargs)" "0 1 2"
        has "$T/fds.$rank" '^0 /dev/null$' '^1 pipe:' '^2 pipe:'
    done
}
