#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs golden cases of several hosts for real, on emulated hosts: what every rank finds in its
environment is what the contract says for its host, and the ranks are where they belong.

$SERRY (./serry) makes the hosts. Says TAP. Facts of the machine that no emulation can pretend are
not compared (FACTS); all else is.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SERRY = os.path.abspath(os.environ.get("SERRY", "./serry"))
LIMIT_S = 120
# Of an MPI job the environment is looked at, under another launcher.
CASES = {"33-torchrun-four-hosts-p5": None, "39-pytorch-two-hosts-plain": None,
         "43-hetero-mpi-second-group": "torch", "44-hetero-no-distribution-groups": None,
         "45-topology-gb200": "torch"}
INTERFACES = ("ethwe", "eth0")  # there is one interface on an emulated host
FACTS = {"SM_NUM_CPUS", "SM_NUM_NEURONS", "PYTHONPATH", "SM_DLC_TORCH_VERSION"}
FACTS_INSIDE = {"num_cpus", "num_neurons"}  # of SM_TRAINING_ENV
# W26: by name of the machine, not by its devices
NOT_SET = {"NCCL_PROTO", "FI_PROVIDER", "FI_EFA_USE_DEVICE_RDMA", "RDMAV_FORK_SAFE"}

PROGRAM = """import json, os, sys
with open(f"/opt/ml/output/data/{os.environ.get('RANK', 0)}.json", "w") as file:
    json.dump({"argv": sys.argv[1:], "env": dict(os.environ)}, file)
"""


def load(path):
    return json.loads(path.read_text(encoding="utf-8").replace(*INTERFACES))


def build(case, tree, hosts):
    for host, expected in hosts.items():
        base = tree / host
        config = base / "input/config"
        config.mkdir(parents=True)
        (base / "code").mkdir()
        (base / "code/train.py").write_text(PROGRAM, encoding="utf-8")
        for source in (case / "input").iterdir():
            text = source.read_text(encoding="utf-8").replace(*INTERFACES)
            (config / source.name).write_text(text, encoding="utf-8")
        path = config / "resourceconfig.json"
        path.write_text(json.dumps({**load(path), **expected.get("resourceconfig", {})}))


def emulate(tree, environ, hosts, launcher):
    facts = environ.get("facts_by_host", {})
    gpus = [str(facts.get(host, environ["facts"])["num_gpus"]) for host in order(tree, hosts)]
    argv = [SERRY, "emulate", "--tree", str(tree), "--gpus", ",".join(gpus),
            "--set", "python=/usr/bin/python3"]
    if launcher:
        argv += ["--set", "launcher=" + launcher]
    for name, value in environ["environ"].items():
        argv += ["--env", f"{name}={value}"]
    return subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=LIMIT_S, check=False)


def order(tree, hosts):
    first = next(iter(hosts))
    return load(tree / first / "input/config/resourceconfig.json")["hosts"]


def training_env(text):
    return {name: value for name, value in json.loads(text).items() if name not in FACTS_INSIDE}


def compare(host, variables, args, expected, found, launcher):
    want = {**variables, **expected.get("sm_env_differs", {})}
    if not launcher:
        want.update(expected["environ_set"])
    for name, value in want.items():
        have = found["env"].get(name)
        if name in FACTS or name in NOT_SET:
            continue
        if name == "SM_TRAINING_ENV":
            value, have = training_env(value), training_env(have or "{}")
        assert have == value, f"{host}: {name}: expected {value}, found {have}"
    assert found["argv"] == args, f"{host}: argv: expected {args}, found {found['argv']}"


def ranks_of(command):
    """What torchrun would have been told: (ranks on the host, its place, hosts)."""
    if not command or command[0] != "torchrun":
        return None
    options = dict(zip(command, command[1:]))
    return int(options["--nproc_per_node"]), int(options.get("--node_rank", 0)), int(options["--nnodes"])


def check(case, launcher):
    environ = load(case / "environ.json")
    hosts = load(case / "expected_command.json")["hosts"]
    with tempfile.TemporaryDirectory(prefix="hosts-") as top:
        tree = pathlib.Path(top, "tree")
        build(case, tree, hosts)
        done = emulate(tree, environ, hosts, launcher)
        assert done.returncode == 0, f"status {done.returncode}: {(done.stdout + done.stderr)[-2000:]}"
        for host, expected in hosts.items():
            seen = [load(path) for path in sorted((tree / host / "output/data").glob("*.json"))]
            place = ranks_of(expected["command"])
            assert seen and (launcher or len(seen) == (place[0] if place else 1)), f"{host}: {len(seen)} ranks"
            for found in seen:
                compare(host, load(case / "expected_env.json"), load(case / "expected_args.json"),
                        expected, found, launcher)
                if place:
                    assert found["env"]["LOCAL_WORLD_SIZE"] == str(place[0])
                    assert found["env"]["GROUP_RANK"] == str(place[1])
                    assert found["env"]["GROUP_WORLD_SIZE"] == str(place[2])


def main():
    print(f"1..{len(CASES)}")
    failed = 0
    for number, (name, launcher) in enumerate(CASES.items(), 1):
        try:
            check(HERE / "contract" / name, launcher)
            print(f"ok {number} - {name}: every host's own environment and ranks")
        except (AssertionError, OSError, ValueError, KeyError, subprocess.SubprocessError) as fault:
            failed += 1
            print(f"not ok {number} - {name}")
            print("\n".join("# " + line for line in str(fault).splitlines()[-30:]))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
