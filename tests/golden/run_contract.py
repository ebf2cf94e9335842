#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds `serry plan --json` against the golden cases of the contract.

usage: run_contract.py [FOLDER OF CASES ...]

Each host of each case is planned twice: with its own copy of resourceconfig.json, and from the first
host's copy with --as. One line is printed for each; $SERRY (./serry) is the program under test. A
case's base folder lies below a temporary folder T, so that its paths come back as T/opt/ml/...; they
are compared after T is taken out.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
LIMIT_S = 30

# What is not compared, and why. Numbers are of the contract's list of known weaknesses.
NOT_SET = {
    "NCCL_PROTO": "W26: set blindly on every machine",
    "FI_PROVIDER": "W26: by the name of the machine, not by its devices",
    "FI_EFA_USE_DEVICE_RDMA": "W26: by the name of the machine, not by its devices",
    "RDMAV_FORK_SAFE": "W26: by the name of the machine, not by its devices",
}
RUNNERS = {
    "process.ProcessRunner": "plain",
    "torch_distributed.TorchDistributedRunner": "torch",
    "mpi.MasterRunner": "mpi",
    "mpi.WorkerRunner": "mpi",
    "smdataparallel.SMDataParallelRunner": "smddp",
    "pytorch_xla.PyTorchXLARunner": "xla",
}
# The toolkit runs these with its plain runner; here they are launchers of their own.
OWN_LAUNCHER = {
    "40-tf-parameter-server": "tf-parameter-server",
    "41-tf-multi-worker-mirrored": "tf-mirrored",
}
# The toolkit's workers are all alike: the master's runner tells which launcher it is.
BUILT = {"plain", "torch"}
# Refused in one sentence: what the file says of the command or the outcome does not apply.
REFUSED = {
    "35-torchrun-package-refused": "the real torchrun is not given packages",
    "49-fail-no-program": "W22: no program named",
    "50-fail-key-with-equals": "W21: no variable can have this name",
}
# A tree without this file runs (field case 36 d), though the toolkit's run failed.
RUNS = {"52-fail-missing-config"}


class Mismatch(Exception):
    pass


def load(path):
    return json.loads(path.read_text(encoding="utf-8"))


def same(what, expected, found):
    if expected == found:
        return
    if isinstance(expected, dict) and isinstance(found, dict):
        for name in list(expected) + list(found):
            same(f"{what} {name}", expected.get(name), found.get(name))
        same(f"order of {what}", list(expected), list(found))
    raise Mismatch(f"{what}: expected {json.dumps(expected)}, found {json.dumps(found)}")


class Case:
    def __init__(self, folder):
        self.folder = folder
        self.name = folder.name
        self.environ = load(folder / "environ.json")
        self.hosts = load(folder / "expected_command.json")["hosts"]
        self.variables = self.load_if_there("expected_env.json")
        self.args = self.load_if_there("expected_args.json")
        product = self.load_if_there("product_env.json")
        # S-37: the image named a folder, and the program runs there
        self.code_folder = product["SM_MODULE_DIR"] if product else None
        if product:
            self.variables.update(product)
        self.fetched = bool(self.environ["code"].get("s3"))

    def load_if_there(self, name):
        path = self.folder / name
        return load(path) if path.exists() else None

    def in_place(self, text):
        return text.replace("/opt/ml/code", self.code_folder) if self.code_folder else text

    def launcher(self, host):
        runner = self.hosts[host]["runner"]
        if self.name in OWN_LAUNCHER:
            return OWN_LAUNCHER[self.name]
        if runner == "mpi.WorkerRunner":
            runner = next(h["runner"] for h in self.hosts.values() if h["role"] == "master")
        return RUNNERS.get(runner)

    def build(self, top, host, own_copy):
        """The tree below `top` as `host` finds it, or for --as as the first host does."""
        code = self.environ["code"]
        base = top + self.environ.get("base_dir", "/opt/ml")
        sources = code.get("source_dirs", {})
        config = pathlib.Path(base, "input/config")
        config.mkdir(parents=True)
        for source in (self.folder / "input").iterdir():
            text = source.read_text(encoding="utf-8")
            for name in sources:
                text = text.replace(name, top + name)
            (config / source.name).write_text(text, encoding="utf-8")
        differs = self.hosts[host].get("resourceconfig")
        if own_copy and differs:
            path = config / "resourceconfig.json"
            path.write_text(json.dumps({**load(path), **differs}), encoding="utf-8")
        for folder, names in {base + "/code": code["code_dir"],
                              **{top + name: files for name, files in sources.items()}}.items():
            os.makedirs(folder)
            for name in names:
                path = pathlib.Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.touch()
        return base

    def plan(self, top, host, own_copy):
        base = self.build(top, host, own_copy)
        facts = {**self.environ["facts"], **self.environ.get("facts_by_host", {}).get(host, {})}
        pathlib.Path(top, "facts.json").write_text(json.dumps(facts), encoding="utf-8")
        environ = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/opt/home"}
        for name, value in self.environ["environ"].items():
            for source in self.environ["code"].get("source_dirs", {}):
                value = value.replace(source, top + source)
            environ[name] = base if name == "SAGEMAKER_BASE_DIR" else value
        # what the sanitizers of a test build are told must reach it
        environ.update((n, v) for n, v in os.environ.items() if n.endswith("SAN_OPTIONS"))
        argv = [os.path.abspath(os.environ.get("SERRY", "./serry")), "plan", "--json", "--secrets",
                "--base", base, "--facts", top + "/facts.json", "--set", "torch.launcher=exec"]
        if not own_copy:
            argv += ["--as", host]
        run = subprocess.run(argv, env=environ, stdin=subprocess.DEVNULL, capture_output=True,
                             timeout=LIMIT_S, check=False)
        try:
            return run.returncode, json.loads(run.stdout.decode("utf-8").replace(top, ""))
        except ValueError:
            raise Mismatch(f"no JSON: status {run.returncode}, "
                           f"{(run.stdout + run.stderr).decode('utf-8', 'replace')[-800:]}") from None

    def check_variables(self, host, plan):
        others = self.hosts[host]["environ_set"]
        expected = {**self.variables, **self.hosts[host].get("sm_env_differs", {})}
        same("environment", expected, {name: value for name, value in plan["environment"].items()
                                       if name.startswith("SM_") and name not in others})
        if self.launcher(host) not in BUILT:
            return
        for name, value in others.items():
            if name not in NOT_SET:
                same(f"environment {name}", self.in_place(value), plan["environment"].get(name))

    def check_command(self, host, plan):
        expected = self.hosts[host]
        found = plan["launch"]
        if self.launcher(host) == "plain":
            same("launch", None, found)
            same("ranks on this host", 1, len(plan["ranks"]))
            found = plan["ranks"][0]
        command = expected["command"]
        if command[:2] == ["/bin/sh", "-c"]:  # run directly, without a shell (section 0)
            command = [command[2].split(" ")[0].lstrip('"')] + self.args
        same("argv", command, found["argv"])
        same("cwd", self.in_place(expected["cwd"]), found["cwd"])

    def check(self, host, own_copy):
        with tempfile.TemporaryDirectory(prefix="contract-") as top:
            status, plan = self.plan(os.path.realpath(top), host, own_copy)
        same("host", host, plan["host"])
        if self.variables is not None:  # the toolkit got as far as making them
            self.check_variables(host, plan)
            same("user_args", self.args, plan["user_args"])
        launcher = self.launcher(host)
        if launcher:
            same("launcher", launcher, plan["launcher"])
        if not self.fetched:  # what there is to install is known after the fetch only
            same("steps", self.hosts[host].get("installs", []) if self.name not in RUNS else [],
                 [{"command": step["argv"], "cwd": step["cwd"]} for step in plan["steps"]])
        if launcher in BUILT and self.hosts[host]["command"]:
            self.check_command(host, plan)
        runs = self.name in RUNS or (launcher in BUILT and self.name not in REFUSED)
        same("exit status 0", runs, status == 0)
        same("no error", runs, "error" not in plan)


def main():
    folders = [pathlib.Path(name) for name in sys.argv[1:]]
    if not folders:
        folders = [HERE / "contract", HERE.parents[2] / "shared" / "contract" / "cases"]
    passed = failed = 0
    for folder in folders:
        for path in sorted(folder.glob("*/environ.json")):
            case = Case(path.parent)
            for host in case.hosts:
                for own_copy in (True, False):
                    label = f"{case.name} {host}{'' if own_copy else ' by --as'}"
                    try:
                        case.check(host, own_copy)
                        passed += 1
                        print(f"ok {label}")
                    except (Mismatch, OSError, subprocess.SubprocessError) as fault:
                        failed += 1
                        print(f"not ok {label}: {str(fault)[:1500]}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
