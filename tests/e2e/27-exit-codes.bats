#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Field case 27: exit codes, signals, memory. Also docs/exit-status.md.
load lib

# ends_by COMMAND: a single rank
ends_by() {
    entry train.sh <<END
#!/bin/sh
$1
END
    job train.sh
}

# counters OOM_KILLS LIMIT: a stand-in for the control groups, of both versions
counters() {
    local v2 v1 folder
    v2=$(sed -n 's/^0:://p' /proc/self/cgroup)
    v1=$(sed -n 's/^[0-9]*:\([^:]*,\)\?memory\(,[^:]*\)\?:\(.*\)$/\3/p' /proc/self/cgroup)
    for folder in "$T/cgroup$v2" "$T/cgroup/unified$v2"; do
        mkdir -p "$folder"
        printf 'low 0\nhigh 0\nmax 5\noom 1\noom_kill %d\n' "$1" >"$folder/memory.events"
        echo "$2" >"$folder/memory.max"
    done
    mkdir -p "$T/cgroup/memory$v1"
    printf 'oom_kill_disable 0\nunder_oom 0\noom_kill %d\n' "$1" >"$T/cgroup/memory$v1/memory.oom_control"
    echo "$2" >"$T/cgroup/memory$v1/memory.limit_in_bytes"
    printf 'cgroup.controllers\n' >"$T/cgroup/cgroup.controllers"
}

@test "the rank's own exit code is ours" {
    for code in 1 2 3 64 65 70 71 100 126 127 128 137 143 255; do
        ends_by "exit $code"
        serried
        failed_with $code "exit code $code"
        is "$(failure .exit)" $code
    done
}

@test "a signal gives 128 and the signal, with its name" {
    while read -r signal code name; do
        ends_by "kill -$signal \$\$"
        serried
        failed_with "$code" "$name"
        is "$(failure .signal)" "$signal"
        is "$(failure .exit)" null
    done <<'END'
4 132 SIGILL
6 134 SIGABRT
7 135 SIGBUS
9 137 SIGKILL
11 139 SIGSEGV
15 143 SIGTERM
END
}

@test "a bus error points at shared memory, an illegal instruction at the instruction set" {
    ends_by 'kill -7 $$'
    serried
    has "$BASE/output/failure" '[Ss]hared memory|/dev/shm'
    ends_by 'kill -4 $$'
    serried
    has "$BASE/output/failure" 'instruction'
}

@test "a kill by somebody else is not called out of memory" {
    counters 2 67108864
    ends_by 'kill -9 $$'
    serried --set cgroup.root="$T/cgroup"
    failed_with 137 'no memory event|no out-of-memory|memory'
    head -n 1 "$BASE/output/failure" >"$T/first-line"
    has_not "$T/first-line" '[Oo]ut of memory'
    has "$BASE/output/failure" '[Nn]o .*(event|kill).*count|count.*no .*(event|kill)|none .*count'
}

@test "a kill by the memory controller is, with the limit" {
    counters 2 67108864
    ends_by 'find "$STORY/cgroup" -name memory.events -o -name memory.oom_control |
        xargs sed -i "s/^oom_kill 2/oom_kill 3/"; kill -9 $$'
    serried --set cgroup.root="$T/cgroup"
    failed_with 137 'out of memory' '64(\.0)? MiB'
}

@test "where the counter cannot be read, that is said" {
    mkdir "$T/nothing"
    ends_by 'kill -9 $$'
    serried --set cgroup.root="$T/nothing"
    failed_with 137 'memory ran out is not known|memory.*(cannot|could not) .*read'
    head -n 1 "$BASE/output/failure" >"$T/first-line"
    has_not "$T/first-line" '[Oo]ut of memory'
}

@test "the memory controller of this machine" {
    local v2 group limit
    ((UID == 0)) || skip "needs root"
    v2=$(sed -n 's/^0:://p' /proc/self/cgroup)
    if mkdir "/sys/fs/cgroup/memory/serried-e2e-$$" 2>/dev/null; then
        group=/sys/fs/cgroup/memory/serried-e2e-$$ limit=memory.limit_in_bytes
    elif mkdir "/sys/fs/cgroup$v2/serried-e2e-$$" 2>/dev/null; then
        group=/sys/fs/cgroup$v2/serried-e2e-$$ limit=memory.max
    else
        skip "no control group can be made"
    fi
    echo "$group" >"$T/group"
    echo 67108864 >"$group/$limit" || skip "no memory controller"
    program hog
    torch_job 2 hog
    (
        echo "$BASHPID" >"$group/cgroup.procs"
        serried
        echo "$status" >"$T/status"
    )
    wait_for 5 rmdir "$group"
    status=$(cat "$T/status")
    failed_with 137 'out of memory' '64(\.0)? MiB'
}

@test "one of many ranks: its status is the job's, the others are told to end" {
    entry train.sh <<'END'
#!/bin/sh
[ "$RANK" = 2 ] || { echo x >"$STORY/go.$RANK"; exec sleep 600; }
for i in 0 1 3; do read -r _ <"$STORY/go.$i"; done
exit 42
END
    gates 4
    torch_job 4 train.sh
    serried
    failed_with 42 'rank 2 on algo-1'
    under "$took_ms" 5000 milliseconds
}

@test "ranks that take no notice of a failure are killed after stop.failure_grace_s" {
    entry train.sh <<'END'
#!/bin/sh
trap '' TERM
[ "$RANK" != 0 ] || exit 3
exec sleep 600
END
    torch_job 3 train.sh
    serried --set stop.failure_grace_s=0.5
    failed_with 3 'rank 0 on algo-1'
    under "$took_ms" 6000 milliseconds
}
