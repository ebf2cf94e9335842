#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Bad configuration of every kind: one sentence, status 65, within a second, a failure file, and
# nothing started.
load lib

FILES='hyperparameters resourceconfig inputdataconfig'

prepare() {
    entry train.sh <<'END'
#!/bin/sh
: >"$STORY/started"
END
    job train.sh
    good=$T/good
    cp -r "$BASE/input/config" "$good"
}

# again FILE: back to a good tree, with this one to be spoilt as $path
again() {
    rm -rf "$BASE/input/config" "$BASE/output"
    cp -r "$good" "$BASE/input/config"
    path=$BASE/input/config/$1.json
    echo "file: $1"
}

# Own lines of the launcher: a handful, one of them an error
one_sentence() {
    serried
    refused "$@"
    is "$(count "$T/err" '^serried: error: ')" 1 "errors"
    under "$(wc -l <"$T/err")" 6 "lines on the console"
    under "$(wc -c <"$BASE/output/failure")" 1200 "bytes of the failure file"
}

@test "absent" {
    for file in hyperparameters resourceconfig; do
        again "$file"
        rm "$path"
        one_sentence "$file\.json|sagemaker_program"
    done
}

@test "empty, blank, cut, garbage behind" {
    for file in $FILES; do
        for text in '' ' ' $'\n\n' '{' '{"a": ' '{"a": "b' '{"a": "b"' '{} x' '{}}' 'hello' "{'a': 1}" \
            '{"a": 1,}' '{"a" 1}'; do
            again "$file"
            echo "text: $text"
            printf '%s' "$text" >"$path"
            one_sentence "$file\.json"
        done
    done
}

@test "not an object" {
    for file in $FILES; do
        for text in '[]' '"text"' 7 null true '[{"a": 1}]'; do
            again "$file"
            echo "text: $text"
            printf '%s' "$text" >"$path"
            one_sentence "$file\.json.*object"
        done
    done
}

@test "nested too deep" {
    for file in $FILES; do
        again "$file"
        { printf '{"a": '; head -c 200000 /dev/zero | tr '\0' '['; } >"$path"
        one_sentence "$file\.json"
        again "$file"
        { printf '{"a": '; head -c 100000 /dev/zero | tr '\0' '['
          head -c 100000 /dev/zero | tr '\0' ']'; printf '}'; } >"$path"
        one_sentence "$file\.json"
    done
}

@test "not UTF-8, with the place" {
    for file in $FILES; do
        for bytes in '\377' '\303' '\300\200' '\355\240\200' '\364\220\200\200'; do
            again "$file"
            # shellcheck disable=SC2059 # octal bytes
            printf "{\"a\": \"x$bytes\"}" >"$path"
            one_sentence "$file\.json.*[0-9]"
        done
    done
}

@test "a byte-order mark is skipped" {
    for file in $FILES; do
        again "$file"
        { printf '\357\273\277'; cat "$good/$file.json"; } >"$path"
        serried
        succeeded
        rm "$T/started"
    done
}

@test "NUL bytes" {
    for file in $FILES; do
        for text in '\0' '{"a": "b\0c"}' '{}\0' '{"a\0": 1}'; do
            again "$file"
            # shellcheck disable=SC2059
            printf "$text" >"$path"
            one_sentence "$file\.json"
        done
    done
}

@test "a folder, a FIFO, a device, a socket, a dangling link instead of a file" {
    for file in $FILES; do
        again "$file"
        rm "$path"
        mkdir "$path"
        one_sentence "$file\.json"
        again "$file"
        rm "$path"
        mkfifo "$path"
        one_sentence "$file\.json"
        again "$file"
        ln -sf /dev/zero "$path"
        one_sentence "$file\.json"
        [[ $file != inputdataconfig ]] || continue
        again "$file"
        ln -sf nowhere "$path"
        one_sentence "$file\.json|sagemaker_program"
    done
}

@test "too large" {
    for file in $FILES; do
        again "$file"
        truncate -s 8G "$path"
        one_sentence "$file\.json"
    done
}

@test "resourceconfig.json with members of the wrong kind" {
    while IFS='|' read -r names text; do
        again resourceconfig
        echo "text: $text"
        resources "$text"
        one_sentence "resourceconfig\.json.*($names)"
    done <<'END'
current_host|{"hosts": ["algo-1"]}
hosts|{"current_host": "algo-1"}
hosts|{"current_host": "algo-1", "hosts": "algo-1"}
hosts|{"current_host": "algo-1", "hosts": []}
hosts|{"current_host": "algo-1", "hosts": {}}
hosts|{"current_host": "algo-1", "hosts": ["algo-1", 2]}
hosts|{"current_host": "algo-1", "hosts": ["algo-1", ""]}
hosts|{"current_host": "algo-1", "hosts": ["algo-1", "algo-1"]}
hosts|{"current_host": "algo-1", "hosts": null}
current_host|{"current_host": 1, "hosts": ["algo-1"]}
current_host|{"current_host": "", "hosts": ["algo-1"]}
current_host|{"current_host": null, "hosts": ["algo-1"]}
current_host|{"current_host": ["algo-1"], "hosts": ["algo-1"]}
algo-9|{"current_host": "algo-9", "hosts": ["algo-1"]}
instance_groups|{"current_host": "algo-1", "hosts": ["algo-1"], "instance_groups": "x"}
instance_groups|{"current_host": "algo-1", "hosts": ["algo-1"], "instance_groups": [1]}
END
}

@test "names that would lead out of the folders are refused" {
    for name in '../../x' 'a/b' '..' '.'; do
        again resourceconfig
        resources "$(jq -nc --arg n "$name" '{current_host: $n, hosts: [$n]}')"
        serried
        is "$status" 65 "status of $name"
    done
    [[ ! -e $BASE/output/data/x && ! -e $BASE/output/data/serried/a && ! -e $BASE/x ]]
}

@test "a hyperparameter whose name cannot be a variable is named" {
    job train.sh '{"a=b": "1"}'
    one_sentence 'a=b'
}

@test "a hyperparameter with a NUL in it is named, or its place in the file" {
    printf '{"sagemaker_program": "train.sh", "zero": "\\"a\\\\u0000b\\""}' >"$BASE/input/config/hyperparameters.json"
    one_sentence 'hyperparameters\.json.*zero'
    rm -rf "$BASE/output"
    printf '{"sagemaker_program": "train.sh", "zero": "a\\u0000b"}' >"$BASE/input/config/hyperparameters.json"
    one_sentence 'hyperparameters\.json.*(zero|line 1, column 4[0-9])'
}

@test "a file that may not be read" {
    ((UID != 0)) || skip "root may read all"
    chmod 0 "$BASE/input/config/hyperparameters.json"
    one_sentence 'hyperparameters\.json'
}

@test "many hosts: nothing hangs that this version cannot do" {
    resources '{"current_host": "algo-1", "hosts": ["algo-1", "algo-2"], "network_interface_name": "lo"}'
    job train.sh '{"sagemaker_mpi_enabled": "true"}'
    serried
    ((status == 65 || status == 70))
    has "$BASE/output/failure" 'mpi|hosts'
    [[ ! -e $T/started ]]
}
