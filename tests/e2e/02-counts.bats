#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Field case 02: misspelt and absurd counts of processes. On the machine's own account, and for a
# machine with GPUs through the facts of `serry plan`.
load lib

@test "a misspelt key gives one warning that names the right one" {
    program show
    job show '{"sagemaker_torch_distributed_enabled": "true",
               "sagemaker_mpi_num_of_process_per_host": "8"}'
    serried
    succeeded
    is "$(count "$T/err" 'warning.*sagemaker_mpi_num_of_process_per_host')" 1
    has "$T/err" 'sagemaker_mpi_num_of_process_per_host.*sagemaker_mpi_num_of_processes_per_host'
}

@test "absurd counts are refused with key and value before anything starts" {
    entry train.sh <<'END'
#!/bin/sh
: >"$STORY/started"
END
    for value in 0 -1 eight 2.5 '[4]' '' 99999999999999999999; do
        echo "value: $value"
        rm -rf "$BASE/output"
        torch_job "$value" train.sh
        serried
        refused 'sagemaker_mpi_num_of_processes_per_host'
        # shellcheck disable=SC2001 # more than one kind of character
        has "$T/first-line" "$(sed 's/[].[]/\\&/g' <<<"$value")"
    done
}

@test "without GPUs any count runs" {
    entry train.sh <<'END'
#!/bin/sh
echo "rank $RANK of $WORLD_SIZE"
END
    torch_job 12 train.sh
    serried
    succeeded
    is "$(count "$T/out" '^\[algo-1:[0-9]+\] rank [0-9]+ of 12$')" 12
}

@test "more processes than GPUs are refused, naming both numbers and the host" {
    program show
    torch_job 8 show
    echo '{"num_gpus": 4}' >"$T/facts.json"
    serry plan --facts "$T/facts.json"
    is "$status" 65 status
    cat "$T/out" "$T/err" >"$T/all"
    has "$T/all" '(^|[^0-9])8[^0-9].*[^0-9]4[^0-9].*algo-1|algo-1.*[^0-9]8[^0-9].*[^0-9]4([^0-9]|$)|algo-1.*[^0-9]4[^0-9].*[^0-9]8([^0-9]|$)'
}

@test "more processes than GPUs run where a setting allows it" {
    program show
    torch_job 8 show
    echo '{"num_gpus": 4}' >"$T/facts.json"
    serry plan --json --facts "$T/facts.json" --set rank.oversubscribe=true
    is "$status" 0 status
    is "$(jq '.ranks | length' "$T/out")" 8
}

@test "no count means one process for each GPU, else one" {
    program show
    job show '{"sagemaker_torch_distributed_enabled": "true"}'
    echo '{"num_gpus": 4}' >"$T/facts.json"
    serry plan --json --facts "$T/facts.json"
    is "$(jq '.world.size' "$T/out")" 4
    echo '{"num_gpus": 0}' >"$T/facts.json"
    serry plan --json --facts "$T/facts.json"
    is "$(jq '.world.size' "$T/out")" 1
}
