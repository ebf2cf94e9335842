#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Field case 36: a tree that is not complete; contract case 52.
load lib

@test "a: an empty base, or none: the message names the file that is missing" {
    rm -r "$BASE"
    mkdir "$BASE"
    serried
    refused 'resourceconfig\.json|hyperparameters\.json'
    rm -r "$BASE"
    serried
    is "$status" 65 status
    has "$T/err" 'resourceconfig\.json|hyperparameters\.json|ml: '
}

@test "b: only current_host and hosts" {
    resources '{"current_host": "algo-1", "hosts": ["algo-1"]}'
    program show
    torch_job 2 show
    serried
    succeeded
    tr '\0' '\n' <"$T/env.0" >"$T/env"
    has "$T/env" '^SM_CURRENT_INSTANCE_TYPE=local$' '^SM_CURRENT_INSTANCE_GROUP=homogeneousCluster$' \
        '^SM_INSTANCE_GROUPS=\[\]$'
}

@test "c: an interface that is not there: one warning, and one that is there in its place" {
    resources '{"current_host": "algo-1", "hosts": ["algo-1"], "network_interface_name": "ethwe"}'
    program show
    torch_job 2 show
    container+=(SAGEMAKER_TRAINING_MODULE=sagemaker_pytorch_container.training:main)
    serried
    succeeded
    is "$(count "$T/err" 'warning.*ethwe')" 1
    for rank in 0 1; do
        for name in SM_NETWORK_INTERFACE_NAME NCCL_SOCKET_IFNAME; do
            used=$(tr '\0' '\n' <"$T/env.$rank" | sed -n "s/^$name=//p")
            echo "$name=$used"
            [[ -d /sys/class/net/$used && -n $used ]]
        done
    done
}

@test "d: no inputdataconfig.json: it runs, with a warning that names it" {
    rm "$BASE/input/config/inputdataconfig.json"
    program show
    job show
    serried
    succeeded
    is "$(count "$T/err" 'warning.*inputdataconfig\.json')" 1
    tr '\0' '\n' <"$T/env.0" | grep -qx 'SM_CHANNELS=\[\]'
}

@test "folders that are not there yet are made" {
    program show
    job show
    rm -r "$BASE/output" "$BASE/model" "$BASE/input/data"
    serried
    succeeded
    files_there "$OWN/logs/0.out"
}

@test "the host's own name need not resolve" {
    resources '{"current_host": "algo-1", "hosts": ["algo-1"], "network_interface_name": "lo"}'
    program show
    torch_job 2 show
    serried
    succeeded
    getent hosts algo-1 >/dev/null && skip "algo-1 resolves here"
    tr '\0' '\n' <"$T/env.1" | grep -qx 'MASTER_ADDR=127\.0\.0\.1'
    has "$T/err" '127\.0\.0\.1'
}
