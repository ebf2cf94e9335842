#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Field case 38: show, do not run.
load lib

# all that is below the test's folder but the outputs of the tool itself
snapshot() {
    find "$T" -mindepth 1 ! -path "$T/out" ! -path "$T/err" -printf '%p %s %T@ %m\n' | sort
}

good_job() {
    entry train.sh <<'END'
#!/bin/sh
: >"$STORY/started"
END
    torch_job 2 train.sh '{"msg": "a b", "lr": "0.1", "api_token": "tok-1234"}'
}

@test "a good job: argument vectors that can be pasted, environment, secrets masked" {
    good_job
    before=$(snapshot)
    serry plan
    is "$status" 0 status
    has "$T/out" "\./train\.sh .*--lr 0\.1 --msg 'a b'" 'SM_HP_LR' 'MASTER_PORT' 'WORLD_SIZE' 'torch'
    has_not "$T/out" 'tok-1234'
    is "$(snapshot)" "$before" "files"
    [[ ! -e $T/started ]]
}

@test "as JSON: the members that are promised" {
    good_job
    echo pkg >"$BASE/code/requirements.txt"
    before=$(snapshot)
    serry plan --json
    is "$status" 0 status
    is "$(snapshot)" "$before" "files"
    jq -e '.version == 1 and .host == "algo-1" and .leader == "algo-1" and .role == "alone"
        and .launcher == "torch" and .world.size == 2 and .world.hosts[0].first_rank == 0
        and .world.hosts[0].ranks == 2 and .world.hosts[0].name == "algo-1"
        and (.steps | type == "array") and .launch == null and (.ranks | length == 2)
        and .ranks[1].rank == 1 and .ranks[1].local_rank == 1
        and .ranks[1].argv[0] == "./train.sh" and .ranks[1].env.RANK == "1"
        and .environment.SM_HP_LR == "0.1" and (.aliases | type == "object")
        and (.user_args | index("a b") != null) and (.warnings | type == "array")' "$T/out"
    has_not "$T/out" 'tok-1234'
}

@test "steps stand before the ranks" {
    echo 'print()' | entry train.py
    job train.py
    echo pkg >"$BASE/code/requirements.txt"
    serry plan --json
    is "$(jq -r '.steps[0].argv[1:] | join(" ")' "$T/out")" "-m pip install -r requirements.txt"
    is "$(jq -r '.steps[0].cwd' "$T/out")" "$BASE/code"
    jq -e '.steps[0].deadline_s > 0' "$T/out"
}

@test "a bad job: the sentence, and the status of a bad configuration" {
    good_job
    config resourceconfig '{"current_host": "algo-1"}'
    before=$(snapshot)
    serry plan
    is "$status" 65 status
    cat "$T/out" "$T/err" >"$T/all"
    has "$T/all" 'resourceconfig\.json.*hosts'
    serry plan --json
    is "$status" 65 status
    jq -e .error "$T/out"
    is "$(snapshot | grep -v "$T/all")" "$before" "files"
}

@test "what is printed equals what runs" {
    program show
    torch_job 3 show '{"msg": "a b", "batch-size": "5"}'
    port=$((20000 + RANDOM % 10000))
    serry plan --json --secrets --set torch.port=$port
    cp "$T/out" "$T/plan.json"
    serried --set torch.port=$port
    succeeded
    for rank in 0 1 2; do
        jq -j ".ranks[$rank].argv[] + \"\u0000\"" "$T/plan.json" | cmp - "$T/argv.$rank"
        { printf '%s\0' "${container[@]}"
          jq -j ".environment + .aliases + .ranks[$rank].env | to_entries[] | \"\(.key)=\(.value)\u0000\"" \
              "$T/plan.json"; } | sort -z | tr '\0' '\n' | unsettled >"$T/planned"
        sort -z "$T/env.$rank" | tr '\0' '\n' | unsettled >"$T/real"
        diff "$T/planned" "$T/real"
    done
}

# what only the run itself can know: the plan resolves nothing
unsettled() {
    grep -vE '^(SERRIED_RUN|MASTER_ADDR|TORCHELASTIC_RUN_ID)='
}

@test "two hosts: each one's own view" {
    resources '{"current_host": "algo-1", "hosts": ["algo-1", "algo-2"], "network_interface_name": "lo"}'
    good_job
    serry plan --json
    is "$(jq -c '[.role, .world.size, [.ranks[].rank]]' "$T/out")" '["leader",4,[0,1]]'
    serry plan --json --as algo-2
    is "$(jq -c '[.host, .role, .world.size, [.ranks[].rank]]' "$T/out")" '["algo-2","peer",4,[2,3]]'
    is "$(jq -r '.environment.SM_CURRENT_HOST' "$T/out")" algo-2
}

@test "one port in all of the plan" {
    resources '{"current_host": "algo-1", "hosts": ["algo-1"], "network_interface_name": "lo"}'
    good_job
    serry plan --json --set torch.port=2345
    is "$(jq -r '.environment.MASTER_PORT' "$T/out")" 2345
    is "$(jq -r '.ranks[].env.MASTER_PORT' "$T/out" | sort -u)" 2345
}

@test "check lists every finding with file and place" {
    good_job
    config resourceconfig '{"current_host": "algo-1"}'
    config inputdataconfig '[]'
    serry check
    is "$status" 65 status
    cat "$T/out" "$T/err" >"$T/all"
    has "$T/all" 'resourceconfig\.json.*hosts' 'inputdataconfig\.json'
    resources '{"current_host": "algo-1", "hosts": ["algo-1"], "network_interface_name": "lo"}'
    config inputdataconfig '{}'
    serry check
    is "$status" 0 status
}
