#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Settings: file, then environment, then hyperparameter, then --set; later wins.
load lib

# port_seen: what torch.port came to
port_seen() {
    tr '\0' '\n' <"$T/env.0" | sed -n 's/^MASTER_PORT=//p'
}

prepare() {
    program show
    torch_job 1 show
    # four ports next to each other, somewhere
    port=$((20000 + RANDOM % 10000))
}

@test "later sources win" {
    printf '{\n // a comment\n "torch.port": %d /* and another */\n}' "$port" >"$T/serried.json"
    container+=(SERRIED_CONFIG="$T/serried.json")
    serried
    is "$(port_seen)" "$port" "from the file"
    container+=(SERRIED_TORCH_PORT=$((port + 1)))
    serried
    is "$(port_seen)" $((port + 1)) "from the environment"
    torch_job 1 show "{\"serried_torch_port\": \"$((port + 2))\"}"
    serried
    is "$(port_seen)" $((port + 2)) "from the hyperparameter"
    serried --set torch.port=$((port + 3))
    is "$(port_seen)" $((port + 3)) "from --set"
    serried --set torch.port=$((port + 1)) --set torch.port=$((port + 4))
    is "$(port_seen)" $((port + 4)) "from the last --set"
}

@test "the user's program never sees the hyperparameters of ours" {
    torch_job 1 show '{"serried_stop_grace_s": "7", "lr": "1"}'
    serried
    succeeded
    is "$(tr '\0' ' ' <"$T/args.0")" "--lr 1 "
    tr '\0' '\n' <"$T/env.0" >"$T/env"
    has_not "$T/env" 'serried_stop_grace_s' 'SERRIED_STOP_GRACE_S'
}

@test "an unknown name is refused with the nearest known one" {
    serried --set stop.grase_s=5
    refused 'stop\.grase_s' 'stop\.grace_s'
    torch_job 1 show '{"serried_stop_grase_s": "5"}'
    serried
    refused 'serried_stop_grase_s' 'serried_stop_grace_s'
    torch_job 1 show
    printf '{"stop.grase_s": 5}' >"$T/serried.json"
    container+=(SERRIED_CONFIG="$T/serried.json")
    serried
    refused 'serried\.json' 'stop\.grase_s' 'stop\.grace_s'
}

@test "an unknown variable of ours only warns" {
    container+=(SERRIED_STOP_GRASE_S=5)
    serried
    succeeded
    has "$T/err" 'warning.*SERRIED_STOP_GRASE_S.*SERRIED_STOP_GRACE_S'
}

@test "absurd values are refused by name, with what is allowed" {
    for pair in stop.grace_s=-1 stop.grace_s=soon stop.grace_s=nan stop.grace_s= torch.port=0 \
        torch.port=65536 torch.port=1.5 log.level=loud log.format=xml log.ranks=a-b log.line_max=1 \
        launcher=rocket torch.launcher=maybe cgroup.root=relative log.prefix='{pid}'; do
        rm -rf "$BASE/output"
        serried --set "$pair"
        refused "${pair%%=*}"
    done
}

@test "a bad settings file is refused" {
    container+=(SERRIED_CONFIG="$T/serried.json")
    for text in '' '[]' '{"torch.port": }' '{"torch.port": [1]}' '/* no end'; do
        printf '%s' "$text" >"$T/serried.json"
        serried
        refused 'serried\.json'
    done
    rm "$T/serried.json"
    serried
    refused 'serried\.json'
}

@test "launcher=plain overrides what the job asks for" {
    torch_job 3 show
    serried --set launcher=plain
    succeeded
    is "$(find "$T" -name 'env.*' | wc -l)" 1
}

@test "launcher=NAME of one that is not built says so and fails" {
    serried --set launcher=mpi
    ((status != 0))
    failed_with "$status" 'mpi'
}

@test "--set without a name or a value is told" {
    for bad in =5 '' foo; do
        rm -rf "$BASE/output"
        serried --set "$bad"
        refused "^.*--set ${bad:-\"\"}: expected NAME=VALUE"
    done
}

@test "log.ranks of a rank that is not there warns" {
    serried --set log.ranks=0,99
    succeeded
    has "$T/err" 'warning: setting log\.ranks = 0,99: there is no rank 99, the job has 1 rank$'
}

@test "python names the interpreter" {
    mkdir "$T/python dir"
    printf '#!/bin/sh\necho "stand-in $1"\n' >"$T/python dir/py"
    chmod 755 "$T/python dir/py"
    echo pass >"$BASE/code/train.py"
    job train.py
    serried --set "python=$T/python dir/py"
    succeeded
    is "$(cat "$T/out")" "stand-in train.py"
    for bad in /no/such/python /tmp no-such-python "$BASE/code/train.py"; do
        rm -rf "$BASE/output"
        chmod 644 "$BASE/code/train.py"
        serried --set "python=$bad"
        failed_with 65 "setting python: .*$bad"
    done
}
