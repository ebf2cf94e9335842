#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Field case 09: the user's tuning wins; the launcher only fills gaps.
load lib

@test "variables that are set stay as they are, an empty one too" {
    program show
    torch_job 2 show
    local tuning=(NCCL_PROTO=LL128 NCCL_DEBUG=TRACE NCCL_SOCKET_IFNAME=lo OMP_NUM_THREADS=7
        FI_PROVIDER=tcp PYTHONUNBUFFERED=)
    container+=("${tuning[@]}" SAGEMAKER_TRAINING_MODULE=sagemaker_pytorch_container.training:main)
    serried
    succeeded
    for rank in 0 1; do
        tr '\0' '\n' <"$T/env.$rank" >"$T/env"
        for pair in "${tuning[@]}"; do
            is "$(grep "^${pair%%=*}=" "$T/env")" "$pair"
        done
    done
    # one line tells which were left alone
    is "$(count "$T/err" 'NCCL_DEBUG.*OMP_NUM_THREADS|OMP_NUM_THREADS.*NCCL_DEBUG')" 1
}

@test "gaps are filled, and one line tells which" {
    program show
    torch_job 2 show
    container+=(SAGEMAKER_TRAINING_MODULE=sagemaker_pytorch_container.training:main)
    serried
    succeeded
    tr '\0' '\n' <"$T/env.1" >"$T/env"
    has "$T/env" '^NCCL_DEBUG=WARN$' '^NCCL_SOCKET_IFNAME=lo$' '^PYTHONUNBUFFERED=1$' \
        '^OMP_NUM_THREADS=[0-9]+$'
    is "$(count "$T/err" 'NCCL_DEBUG.*PYTHONUNBUFFERED|PYTHONUNBUFFERED.*NCCL_DEBUG')" 1
}
