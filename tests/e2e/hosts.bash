# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154
#
# hosts - what stories of several hosts need besides lib: bases for each, and the emulator.
#
#   TREE     $T/tree, the bases: $TREE/HOST is that host's /opt/ml
#   names    the hosts of the job, in its order

load lib

# hosts NAME...: a base for each, in this order
hosts() {
    local name list
    TREE=$T/tree
    names=("$@")
    list=$(printf '%s\n' "$@" | jq -Rnc '[inputs]')
    for name; do
        mkdir -p "$TREE/$name"/{code,model,output/data,input/config,input/data}
        config_of "$name" inputdataconfig '{}'
        config_of "$name" resourceconfig "$(jq -nc --arg host "$name" --argjson hosts "$list" \
            '{current_host: $host, hosts: $hosts, network_interface_name: "eth0"}')"
    done
}

# some_hosts N: algo-1 ... algo-N, in the order of their numbers
some_hosts() {
    local list
    mapfile -t list < <(seq -f 'algo-%g' "$1")
    hosts "${list[@]}"
}

# config_of HOST NAME JSON
config_of() {
    printf '%s' "$3" >"$TREE/$1/input/config/$2.json"
}

# hosts_job ENTRY [JSON]: the same hyperparameters on all hosts
hosts_job() {
    local name
    for name in "${names[@]}"; do
        BASE=$TREE/$name job "$@"
    done
}

# hosts_torch_job N ENTRY [JSON]: N ranks on each
hosts_torch_job() {
    local name
    for name in "${names[@]}"; do
        BASE=$TREE/$name torch_job "$@"
    done
}

hosts_program() {
    local name
    for name in "${names[@]}"; do
        BASE=$TREE/$name program "$1"
    done
}

# hosts_entry NAME <<'END'
hosts_entry() {
    local name text
    text=$(cat)
    for name in "${names[@]}"; do
        BASE=$TREE/$name entry "$1" <<<"$text"
    done
}

# emulate [OPTION...]: all of them, in the background; skips where hosts cannot be made
emulate() {
    : >"$T/out"
    : >"$T/err"
    began_ms=$(now_ms)
    (cd "$T/cwd" && exec env -i --default-signal=INT,QUIT "${container[@]}" \
        "$SERRY" emulate --tree "$TREE" --state "$T/state" --env "EMULATED_BY=$T" "$@" \
        </dev/null >"$T/out" 2>"$T/err" 3>&- {idle}>&-) &
    daemon=$!
}

# emulated [OPTION...]: from start to end
emulated() {
    emulate "$@"
    finish 60
}

# as_user SOURCE [OPTION...]: two hosts of two ranks, made by an ordinary user who has no home; all
# that he sees and writes is in a folder of his own, in which nothing may be left
as_user() {
    local open left source=$1 user=()
    shift
    open=$(mktemp -d /tmp/serry-user.XXXXXX)
    mkdir -m 777 "$open/tmp"
    cp -r "$source" "$open/source"
    chmod -R go+rX "$open"
    ((UID != 0)) || user=(setpriv --reuid=65533 --regid=65533 --clear-groups)
    (cd / && "${user[@]}" "$SERRY" --version) >/dev/null 2>&1 || {
        rm -rf "$open"
        skip "an ordinary user cannot run $SERRY"
    }
    status=0
    (cd / && exec "${user[@]}" env -i PATH="$HOST_PATH" TMPDIR="$open/tmp" "$SERRY" emulate --hosts 2 --ranks 2 \
        --source "$open/source" --env "EMULATED_BY=$T" "$@" >"$T/out" 2>"$T/err" 3>&- {idle}>&-) || status=$?
    left=$(find "$open/tmp" -mindepth 1 -maxdepth 1 | wc -l)
    rm -rf "$open"
    is "$status" 0 status
    has "$T/err" 'isolation: user namespaces'
    is "$left" 0 "left behind"
}

# in_host HOST CMD...: runs a command there
in_host() {
    local host=$1
    shift
    (cd "$T/cwd" && exec timeout 20 env -i "${container[@]}" "$SERRY" emulate --state "$T/state" \
        --host "$host" exec "$@" 3>&- {idle}>&-)
}

# trouble SPEC: a fault, now
trouble() {
    (cd "$T/cwd" && exec timeout 20 env -i "${container[@]}" "$SERRY" emulate --state "$T/state" \
        fault "$1" 3>&- {idle}>&-)
}

# own_of HOST: our own files there
own_of() {
    echo "$TREE/$1/output/data/serried/$1"
}

# failure_of HOST FILTER
failure_of() {
    jq -r "$2" "$(own_of "$1")/failure.json"
}

# all_succeeded: on every host
all_succeeded() {
    local name
    is "$status" 0 status
    for name in "${names[@]}"; do
        [[ -e $TREE/$name/output/success && ! -e $TREE/$name/output/failure ]] || {
            echo "$name has not succeeded"
            return 1
        }
    done
}

# all_failed_with STATUS HOST... -- REGEX...: the same failure file on each of these hosts
all_failed_with() {
    local want=$1 first=$2 name
    shift
    is "$status" "$want" status
    while [[ $1 != -- ]]; do
        name=$1
        shift
        cmp "$TREE/$first/output/failure" "$TREE/$name/output/failure"
        [[ ! -e $TREE/$name/output/success ]]
    done
    shift
    has "$TREE/$first/output/failure" "$@"
}

# leftovers: all that the emulation has started
leftovers() {
    local path
    for path in $(grep -lzxF -e "EMULATED_BY=$T" -e "STORY=$T" /proc/[0-9]*/environ 2>/dev/null); do
        path=${path#/proc/}
        echo "${path%/environ}"
    done
}
