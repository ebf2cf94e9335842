#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Field case 08, on one host: the same rank variables under every launcher.
load lib

variable() { # RANK NAME
    tr '\0' '\n' <"$T/env.$1" | sed -n "s/^$2=//p"
}

@test "four ranks have torchrun's variables" {
    program show
    torch_job 4 show
    serried
    succeeded
    for rank in 0 1 2 3; do
        for pair in RANK=$rank LOCAL_RANK=$rank WORLD_SIZE=4 LOCAL_WORLD_SIZE=4 GROUP_RANK=0 \
            ROLE_RANK=$rank ROLE_WORLD_SIZE=4 GROUP_WORLD_SIZE=1 TORCHELASTIC_RESTART_COUNT=0 \
            TORCHELASTIC_MAX_RESTARTS=0; do
            is "$(variable $rank "${pair%%=*}")" "${pair#*=}" "rank $rank, ${pair%%=*}"
        done
        [[ -n $(variable $rank TORCHELASTIC_RUN_ID) ]]
        [[ $(variable $rank TORCHELASTIC_ERROR_FILE) == /* ]]
        [[ $(variable $rank MASTER_PORT) =~ ^[0-9]+$ ]]
        is "$(variable $rank MASTER_ADDR)" "$(variable 0 MASTER_ADDR)"
        is "$(variable $rank MASTER_PORT)" "$(variable 0 MASTER_PORT)"
    done
}

@test "a single plain process has them too" {
    program show
    job show
    serried
    succeeded
    for pair in RANK=0 LOCAL_RANK=0 WORLD_SIZE=1 LOCAL_WORLD_SIZE=1 GROUP_RANK=0; do
        is "$(variable 0 "${pair%%=*}")" "${pair#*=}" "${pair%%=*}"
    done
    [[ -n $(variable 0 MASTER_ADDR) && -n $(variable 0 MASTER_PORT) ]]
}

# Field case 18 a.
@test "where the port is taken another one is used" {
    local port
    mkfifo "$T/port"
    timeout 20 "$PYTHON" -c 'import socket, sys, time
s = socket.socket(); s.bind(("", 0)); s.listen()
with open(sys.argv[1], "w") as f: print(s.getsockname()[1], file=f)
open(sys.argv[1]).read()' "$T/port" 3>&- {idle}>&- &
    read -r port <"$T/port"
    program show
    torch_job 2 show
    serried --set torch.port="$port"
    echo >"$T/port"
    succeeded
    echo "taken: $port, used: $(variable 0 MASTER_PORT)"
    [[ $(variable 0 MASTER_PORT) != "$port" ]]
    is "$(variable 0 MASTER_PORT)" "$(variable 1 MASTER_PORT)"
    has "$T/err" "$port"
}
