#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# serry emulate: hosts on one machine, out of a source folder.
load hosts

prepare() {
    mkdir -p "$T/source"
    names=(algo-1 algo-2)
    TREE=$T/none
}

# source_file NAME <<'END'
source_file() {
    cat >"$T/source/$1"
    chmod 755 "$T/source/$1"
}

# hosts_of [OPTION...]: an emulation of the source folder, from start to end
hosts_of() {
    : >"$T/out"
    : >"$T/err"
    began_ms=$(now_ms)
    (cd "$T/cwd" && exec env -i --default-signal=INT,QUIT "${container[@]}" \
        "$SERRY" emulate --source "$T/source" --env "EMULATED_BY=$T" "$@" \
        </dev/null >"$T/out" 2>"$T/err" 3>&- {idle}>&-) &
    daemon=$!
    finish 60
}

@test "each host has its own name, network, files and processes" {
    source_file look.sh <<'END'
#!/bin/sh
echo "host $(hostname) $SM_CURRENT_HOST"
echo "address $(getent hosts "$(hostname)" | cut -d' ' -f1)"
echo "interfaces $(ls /sys/class/net | sort | tr '\n' ' ')"
echo "first $(tr '\0' ' ' </proc/1/cmdline | sed 's|.*/||' | cut -d' ' -f1)"
echo "private $(ls /tmp /dev/shm | wc -l)"
echo x >"/tmp/$SM_CURRENT_HOST"
touch /usr/bin/written 2>/dev/null; touch "$CALLER" 2>/dev/null && echo "outside is writable"
echo "code $(ls /opt/ml/code)"
END
    : >"$T/outside"
    chmod 666 "$T/outside"
    before=$(stat -c %Y "$T/outside")
    hosts_of --hosts 2 --ranks 1 --entry look.sh --env "CALLER=$T/outside"
    is "$status" 0 status
    for i in 1 2; do
        has "$T/out" "\] host algo-$i algo-$i$" "\[algo-$i:.*\] first serried$" "\[algo-$i:.*\] interfaces eth0 lo $" \
            "\[algo-$i:.*\] address 10\.66\.0\.$i$"
    done
    has_not "$T/out" 'outside is writable'
    [[ ! -e /usr/bin/written && ! -e /tmp/algo-1 ]]
    is "$(stat -c %Y "$T/outside")" "$before"
}

@test "what the SDK's dictionary asks for is what runs" {
    source_file say.sh <<'END'
#!/bin/sh
echo "rank $RANK of $WORLD_SIZE: $SM_HPS"
END
    hosts_of --hosts 2 --ranks 2 --entry say.sh --distribution '{"torch_distributed": {"enabled": true}}' \
        --hp epochs=3 --hp name=adam --hp 'list=[1, 2]'
    is "$status" 0 status
    for rank in 0 1 2 3; do
        has "$T/out" "rank $rank of 4: \{\"epochs\":3,\"list\":\[1,2\],\"name\":\"adam\"\}"
    done
}

@test "a dictionary that is none" {
    source_file say.sh <<<'#!/bin/sh'
    hosts_of --hosts 2 --entry say.sh --distribution "{'torch_distributed': {'enabled': True}}"
    is "$status" 65 status
    has "$T/err" 'distribution.*JSON'
    hosts_of --hosts 2 --entry say.sh --distribution '{"torch_distribute": {"enabled": true}}'
    is "$status" 65 status
    has "$T/err" 'torch_distribute.*torch_distributed'
    hosts_of --hosts 0 --entry say.sh
    is "$status" 64 status
    hosts_of --hosts 2 --entry say.sh --fault nonsense:algo-1
    is "$status" 64 status
}

@test "an ordinary user can do the same" {
    cat >"$T/source/look.sh" <<'END'
#!/bin/sh
echo "host $(hostname) rank $RANK of $WORLD_SIZE"
END
    chmod 755 "$T/source/look.sh"
    as_user "$T/source" --entry look.sh
    has "$T/out" 'host algo-1 rank 0 of 4' 'host algo-2 rank 3 of 4'
}

@test "without isolation it runs too, and says so" {
    ! is_sanitized || skip "a sanitizer wants to be the first preload"
    some_hosts 2
    hosts_program reduce
    hosts_torch_job 2 reduce
    emulated --no-isolation
    all_succeeded
    has "$T/err" 'no isolation'
    has "$T/out" 'host algo-2 rank 3 of 4: sum 100'
}

@test "kept bases are there to be read" {
    source_file say.sh <<<'#!/bin/sh'
    mkdir "$T/keep"
    hosts_of --hosts 2 --ranks 1 --entry say.sh --keep --state "$T/keep/state"
    is "$status" 0 status
    files_there "$T/keep/state/algo-1/output/success" "$T/keep/state/algo-2/input/config/resourceconfig.json"
    has "$T/err" 'kept: '
}

@test "Ctrl-C stops the job properly" {
    source_file wait.sh <<'END'
#!/bin/sh
trap 'echo saved; exit 0' TERM
echo up
while :; do sleep 0.1; done
END
    : >"$T/out"
    (cd "$T/cwd" && exec env -i --default-signal=INT,QUIT "${container[@]}" "$SERRY" emulate --hosts 2 --ranks 1 \
        --source "$T/source" --entry wait.sh --env "EMULATED_BY=$T" </dev/null >"$T/out" 2>"$T/err" 3>&- {idle}>&-) &
    daemon=$!
    began_ms=$(now_ms)
    wait_for 20 eval '[[ $(count "$T/out" up) == 2 ]]'
    kill -INT "$daemon"
    finish 20
    is "$status" 143 status
    is "$(count "$T/out" saved)" 2
}

@test "a command runs in a host" {
    some_hosts 2
    hosts_program reduce
    hosts_torch_job 1 reduce '{"steps": "1000000", "ms": "20"}'
    emulate
    wait_for 20 eval '[[ $(count "$T/out" joined) == 2 ]]'
    is "$(in_host algo-2 hostname)" algo-2
    in_host algo-2 sh -c 'exit 7' || code=$?
    is "$code" 7
    in_host algo-3 true 2>"$T/in" || code=$?
    has "$T/in" 'algo-3'
    trouble stop:algo-1
    finish 20
    is "$status" 143 status
}

@test "sixteen hosts" {
    some_hosts 16
    hosts_program reduce
    hosts_torch_job 1 reduce
    emulated
    all_succeeded
    is "$(count "$T/out" 'of 16: sum 1360$')" 16
}

@test "sixty-four hosts are up, run and are down within half a minute" {
    ! is_sanitized || skip "the bound is for the program that users have"
    some_hosts 64
    hosts_program reduce
    hosts_torch_job 1 reduce
    emulated
    all_succeeded
    is "$(count "$T/out" 'of 64: sum 20800$')" 64
    under "$took_ms" 30000 milliseconds
}
