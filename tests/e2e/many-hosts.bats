#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A job of several hosts: starts together, ends together, tells the same story everywhere.
load hosts

@test "two hosts of two ranks each: one world" {
    some_hosts 2
    hosts_program reduce
    hosts_torch_job 2 reduce
    emulated
    all_succeeded
    for rank in 0 1 2 3; do
        host=algo-$((rank / 2 + 1))
        has "$T/out" "^\[$host:$rank\] host $host rank $rank of 4: sum 100$"
    done
    files_there "$(own_of algo-1)/logs/1.out" "$(own_of algo-2)/logs/3.out"
    [[ ! -e $(own_of algo-1)/logs/2.out ]]
}

@test "a rank fails on one host: all end, and all say the same" {
    some_hosts 3
    hosts_program reduce
    hosts_torch_job 2 reduce '{"steps": "100000", "ms": "20", "fail-rank": "3"}'
    emulated
    all_failed_with 3 algo-1 algo-2 algo-3 -- '^user: exit code 3, rank 3 on algo-2$' \
        '^ValueError: bad shard at step 3$'
    for host in algo-1 algo-2 algo-3; do
        is "$(failure_of "$host" '"\(.rank) \(.host) \(.exit)"')" "3 algo-2 3"
        is "$(failure_of "$host" '.followers | length')" 5
    done
}

@test "a plain job runs one process on each host, and they are numbered" {
    some_hosts 3
    hosts_entry say.sh <<'END'
#!/bin/sh
echo "$SM_CURRENT_HOST is $RANK of $WORLD_SIZE, leader $MASTER_ADDR"
END
    hosts_job say.sh
    emulated
    all_succeeded
    has "$T/out" '^\[algo-1:0\] algo-1 is 0 of 3, leader algo-1$' '^\[algo-3:2\] algo-3 is 2 of 3, leader algo-1$'
}

@test "a stop on one host stops all" {
    some_hosts 2
    hosts_program reduce
    hosts_torch_job 1 reduce '{"steps": "100000", "ms": "20"}'
    emulate
    wait_for 20 eval '[[ $(count "$T/out" joined) == 2 ]]'
    trouble stop:algo-2
    finish 20
    is "$status" 143 status
    [[ ! -e $TREE/algo-1/output/failure && ! -e $TREE/algo-2/output/failure ]]
}

@test "every rank has its own host's variables" { # field case 07
    some_hosts 2
    hosts_entry say.sh <<'END'
#!/bin/sh
echo "$SM_CURRENT_HOST $SM_CURRENT_INSTANCE_TYPE $SM_NETWORK_INTERFACE_NAME $NCCL_SOCKET_IFNAME $SM_RESOURCE_CONFIG"
END
    hosts_torch_job 1 say.sh
    config_of algo-1 resourceconfig '{"current_host": "algo-1", "hosts": ["algo-1", "algo-2"],
        "current_instance_type": "ml.g5.xlarge", "network_interface_name": "eth0"}'
    config_of algo-2 resourceconfig '{"current_host": "algo-2", "hosts": ["algo-1", "algo-2"],
        "current_instance_type": "ml.p4d.24xlarge", "network_interface_name": "lo"}'
    emulated
    all_succeeded
    has "$T/out" '^\[algo-1:0\] algo-1 ml.g5.xlarge eth0 eth0 \{.*"current_host":"algo-1"' \
        '^\[algo-2:1\] algo-2 ml.p4d.24xlarge lo lo \{.*"current_host":"algo-2"'
}

@test "the rank variables of two hosts with two ranks each" { # field case 08
    some_hosts 2
    hosts_entry say.sh <<'END'
#!/bin/sh
echo "$RANK $LOCAL_RANK $WORLD_SIZE $LOCAL_WORLD_SIZE $GROUP_RANK $GROUP_WORLD_SIZE $MASTER_ADDR $MASTER_PORT"
END
    hosts_torch_job 2 say.sh
    emulated
    all_succeeded
    is "$(sed 's/.*] //' "$T/out" | sort)" "0 0 4 2 0 2 algo-1 7777
1 1 4 2 0 2 algo-1 7777
2 0 4 2 1 2 algo-1 7777
3 1 4 2 1 2 algo-1 7777"
}

@test "one installation fails: every host ends at once, and has its last lines" { # field case 06
    some_hosts 2
    hosts_entry train.py <<<'print("never")'
    hosts_job train.py
    for host in algo-1 algo-2; do
        echo some-package >"$TREE/$host/code/requirements.txt"
        cat >"$TREE/$host/python" <<'END'
#!/bin/sh
echo "once" >>"/opt/ml/output/data/installed"
[ "$(hostname)" = algo-1 ] && exit 0
for i in $(seq 50); do echo "ERROR: line $i of the installer" >&2; done
exit 1
END
        chmod 755 "$TREE/$host/python"
    done
    emulated --set python=/opt/ml/python
    under "$took_ms" 10000 milliseconds
    all_failed_with 1 algo-1 algo-2 -- '^user: exit code 1, step install on algo-2$' '^ERROR: line 49 of the installer$' \
        '^ERROR: line 50 of the installer$'
    has_not "$T/out" never
    for host in algo-1 algo-2; do is "$(cat "$TREE/$host/output/data/installed")" once; done
}

@test "hosts meet by IPv6 as well" {
    some_hosts 2
    hosts_entry say.sh <<'END'
#!/bin/sh
echo "leader $(getent ahosts algo-1 | head -n 1 | cut -d' ' -f1)"
END
    hosts_torch_job 1 say.sh
    emulated --ipv6
    all_succeeded
    has "$T/out" '^\[algo-2:1\] leader fd66::1$'
}
