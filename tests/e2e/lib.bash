# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034
#
# lib - what every end-to-end story needs: a base folder of its own, the daemon in a known
# environment, bounded waits, and a look afterwards that nothing is left.
#
# A story runs alone too: SERRIED=/path/serried SERRY=/path/serry bats tests/e2e/19-lines.bats
#
#   T        this test's folder; ranks know it as $STORY
#   BASE     stands for /opt/ml            OWN   our own files of host algo-1
#   daemon   pid of the daemon             status, took_ms   of the last run
#   $T/out, $T/err   its standard output and standard error

SERRIED=$(realpath -m "${SERRIED:-$BATS_TEST_DIRNAME/../../build/serried}")
SERRY=$(realpath -m "${SERRY:-$(dirname "$SERRIED")/serry}")
HOST_PATH=${E2E_PATH:-/usr/local/bin:/usr/bin:/bin}
PYTHON=${E2E_PYTHON:-/usr/bin/python3}
bats_require_minimum_version 1.5.0

setup() {
    T=$(realpath "$BATS_TEST_TMPDIR")
    BASE=$T/ml
    OWN=$BASE/output/data/serried/algo-1
    ulimit -c 0
    mkdir -p "$BASE"/{code,model,output/data,input/config,input/data} "$T"/{cwd,tmp,home}
    container=(PATH="$HOST_PATH" HOME="$T/home" TMPDIR="$T/tmp" LANG=C.UTF-8 STORY="$T" SERRIED_CONFIG=)
    for name in ASAN_OPTIONS LSAN_OPTIONS UBSAN_OPTIONS; do
        [[ -z ${!name:-} ]] || container+=("$name=${!name}")
    done
    word=(train)
    in=/dev/null out=$T/out err=$T/err
    daemon=
    mkfifo "$T/idle"
    exec {idle}<>"$T/idle"
    resources '{"current_host": "algo-1", "hosts": ["algo-1"], "network_interface_name": "lo"}'
    config inputdataconfig '{}'
    # a story's own beginning; clear_up is its own end
    ! declare -F prepare >/dev/null || prepare
}

teardown() {
    local left
    ! declare -F clear_up >/dev/null || clear_up
    left=$(leftovers)
    exec {idle}>&-
    # shellcheck disable=SC2086 # a list of pids
    [[ -z $left ]] || kill -KILL $left 2>/dev/null || true
    if [[ -z ${BATS_TEST_COMPLETED:-} ]]; then
        printf '%s\n' "--- status ${status:-?} after ${took_ms:-?} ms"
        tail -v -n 30 "$T/out" "$T/err" "$BASE/output/failure" 2>/dev/null | cut -c1-400 || true
        return
    fi
    if [[ -n $left ]]; then
        echo "processes left behind: $left"
        return 1
    fi
    if [[ -n $(find "$T/cwd" "$T/tmp" "$T/home" -mindepth 1 2>/dev/null) ]]; then
        echo "files left behind:"
        find "$T/cwd" "$T/tmp" "$T/home" -mindepth 1
        return 1
    fi
}

# --- the job -------------------------------------------------------------------------------

# config NAME JSON: one file below input/config
config() {
    printf '%s' "$2" >"$BASE/input/config/$1.json"
}

resources() {
    config resourceconfig "$1"
}

# job ENTRY [JSON]: one plain process, with these hyperparameters
job() {
    config hyperparameters "$(jq -c --arg entry "$1" '{sagemaker_program: $entry} + .' <<<"${2-{\}}")"
}

# torch_job N ENTRY [JSON]: N ranks on this host
torch_job() {
    local torch='{"sagemaker_torch_distributed_enabled": "true",
                  "sagemaker_mpi_num_of_processes_per_host": $n}'
    job "$2" "$(jq -c --arg n "$1" "$torch + ." <<<"${3-{\}}")"
}

# entry NAME <<'END': a program of the user's, from standard input
entry() {
    cat >"$BASE/code/$1"
    chmod 755 "$BASE/code/$1"
}

# program NAME: puts one of the small C programs into the code folder; built here if the build
# folder has none, or one older than its source
program() {
    local dir source=$BATS_TEST_DIRNAME/programs/$1.c
    for dir in "${E2E_PROGRAMS:-/nonexistent}" "$(dirname "$SERRIED")/tests/e2e/programs"; do
        if [[ -x $dir/$1 && ! $source -nt $dir/$1 ]]; then
            cp "$dir/$1" "$BASE/code/$1"
            return
        fi
    done
    if [[ ! -x $BATS_FILE_TMPDIR/$1 ]]; then
        "${CC:-cc}" -O1 -o "$BATS_FILE_TMPDIR/$1" "$source"
    fi
    cp "$BATS_FILE_TMPDIR/$1" "$BASE/code/$1"
}

# gates N: a rank waits with  read -r _ <"$STORY/go.$RANK"  until it is let go
gates() {
    local i
    for ((i = 0; i < $1; i++)); do mkfifo "$T/go.$i"; done
}

# let_go RANK...
let_go() {
    local i
    for i; do timeout 20 sh -c 'echo go >"$1"' - "$T/go.$i"; done
}

# --- running -------------------------------------------------------------------------------

# start [OPTION...]: the daemon in the background, alone with the environment of `container`
start() {
    : >"$T/out"
    : >"$T/err"
    began_ms=$(now_ms)
    (cd "$T/cwd" && exec env -i --default-signal=INT,QUIT "${container[@]}" \
        "$SERRIED" "${word[@]}" --base "$BASE" "$@" <"$in" >"$out" 2>"$err" 3>&- {idle}>&-) &
    daemon=$!
}

# finish [SECONDS]: waits for its end; sets status, took_ms (since the start)
finish() {
    status=0
    if ! wait_for "${1:-20}" is_gone "$daemon"; then
        echo "the daemon has not ended"
        kill -KILL "$daemon"
        return 1
    fi
    took_ms=$(($(now_ms) - began_ms))
    wait "$daemon" || status=$?
}

# serried [OPTION...]: from start to end
serried() {
    start "$@"
    finish 30
}

# serry VERB [OPTION...]: the tool, in the same environment, to $T/out and $T/err
serry() {
    local verb=$1
    shift
    status=0
    (cd "$T/cwd" && exec timeout 20 env -i "${container[@]}" "$SERRY" "$verb" --base "$BASE" "$@" \
        </dev/null >"$T/out" 2>"$T/err" 3>&-) || status=$?
}

# --- bounded waits -------------------------------------------------------------------------

now_ms() {
    local us=${EPOCHREALTIME//[!0-9]/}
    echo $((us / 1000))
}

# wait_for SECONDS COMMAND...: until the command succeeds
wait_for() {
    local end=$(($(now_ms) + $1 * 1000))
    shift
    until "$@"; do
        if (($(now_ms) > end)); then
            echo "waited in vain: $*"
            return 1
        fi
        read -rt 0.02 -u "$idle" _ || true
    done
}

# is_gone PID: it has ended, reaped or not
is_gone() {
    local stat
    ! { read -r stat <"/proc/$1/stat"; } 2>/dev/null || [[ ${stat##*) } == [ZX]* ]]
}

all_gone() {
    local pid
    for pid; do is_gone "$pid" || return 1; done
}

# line_in FILE REGEX
line_in() {
    grep -Eaq -e "$2" "$1" 2>/dev/null
}

files_there() {
    local path
    for path; do [[ -e $path ]] || return 1; done
}

# file_has FILE BYTES: at least so many
file_has() {
    [[ -e $1 ]] && (($(stat -c %s "$1") >= $2))
}

# is_sanitized: the daemon carries a sanitizer, which needs memory and time of its own
is_sanitized() {
    grep -aq __asan_init "$SERRIED"
}

# leftovers: pids of all that was started by this test's daemon, itself included
leftovers() {
    local path
    for path in $(grep -lzxFs "STORY=$T" /proc/[0-9]*/environ); do
        path=${path#/proc/}
        echo "${path%/environ}"
    done
}

none_left() {
    [[ -z $(leftovers) ]]
}

# --- saying what is wrong ------------------------------------------------------------------

# is FOUND EXPECTED [OF]
is() {
    [[ $1 == "$2" ]] || {
        printf '%sexpected "%s", found "%s"\n' "${3:+$3: }" "$2" "$1"
        return 1
    }
}

# has FILE REGEX...: a line matches, for each
has() {
    local file=$1 regex
    shift
    for regex; do
        line_in "$file" "$regex" || {
            printf 'no line of %s matches: %s\n' "$file" "$regex"
            return 1
        }
    done
}

# has_not FILE REGEX...
has_not() {
    local file=$1 regex
    shift
    for regex; do
        if grep -Ean -e "$regex" "$file"; then
            printf 'matches in %s: %s\n' "$file" "$regex"
            return 1
        fi
    done
}

# count FILE REGEX: how many lines match
count() {
    grep -Eac -e "$2" "$1" || true
}

# under FOUND LIMIT WHAT
under() {
    (($1 < $2)) || {
        printf '%s: %s is not under %s\n' "$3" "$1" "$2"
        return 1
    }
}

# failure FILTER: from failure.json
failure() {
    jq -r "$1" "$OWN/failure.json"
}

# A job that went wrong for one clear reason: status and words in the failure file
failed_with() {
    local want=$1
    shift
    is "$status" "$want" status
    [[ ! -e $BASE/output/success ]]
    has "$BASE/output/failure" "$@"
}

# What all bad configurations have in common: status, at once, one sentence, nothing started
refused() {
    is "$status" 65 status
    under "$took_ms" 1000 "milliseconds"
    [[ ! -e $T/started ]]
    head -n 1 "$BASE/output/failure" >"$T/first-line"
    has "$T/first-line" '^configuration: ' "$@"
    has "$T/err" "$@"
    has_not "$T/err" 'assert|Sanitizer|runtime error|core dumped'
}

succeeded() {
    is "$status" 0 status
    [[ -e $BASE/output/success && ! -s $BASE/output/success ]]
    [[ ! -e $BASE/output/failure ]]
}
