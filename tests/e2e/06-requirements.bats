#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Field case 06: requirements are installed once, before the ranks, by a stand-in for python and pip.
load lib

# installer STATUS: puts it first on PATH; it notes its arguments, folder and SM_ variables
installer() {
    mkdir "$T/bin"
    cat >"$T/bin/python3" <<END
#!/bin/sh
[ "\$2" = pip ] || exec $PYTHON "\$@"
echo "pip: \$* in \$(pwd)" >>"\$STORY/order"
env | grep -c '^SM_' >>"\$STORY/sm-variables"
[ -z "\$PIP_HANGS" ] || { : >"\$STORY/pip-runs"; exec sleep 600; }
i=1
while [ \$i -le 50 ]; do echo "pip says \$i" >&2; i=\$((i + 1)); done
exit $1
END
    chmod 755 "$T/bin/python3"
    ln -s python3 "$T/bin/python"
    container[0]=PATH=$T/bin:$HOST_PATH
    echo 'a-package==1.0' >"$BASE/code/requirements.txt"
    entry train.py <<'END'
import os
with open(os.environ["STORY"] + "/order", "a") as f:
    f.write("rank\n")
END
}

@test "once per host and before any rank" {
    installer 0
    torch_job 3 train.py
    serried
    succeeded
    is "$(cat "$T/order")" "pip: -m pip install -r requirements.txt in $BASE/code
rank
rank
rank"
    is "$(cat "$T/sm-variables")" 0 "SM_ variables that pip sees"
    cat "$T/out" "$T/err" >"$T/all"
    has "$T/all" 'pip says 50'
}

@test "a package is installed itself first" {
    installer 0
    echo 'from setuptools import setup; setup(name="x")' >"$BASE/code/setup.py"
    job train.py
    serried
    succeeded
    is "$(cat "$T/order")" "pip: -m pip install . -r requirements.txt in $BASE/code
rank"
}

@test "a command installs nothing" {
    installer 1
    program show
    job show
    serried
    succeeded
    [[ ! -e $T/order ]]
}

@test "a failed installation fails the job with the installer's last lines" {
    installer 1
    torch_job 2 train.py
    serried
    failed_with 1 'pip says 50'
    head -n 1 "$BASE/output/failure" >"$T/first-line"
    has "$T/first-line" '^user: .*install.*algo-1|^user: .*algo-1.*install'
    head -c 1024 "$BASE/output/failure" | grep -q 'pip says 50'
    is "$(grep -c rank "$T/order" || true)" 0 "ranks started"
}

@test "an installation over its limit is ended" {
    installer 0
    container+=(PIP_HANGS=1)
    job train.py
    serried --set step.install_limit_s=1 --set stop.failure_grace_s=1
    under "$took_ms" 8000 milliseconds
    ((status != 0))
    failed_with "$status" 'install' 'limit|1 s|second'
}

@test "a stop during the installation is a stop" {
    installer 0
    container+=(PIP_HANGS=1)
    job train.py
    start
    wait_for 10 files_there "$T/pip-runs"
    kill -TERM "$daemon"
    finish 10
    is "$status" 143 status
    [[ ! -e $BASE/output/failure && ! -e $BASE/output/success ]]
}
