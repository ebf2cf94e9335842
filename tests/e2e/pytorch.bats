#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Real PyTorch: four ranks, gloo, a small model trained on generated data.
load lib

prepare() {
    [[ -n $("$PYTHON" -c 'import importlib.util as u; print(u.find_spec("torch") or "")' 2>/dev/null) ]] ||
        skip "$PYTHON has no torch"
    cp "$BATS_TEST_DIRNAME/programs/ddp.py" "$BASE/code/"
    container+=(OMP_NUM_THREADS=1)
}

@test "four ranks train together" {
    torch_job 4 ddp.py '{"steps": "10"}'
    start --set python="$PYTHON"
    finish 60
    succeeded
    for rank in 0 1 2 3; do
        has "$T/out" "^\[algo-1:$rank\] rank $rank of 4: loss [0-9.]+ -> [0-9.]+$"
        # all have the same model in the end
        is "$(grep -a "^\[algo-1:$rank\] weights" "$T/out" | sed 's/.*] //')" \
            "$(grep -a '^\[algo-1:0\] weights' "$T/out" | sed 's/.*] //')"
    done
    files_there "$BASE/model/model.pt"
}

@test "one rank fails in the middle: it is named with its traceback's last line, and all are gone" {
    torch_job 4 ddp.py '{"steps": "1000000", "fail-rank": "2", "fail-step": "3"}'
    start --set python="$PYTHON"
    finish 60
    failed_with 1 'rank 2 on algo-1' 'ValueError: bad shard at step 3'
    is "$(failure .rank)" 2
    has <(failure .message) 'ValueError: bad shard at step 3'
    head -c 1024 "$BASE/output/failure" | grep -q 'ValueError: bad shard at step 3'
    wait_for 5 none_left
}

@test "one rank is killed: the others' errors are consequences" {
    torch_job 4 ddp.py '{"steps": "1000000", "kill-rank": "1", "fail-step": "3"}'
    start --set python="$PYTHON"
    finish 60
    failed_with 137 'rank 1 on algo-1' 'SIGKILL'
    is "$(failure .rank)" 1
}

# With the emulator's hosts in place of this machine.
two_hosts() {
    load hosts
    some_hosts 2
    for host in algo-1 algo-2; do cp "$BATS_TEST_DIRNAME/programs/ddp.py" "$TREE/$host/code/"; done
    hosts_torch_job 2 ddp.py "$1"
}

@test "two hosts of two ranks train together" {
    two_hosts '{"steps": "10"}'
    emulated --set python="$PYTHON" --env OMP_NUM_THREADS=1
    all_succeeded
    for rank in 0 1 2 3; do
        has "$T/out" "^\[algo-$((rank / 2 + 1)):$rank\] rank $rank of 4: loss [0-9.]+ -> [0-9.]+$"
        is "$(grep -a ":$rank\] weights" "$T/out" | sed 's/.*] //')" \
            "$(grep -a ':0\] weights' "$T/out" | sed 's/.*] //')"
    done
    files_there "$TREE/algo-1/model/model.pt"
}

@test "a rank of the second host fails: both hosts name it with its traceback's last line" {
    two_hosts '{"steps": "1000000", "fail-rank": "3", "fail-step": "3"}'
    emulated --set python="$PYTHON" --env OMP_NUM_THREADS=1
    all_failed_with 1 algo-1 algo-2 -- '^user: exit code 1, rank 3 on algo-2$' '^ValueError: bad shard at step 3$'
}

@test "an ordinary user's two hosts train together" {
    load hosts
    mkdir "$T/source"
    cp "$BATS_TEST_DIRNAME/programs/ddp.py" "$T/source/"
    as_user "$T/source" --entry ddp.py --set python="$PYTHON" --env OMP_NUM_THREADS=1
    has "$T/out" '^\[algo-1:0\] rank 0 of 4: loss' '^\[algo-2:3\] rank 3 of 4: loss'
}
