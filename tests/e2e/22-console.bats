#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Field case 22, on one host: which rank, which host, and only those wanted. Settings log.*.
load lib

chatty() {
    entry train.sh <<'END'
#!/bin/sh
for i in 1 2 3 4 5; do echo "rank $RANK says $i"; done
for i in 1 2 3 4 5; do echo "rank $RANK warns $i" >&2; done
[ "$RANK" != 3 ] || exit 4
END
}

@test "the console filter shows the wanted ranks, and the last words of one that failed" {
    chatty
    torch_job 4 train.sh
    serried --set log.ranks=0
    failed_with 4 'rank 3'
    is "$(grep -c '^\[algo-1:0\] rank 0 says' "$T/out")" 5
    has_not "$T/out" 'rank [12] says'
    has_not "$T/err" 'rank [12] warns'
    cat "$T/out" "$T/err" >"$T/all"
    for i in 1 2 3 4 5; do has "$T/all" "^\[algo-1:3\] rank 3 warns $i$"; done
    for rank in 0 1 2 3; do
        is "$(cat "$OWN/logs/$rank.out")" "$(printf "rank $rank says %d\n" 1 2 3 4 5)"
        is "$(cat "$OWN/logs/$rank.err")" "$(printf "rank $rank warns %d\n" 1 2 3 4 5)"
    done
}

@test "a list and a range of ranks" {
    entry train.sh <<'END'
#!/bin/sh
echo "rank $RANK"
END
    torch_job 6 train.sh
    serried --set log.ranks=0,2-4
    succeeded
    is "$(sed 's/.* //' "$T/out" | sort | xargs)" "0 2 3 4"
}

@test "the prefix can be off, or a text of one's own" {
    entry train.sh <<'END'
#!/bin/sh
echo "rank $RANK"
END
    torch_job 2 train.sh
    serried --set log.prefix=off
    succeeded
    is "$(sort "$T/out" | xargs)" "rank 0 rank 1"
    serried --set 'log.prefix=<{stream} {local_rank}@{host}> '
    succeeded
    is "$(sort "$T/out" | xargs -d '\n')" "<stdout 0@algo-1> rank 0 <stdout 1@algo-1> rank 1"
    job train.sh
    serried --set 'log.prefix=[{rank}] '
    is "$(cat "$T/out")" "[0] rank 0"
}

@test "JSON lines: every line of both streams is an object, with the text intact" {
    entry train.sh <<'END'
#!/bin/sh
printf 'a "quoted" \\ text\twith \303\244 and \377\n'
echo "to err" >&2
END
    torch_job 2 train.sh
    serried --set log.format=json --set log.level=debug
    succeeded
    is "$(jq -c 'type' "$T/out" | sort -u)" '"object"'
    is "$(jq -c 'type' "$T/err" | sort -u)" '"object"'
    is "$(wc -l <"$T/out")" 2
    is "$(jq -r 'select(.rank == 1) | .host' "$T/out")" algo-1
    # shellcheck disable=SC2016 # jq's
    jq -es 'all(.[]; [.. | strings | select(startswith("a \"quoted\" \\ text\twith ä and"))] != [])' "$T/out"
    jq -es '[.[] | select(.rank != null)] | length == 2' "$T/err"
    jq -es '[.[] | select(.level != null)] | all(.time and .message)' "$T/err"
}

@test "files can be switched off and bounded; a bounded one keeps head and tail and says so" {
    entry train.sh <<'END'
#!/bin/sh
seq 100000 200000
END
    job train.sh
    serried --set log.file_max=0
    succeeded
    [[ ! -e $OWN/logs/0.out ]]
    serried --set log.file_max=64KiB
    succeeded
    under "$(wc -c <"$OWN/logs/0.out")" 70000 "bytes of the file"
    (($(wc -c <"$OWN/logs/0.out") > 30000))
    is "$(head -n 1 "$OWN/logs/0.out")" 100000
    is "$(tail -n 1 "$OWN/logs/0.out")" 200000
    has "$OWN/logs/0.out" '[^0-9]'
    is "$(wc -l <"$T/out")" 100001
}

@test "log.level=error silences all but errors" {
    entry train.sh <<'END'
#!/bin/sh
exit 0
END
    job train.sh
    serried --set log.level=error
    succeeded
    is "$(cat "$T/err")" ""
}

@test "the job's own log level counts where the setting is silent" {
    program show
    job show '{"sagemaker_container_log_level": "10"}'
    serried
    said=$(wc -l <"$T/err")
    job show '{"sagemaker_container_log_level": "40"}'
    serried
    is "$(cat "$T/err")" ""
    ((said > 3))
}
