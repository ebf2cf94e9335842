#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Field case 15: host order, labels, leader. Contract cases 33, 39, 44: every host's own environment.
load hosts

say_where() {
    hosts_entry say.sh <<'END'
#!/bin/sh
echo "name $(hostname) $SM_CURRENT_HOST rank ${RANK-none} of ${WORLD_SIZE-none} at ${MASTER_ADDR-none}:${MASTER_PORT-none}"
END
}

@test "twelve hosts as the platform lists them: the order of the list counts" {
    hosts algo-1 algo-10 algo-11 algo-12 algo-2 algo-3 algo-4 algo-5 algo-6 algo-7 algo-8 algo-9
    say_where
    hosts_torch_job 1 say.sh
    emulated
    all_succeeded
    rank=0
    for host in "${names[@]}"; do
        has "$T/out" "^\[$host:$rank\] name $host $host rank $rank of 12 at algo-1:7777$"
        rank=$((rank + 1))
    done
}

@test "names of another kind, not sorted" {
    hosts node-b node-a
    say_where
    hosts_torch_job 1 say.sh
    emulated
    all_succeeded
    has "$T/out" '^\[node-b:0\] name node-b node-b rank 0 of 2 at node-b:' '^\[node-a:1\] name node-a node-a rank 1 of 2 at node-b:'
}

# two_groups HOST: algo-1, algo-2 in group data; algo-3, algo-4 in train; in any order
two_groups() {
    local host=$1 group=data groups
    [[ $host == algo-[12] ]] || group=train
    groups='{instance_group_name: "data", instance_type: "ml.c5.xlarge", hosts: ["algo-1", "algo-2"]},
            {instance_group_name: "train", instance_type: "ml.p4d.24xlarge", hosts: ["algo-3", "algo-4"]}'
    config_of "$host" resourceconfig "$(jq -nc --arg host "$host" --arg group "$group" \
        '{current_host: $host, current_group_name: $group, network_interface_name: "eth0",
          hosts: ["algo-1", "algo-2", "algo-3", "algo-4"], instance_groups: ['"$groups"']}')"
}

@test "only the second group takes part: its first host leads" {
    some_hosts 4
    say_where
    hosts_torch_job 1 say.sh '{"sagemaker_distribution_instance_groups": "[\"train\"]"}'
    for host in "${names[@]}"; do two_groups "$host"; done
    # the order of groups is nobody's business
    config_of algo-2 resourceconfig "$(jq -c '.instance_groups |= reverse' "$TREE/algo-2/input/config/resourceconfig.json")"
    emulated
    all_succeeded
    has "$T/out" 'name algo-3 algo-3 rank 0 of 2 at algo-3:' 'name algo-4 algo-4 rank 1 of 2 at algo-3:' \
        'name algo-1 algo-1 rank none of none'
}

@test "groups that are not named are clusters of their own, and still one job" {
    some_hosts 4
    hosts_entry fail.sh <<'END'
#!/bin/sh
echo "name $SM_CURRENT_HOST rank $RANK of $WORLD_SIZE at $MASTER_ADDR"
[ "$SM_CURRENT_HOST" = algo-4 ] || exec sleep 600
read -r _ </opt/ml/go # the others have spoken by then
exit 7
END
    hosts_torch_job 1 fail.sh
    for host in "${names[@]}"; do two_groups "$host"; done
    mkfifo "$TREE/algo-4/go"
    emulate
    wait_for 20 eval '[[ $(count "$T/out" "name algo-") == 4 ]]'
    timeout 20 sh -c 'echo go >"$1"' - "$TREE/algo-4/go"
    finish 20
    all_failed_with 7 "${names[@]}" -- '^user: exit code 7, rank 1 on algo-4$'
    has "$T/out" 'name algo-1 rank 0 of 2 at algo-1' 'name algo-2 rank 1 of 2 at algo-1' \
        'name algo-3 rank 0 of 2 at algo-3'
}

@test "hosts with other numbers of GPUs bring their own counts" {
    some_hosts 3
    say_where
    hosts_job say.sh '{"sagemaker_torch_distributed_enabled": "true"}'
    emulated --gpus 1,3,2
    all_succeeded
    has "$T/out" '^\[algo-1:0\].* rank 0 of 6 ' '^\[algo-2:1\].* rank 1 of 6 ' '^\[algo-2:3\].* rank 3 of 6 ' \
        '^\[algo-3:5\].* rank 5 of 6 '
}
