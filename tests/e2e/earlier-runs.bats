#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What an earlier run left is moved aside: .../serried/HOST/earlier-N/.
load lib

@test "failure, success and our own files of earlier runs are kept apart" {
    entry train.sh <<'END'
#!/bin/sh
echo "run $RUN"
exit "$RUN_STATUS"
END
    job train.sh
    container+=(RUN=1 RUN_STATUS=3)
    serried
    failed_with 3 'exit code 3'
    cp "$BASE/output/failure" "$T/first-failure"

    container+=(RUN=2 RUN_STATUS=0)
    serried
    succeeded
    is "$(cat "$OWN/logs/0.out")" "run 2"
    [[ ! -e $OWN/failure.json ]]
    cmp "$OWN/earlier-1/failure" "$T/first-failure"
    is "$(jq .exit "$OWN/earlier-1/failure.json")" 3
    is "$(cat "$OWN/earlier-1/logs/0.out")" "run 1"

    container+=(RUN=3 RUN_STATUS=4)
    serried
    failed_with 4 'exit code 4'
    [[ -e $OWN/earlier-2/success && ! -e $OWN/earlier-2/failure ]]
    is "$(cat "$OWN/earlier-2/logs/0.out")" "run 2"
    is "$(cat "$OWN/earlier-1/logs/0.out")" "run 1"
}

@test "a stale success file does not survive a stop or a bad configuration" {
    program signals
    job signals
    : >"$BASE/output/success"
    start
    wait_for 10 line_in "$T/out" ready
    kill -TERM "$daemon"
    finish 10
    is "$status" 143 status
    [[ ! -e $BASE/output/success ]]
    : >"$BASE/output/success"
    config hyperparameters '{'
    serried
    refused 'hyperparameters\.json'
    [[ ! -e $BASE/output/success ]]
}

@test "the user's own files below output/data stay where they are" {
    entry train.sh <<'END'
#!/bin/sh
echo "checkpoint" >>"$SM_OUTPUT_DATA_DIR/mine"
END
    job train.sh
    serried
    serried
    succeeded
    is "$(cat "$BASE/output/data/mine")" "checkpoint
checkpoint"
}

@test "a success file of the program goes with a failure" {
    entry train.sh <<'END'
#!/bin/sh
: >"$SM_OUTPUT_DIR/success"
exit 3
END
    job train.sh
    serried
    failed_with 3 'exit code 3'
    [[ ! -e $BASE/output/success ]]
}

@test "the failure file is written although the program removed the folder" {
    entry train.sh <<'END'
#!/bin/sh
rm -rf "$SM_OUTPUT_DIR"
exit 3
END
    job train.sh
    serried
    failed_with 3 'exit code 3'
    is "$(jq .exit "$OWN/failure.json")" 3
}

@test "a second daemon leaves the files of the first alone" {
    local first
    entry train.sh <<'END'
#!/bin/sh
echo ready
read -r _ <"$STORY/go.0"
END
    gates 1
    job train.sh
    start
    wait_for 10 line_in "$T/out" ready
    first=$daemon
    out=$T/out.2 err=$T/err.2
    serried
    is "$status" 65 status
    has "$T/err.2" "another serried runs in $OWN"
    [[ ! -e $BASE/output/failure && ! -e $OWN/failure.json && ! -e $OWN/earlier-1 ]]
    daemon=$first
    timeout 20 sh -c 'echo go >"$1"' - "$T/go.0"
    finish 10
    is "$status" 0 status
    [[ -e $BASE/output/success ]]
}
