#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Field case 26: the first failure, not the loudest.
load lib

traceback='Traceback (most recent call last):
  File "t.py", line 5, in <module>
    load()'

# expect_rank_3 [MESSAGE]
expect_rank_3() {
    local words=${1-ValueError: bad shard}
    ((status != 0 && status != 143))
    head -n 1 "$BASE/output/failure" >"$T/first-line"
    has "$T/first-line" 'rank 3 on algo-1'
    head -c 1024 "$BASE/output/failure" >"$T/head"
    has "$T/head" "$words"
    has_not "$T/first-line" 'plugin|Connection'
    is "$(failure .rank)" 3
    has <(failure .message) "$words"
    is "$(failure '[.followers[].rank] | sort | join(" ")')" "0 1 2"
    has_not <(failure .message) 'plugin'
}

# four_ranks OTHERS THREE [WORDS]: what the others and what rank 3 do once it has had its error, and
# what it says of that
four_ranks() {
    printf '%s\n' "${3-$traceback
ValueError: bad shard}" >"$T/words"
    entry train.sh <<END
#!/bin/sh
connection_errors() {
    for i in 1 2 3 4 5 6 7 8 9 10; do
        printf 'Traceback (most recent call last):\n  File "comm.py", line 9, in send\n' >&2
        printf '    sock.send(x)\nConnectionResetError: [Errno 104] Connection reset by peer\n' >&2
    done
    exit 1
}
let_others_end() { # they may be gone already: nothing is to block or to break
    exec 4<>"\$STORY/end.0" 5<>"\$STORY/end.1" 6<>"\$STORY/end.2"
    for i in 4 5 6; do echo >&\$i; done
}
if [ "\$RANK" = 0 ]; then echo "note: ignoring Exception in plugin" >&2; fi
if [ "\$RANK" = 3 ]; then
    for i in 0 1 2; do read -r _ <"\$STORY/go.\$i"; done
    cat "\$STORY/words" >&2
    $2
fi
trap connection_errors TERM
echo here >"\$STORY/go.\$RANK"
$1
END
    rm -f "$T"/{go,end}.{0,1,2} "$T/never"
    gates 3
    mkfifo "$T"/end.{0,1,2} "$T/never"
    torch_job 4 train.sh
}

@test "the others fail because of it, loudly" {
    four_ranks 'read -r _ <"$STORY/never"' 'exit 1'
    serried
    is "$status" 1 status
    expect_rank_3
}

@test "the others are gone before rank 3 is reaped" {
    four_ranks 'read -r _ <"$STORY/end.$RANK"; connection_errors' \
        'trap "" TERM; let_others_end; sleep 0.3; exit 1'
    serried
    expect_rank_3
}

@test "the others are gone before, and rank 3 dies of our stop signal" {
    four_ranks 'read -r _ <"$STORY/end.$RANK"; connection_errors' \
        'let_others_end; exec sleep 20'
    serried
    under "$took_ms" 10000 milliseconds
    expect_rank_3
}

# ends_late WORDS MESSAGE [CODE]: rank 3 says WORDS and needs longer to end than the others
ends_late() {
    four_ranks 'read -r _ <"$STORY/end.$RANK"; connection_errors' \
        "trap '' TERM; let_others_end; sleep 0.3; exit ${3-1}" "$1"
    serried
    is "$status" "${3-1}" status
    expect_rank_3 "${2-ValueError: bad shard}"
}

@test "the others are gone before, and the message of rank 3 has several lines" {
    ends_late "$traceback
ValueError: 1 validation error for Shard
name
  Field required [type=missing]
For further information visit the manual" '^ValueError: 1 validation error for Shard$'
}

@test "the others are gone before, and rank 3 says farewell after its error" {
    ends_late "$traceback
ValueError: bad shard
cleanup done"
    ends_late "$traceback
ValueError: bad shard
wandb:
wandb: Find logs at: ./wandb/x"
    ends_late "$traceback
ValueError: bad shard
srun: error: task 3: exited with exit code 1"
}

@test "the others are gone before, and rank 3 has no traceback" {
    ends_late 'fatal: shard corrupt' '^fatal: shard corrupt$'
}

@test "the others are gone before, and rank 3 has panicked" {
    ends_late "thread 'main' panicked at 'bad shard', src/main.rs:2:5
note: run with \`RUST_BACKTRACE=1\` environment variable to display a backtrace" \
        "^thread 'main' panicked at 'bad shard'" 101
}

@test "without any traceback the first to exit is the cause" {
    entry train.sh <<'END'
#!/bin/sh
[ "$RANK" = 2 ] || { read -r _ <"$STORY/go.$RANK"; exit 1; }
echo "error: disk is on fire" >&2
exit 9
END
    gates 3
    torch_job 3 train.sh
    serried
    failed_with 9 'rank 2 on algo-1' 'disk is on fire'
}

@test "a torchelastic error file is read for the cause" {
    entry train.py <<'END'
import json, os, signal, sys, time
stack = 'Traceback (most recent call last):\n  File "t.py", line 3, in f\n    g()\n'
if os.environ["RANK"] == "1":
    with open(os.environ["TORCHELASTIC_ERROR_FILE"], "w") as f:
        json.dump({"message": {"message": "RuntimeError: from the error file", "extraInfo": {
            "py_callstack": stack + "RuntimeError: from the error file\n", "timestamp": str(int(time.time()))}}}, f)
    sys.exit(1)
signal.pause()
END
    torch_job 2 train.py
    serried
    failed_with 1 'rank 1 on algo-1' 'RuntimeError: from the error file'
}
