#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Outcomes of the contract's cases 46 to 49, 52 and 54, by the "Do" column of its weaknesses.
load lib

# stand_in ENTRY [STATUS]: the cases' program: a python3 that copies $STORY/says to stderr
stand_in() {
    mkdir -p "$T/bin"
    cat >"$T/bin/python3" <<END
#!/bin/sh
cat "\$STORY/says" >&2
exit ${1:-0}
END
    chmod 755 "$T/bin/python3"
    container[0]=PATH=$T/bin:$HOST_PATH
    echo 'pass' >"$BASE/code/train.py"
    job train.py '{"sagemaker_container_log_level": "20",
        "sagemaker_job_name": "\"demo-job\"", "sagemaker_region": "\"us-west-2\""}'
}

traceback='starting
Traceback (most recent call last):
  File "train.py", line 3, in <module>
    raise ValueError("bad learning rate")
ValueError: bad learning rate'

for_layer() {
    stand_in 3
    echo "$traceback" >"$T/says"
    serried
    failed_with 3 'ValueError: bad learning rate' '^user: .*exit code 3'
    is "$(cat "$T/out")" "" "standard output"
    has "$T/err" '^Traceback' '^ValueError: bad learning rate$'
    head -c 1024 "$BASE/output/failure" >"$T/head"
    has "$T/head" 'Traceback'
}

@test "46: a script fails under the PyTorch layer" {
    container+=(SAGEMAKER_TRAINING_MODULE=sagemaker_pytorch_container.training:main)
    for_layer
}

@test "47: a script fails under the base layer" {
    for_layer
}

@test "48: exit status 137 is passed on, and is no proof of a lack of memory" {
    entry train.sh <<'END'
#!/bin/sh
echo working
exit 137
END
    job train.sh
    container+=(SAGEMAKER_TRAINING_MODULE=sagemaker_pytorch_container.training:main)
    serried
    failed_with 137 'exit code 137'
    is "$(cat "$T/out")" working
    head -n 1 "$BASE/output/failure" >"$T/first-line"
    has_not "$T/first-line" '[Oo]ut of memory'
}

@test "49: no entry point" {
    echo pass >"$BASE/code/train.py"
    config hyperparameters '{}'
    serried
    refused 'sagemaker_program'
}

@test "52: inputdataconfig.json is missing" {
    stand_in 0
    : >"$T/says"
    rm "$BASE/input/config/inputdataconfig.json"
    serried
    succeeded
    has "$T/err" 'warning.*inputdataconfig\.json'
}

@test "54: the output folder cannot be made: the status stays the program's, the sentence is on stderr" {
    stand_in 1
    echo 'OSError: [Errno 28] No space left on device' >"$T/says"
    rm -r "$BASE/output"
    : >"$BASE/output"
    serried
    is "$status" 1 status
    has "$T/err" '^serried: .*exit code 1' '^serried: warning: .*output'
    stand_in 0
    serried
    ((status == 0)) # nothing of the program's was lost
}

# in_full_disk SCRIPT: runs it where $BASE/output is a file system of 256 KiB
in_small_disk() {
    if ((UID != 0)) || ! unshare -m true 2>/dev/null; then
        skip "needs root and a mount namespace"
    fi
    cat >"$T/daemon" <<END
#!/bin/sh
mount -t tmpfs -o size=256k none "$BASE/output" || exit 99
[ -z "\$FILL_FIRST" ] || cat /dev/zero >"$BASE/output/filler" 2>/dev/null
"$SERRIED" "\$@"
status=\$?
cp -r "$BASE/output" "$T/kept"
exit \$status
END
    chmod 755 "$T/daemon"
    # shellcheck disable=SC2034
    SERRIED="$T/in-namespace"
    printf '#!/bin/sh\nexec unshare -m "%s" "$@"\n' "$T/daemon" >"$T/in-namespace"
    chmod 755 "$T/in-namespace"
}

fills_disk() { # STATUS
    entry train.sh <<END
#!/bin/sh
cat /dev/zero >"\$SM_OUTPUT_DATA_DIR/filler" 2>/dev/null
echo "ValueError: after the disk was full" >&2
exit $1
END
    torch_job 2 train.sh
}

@test "54: the program fills the disk and fails: the reason is in the failure file all the same" {
    fills_disk 3
    in_small_disk
    serried
    is "$status" 3 status
    has "$T/err" 'ValueError: after the disk was full'
    has "$T/kept/failure" '^user: .*exit code 3' 'ValueError: after the disk was full'
    [[ ! -e $T/kept/success ]]
}

@test "54: the program fills the disk and ends well: success" {
    fills_disk 0
    in_small_disk
    serried
    is "$status" 0 status
    [[ ! -e $T/kept/failure ]]
}

@test "54: the disk is full from the start: a failure stays one, and success too" {
    in_small_disk
    container+=(FILL_FIRST=1)
    fills_disk 4
    serried
    is "$status" 4 status
    has "$T/err" '^serried: .*exit code 4'
    rm -r "$T/kept"
    fills_disk 0
    serried
    is "$status" 0 status
}
