#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# torch.launcher = exec: the image's own torchrun starts the ranks (docs/contract.md 12.4).
load lib

torchrun_prints() {
    mkdir -p "$T/bin"
    cat >"$T/bin/torchrun" <<'END'
#!/bin/sh
printf '%s\0' "$@" >"$STORY/args"
env -0 >"$STORY/env"
pwd >"$STORY/pwd"
echo "torchrun speaks"
exit ${TORCHRUN_STATUS:-0}
END
    chmod 755 "$T/bin/torchrun"
    container[0]=PATH=$T/bin:$HOST_PATH
}

words() { # FILE: NUL-ended words on one line
    tr '\0' ' ' <"$1"
}

@test "its arguments are the contract's, the user's follow as they are" {
    torchrun_prints
    echo pass >"$BASE/code/train.py"
    torch_job 4 train.py '{"msg": "a b", "lr": "0.1"}'
    serried --set torch.launcher=exec
    succeeded
    is "$(words "$T/args")" "--nnodes 1 --nproc_per_node 4 train.py --lr 0.1 --msg a b "
    is "$(tail -z -n 1 "$T/args" | tr -d '\0')" "a b"
    is "$(cat "$T/pwd")" "$BASE/code"
    tr '\0' '\n' <"$T/env" | grep -qx 'SM_CURRENT_HOST=algo-1'
    has "$T/out" 'torchrun speaks'
    serry plan --json --set torch.launcher=exec
    is "$(jq -r '.launch.argv[1:5] | join(" ")' "$T/out")" "--nnodes 1 --nproc_per_node 4"
}

@test "its exit status is the job's" {
    torchrun_prints
    echo pass >"$BASE/code/train.py"
    torch_job 2 train.py
    container+=(TORCHRUN_STATUS=5)
    serried --set torch.launcher=exec
    failed_with 5 'algo-1' 'exit code 5'
}

@test "the failure names torchrun, and the rank that it names" {
    torchrun_prints
    cat >"$T/bin/torchrun" <<'END'
#!/bin/sh
cat >&2 <<'WORDS'
Traceback (most recent call last):
  File "t.py", line 5, in <module>
ValueError: bad shard
Traceback (most recent call last):
  File "/usr/bin/torchrun", line 33, in <module>
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
============================================================
train.py FAILED
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2024-01-01_00:00:00
  host      : algo-1
  rank      : 2 (local_rank: 2)
  exitcode  : 7 (pid: 77)
  error_file: <N/A>
  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html
============================================================
WORDS
exit 1
END
    echo pass >"$BASE/code/train.py"
    torch_job 4 train.py
    serried --set torch.launcher=exec
    failed_with 1 'exit code 1, torchrun on algo-1' 'rank 2 on algo-1: exitcode 7' 'bad shard'
    is "$(failure .rank)" null
    has "$T/err" '4 ranks, .* exit status 1'
}

@test "what torchrun cannot run is refused before anything starts" {
    torchrun_prints
    entry train.sh <<'END'
#!/bin/sh
END
    torch_job 2 train.sh
    serried --set torch.launcher=exec
    ((status != 0))
    failed_with "$status" 'train\.sh|command|torchrun'
    [[ ! -e $T/args ]]
}

@test "without a torchrun the sentence says so" {
    echo pass >"$BASE/code/train.py"
    torch_job 2 train.py
    mkdir "$T/bin"
    ln -s "$PYTHON" "$T/bin/python3"
    container[0]=PATH=$T/bin
    serried --set torch.launcher=exec
    ((status != 0))
    failed_with "$status" 'torchrun'
}

@test "a stop reaches it" {
    torchrun_prints
    cat >"$T/bin/torchrun" <<'END'
#!/bin/sh
trap 'echo heard; exit 0' TERM
echo ready
read -r _ <"$STORY/go.0"
END
    gates 1
    echo pass >"$BASE/code/train.py"
    torch_job 2 train.py
    start --set torch.launcher=exec
    wait_for 10 line_in "$T/out" ready
    kill -TERM "$daemon"
    finish 10
    is "$status" 143 status
    has "$T/out" heard
}
