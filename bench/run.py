#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures serried beside bare programs in the same run, and prints ratios.

usage: bench/run.py BUILD [launch|end|failure|idle|logs|hosts|barrier ...]

BUILD is a build folder after `make bench-programs`. Each figure is the median of several
alternating rounds; the load of the machine shows in all of them alike.
"""
import array
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROUNDS = 5
build = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build")
SERRIED = os.path.join(build, "serried")
PROGRAMS = os.path.join(build, "bench")


def make_base(folder, ranks, program="mark", extra=None):
    """An /opt/ml tree whose job is `ranks` copies of a bench program."""
    base = os.path.join(folder, "ml")
    for name in ("input/config", "code", "model"):
        os.makedirs(os.path.join(base, name), exist_ok=True)
    target = os.path.join(base, "code", program)
    if not os.path.exists(target):
        os.link(os.path.join(PROGRAMS, program), target) if same_device(folder) else copy(program, target)
    hyper = {
        "sagemaker_program": program,
        "sagemaker_torch_distributed_enabled": "true",
        "sagemaker_mpi_num_of_processes_per_host": str(ranks),
    }
    hyper.update(extra or {})
    config = os.path.join(base, "input/config")
    for name, content in (
        ("hyperparameters", hyper),
        ("resourceconfig", {"current_host": "algo-1", "hosts": ["algo-1"]}),
        ("inputdataconfig", {}),
    ):
        with open(os.path.join(config, name + ".json"), "w") as file:
            json.dump(content, file)
    return base


def same_device(folder):
    return os.stat(folder).st_dev == os.stat(PROGRAMS).st_dev


def copy(program, target):
    with open(os.path.join(PROGRAMS, program), "rb") as source, open(target, "wb") as sink:
        sink.write(source.read())
    os.chmod(target, 0o755)


def stamps(path):
    values = array.array("q")
    with open(path, "rb") as file:
        values.frombytes(file.read())
    return values


def run(argv, folder, **variables):
    """Runs to the end; (start, end) in ns and the stamps of the ranks."""
    path = os.path.join(folder, "stamps")
    if os.path.exists(path):
        os.unlink(path)
    env = dict(os.environ, BENCH_STAMPS=path, **variables)
    start = time.monotonic_ns()
    done = subprocess.run(argv, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return start, time.monotonic_ns(), stamps(path), done.returncode


def median(values):
    return statistics.median(values)


def launch():
    """exec of the launcher to the first instruction of the last rank."""
    for ranks in (1, 8, 64, 256):
        ours, bare = [], []
        with tempfile.TemporaryDirectory() as folder:
            base = make_base(folder, ranks)
            for _ in range(ROUNDS):
                start, _, seen, _ = run([os.path.join(PROGRAMS, "spawn"), str(ranks),
                                         os.path.join(PROGRAMS, "mark")], folder)
                bare.append((max(seen) - start) / 1e6)
                start, _, seen, status = run([SERRIED, "--base", base], folder)
                assert status == 0 and len(seen) == ranks, (status, len(seen))
                ours.append((max(seen) - start) / 1e6)
        a, b = median(ours), median(bare)
        print(f"launch    {ranks:4d} ranks: serried {a:7.1f} ms, posix_spawn loop {b:7.1f} ms, "
              f"ratio {a / b:4.1f}, limit 2 x + 10 ms: {a / (2 * b + 10):4.2f} of it")


def end():
    """The last rank's end to the launcher's."""
    for ranks in (1, 8, 64):
        ours = []
        with tempfile.TemporaryDirectory() as folder:
            base = make_base(folder, ranks)
            for _ in range(ROUNDS):
                _, finish, seen, _ = run([SERRIED, "--base", base], folder, BENCH_DO="work")
                ours.append((finish - max(seen)) / 1e6)
        print(f"end       {ranks:4d} ranks: {median(ours):5.1f} ms after the last rank, "
              f"limit 20 ms: {median(ours) / 20:4.2f} of it")


def failure():
    """The first rank's end with 1 to the launcher's, with all others dead."""
    for ranks in (4, 64):
        ours = []
        with tempfile.TemporaryDirectory() as folder:
            base = make_base(folder, ranks)
            path, go = os.path.join(folder, "stamps"), os.path.join(folder, "go")
            os.mkfifo(go)
            for _ in range(ROUNDS):
                if os.path.exists(path):
                    os.unlink(path)
                env = dict(os.environ, BENCH_STAMPS=path, BENCH_DO="fail", BENCH_GO=go)
                job = subprocess.Popen([SERRIED, "--base", base], env=env,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                with open(go, "w") as fifo:
                    deadline = time.monotonic() + 20
                    while not os.path.exists(path) or len(stamps(path)) < ranks:
                        assert time.monotonic() < deadline
                        time.sleep(0.01)
                    time.sleep(0.3)
                    fifo.write("x")
                status = job.wait()
                finish = time.monotonic_ns()
                assert status == 1, status
                ours.append((finish - max(stamps(path))) / 1e6)
        print(f"failure   {ranks:4d} ranks: all gone {median(ours):5.1f} ms after the first exit, "
              f"limit 50 ms: {median(ours) / 50:4.2f} of it")


def status_of(pid, *names):
    found = {}
    with open(f"/proc/{pid}/status") as file:
        for line in file:
            name, _, value = line.partition(":")
            found[name] = value.split()[0] if value.split() else ""
    return [int(found[name]) for name in names]


def idle():
    """Memory and wake-ups of the launcher while nothing happens."""
    with tempfile.TemporaryDirectory() as folder:
        base = make_base(folder, 4)
        path = os.path.join(folder, "stamps")
        env = dict(os.environ, BENCH_STAMPS=path, BENCH_DO="wait")
        job = subprocess.Popen([SERRIED, "--base", base], env=env,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            time.sleep(1)
            rss, before = status_of(job.pid, "VmRSS", "voluntary_ctxt_switches")
            time.sleep(5)
            (after,) = status_of(job.pid, "voluntary_ctxt_switches")
        finally:
            job.send_signal(signal.SIGTERM)
            job.wait()
        print(f"idle         4 ranks: {rss / 1024:.1f} MiB resident, limit 6: {rss / 1024 / 6:4.2f} of it; "
              f"{(after - before) / 5:.1f} wake-ups a second, limit 2")


def hosts_tree(folder, hosts, extra=None):
    """Bases for algo-1 ... below FOLDER/tree, of a torch job with one rank on each host."""
    names = [f"algo-{i}" for i in range(1, hosts + 1)]
    for name in names:
        base = os.path.join(folder, "tree", name)
        for part in ("input/config", "code", "model", "output/data"):
            os.makedirs(os.path.join(base, part), exist_ok=True)
        copy("mark", os.path.join(base, "code/mark"))
        hyper = {"sagemaker_program": "mark", "sagemaker_torch_distributed_enabled": "true",
                 "sagemaker_mpi_num_of_processes_per_host": "1", **(extra or {})}
        for file, content in (("hyperparameters", hyper), ("inputdataconfig", {}),
                              ("resourceconfig", {"current_host": name, "hosts": names,
                                                  "network_interface_name": "eth0"})):
            with open(os.path.join(base, "input/config", file + ".json"), "w") as out:
                json.dump(content, out)
    return names


def emulate(folder, *options):
    """serry emulate of the tree; a stamp of each rank's begin and end is in its base."""
    env = [word for name, value in (("BENCH_STAMPS", "/opt/ml/output/data/stamps"), *options)
           for word in ("--env", f"{name}={value}")]
    return subprocess.Popen([os.path.join(build, "serry"), "emulate", "--tree", os.path.join(folder, "tree"),
                             "--state", os.path.join(folder, "state"), *env],
                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def last_words(job):
    """When the last daemon said how the job ended; waits for the emulator."""
    said = 0
    for line in job.stderr:
        if b"serried: job ended well" in line:
            said = time.monotonic_ns()
    return said, job.wait()


def host_stamps(folder, name):
    path = os.path.join(folder, "tree", name, "output/data/stamps")
    return stamps(path) if os.path.exists(path) else []


def hosts():
    """The first failure on host A to the last rank dead on the others; the last word of the last
    daemon after the last rank; all of it up, run and down, with the emulator."""
    for count in (2, 16, 64):
        ends, failures, whole = [], [], []
        for _ in range(3):
            with tempfile.TemporaryDirectory() as folder:
                names = hosts_tree(folder, count)
                start = time.monotonic_ns()
                job = emulate(folder, ("BENCH_DO", "work"))
                said, status = last_words(job)
                assert status == 0, status
                done = time.monotonic_ns()
                last = max(max(host_stamps(folder, name)) for name in names)
                whole.append((done - start) / 1e9)
                ends.append((said - last) / 1e6)
            with tempfile.TemporaryDirectory() as folder:
                names = hosts_tree(folder, count)
                go = os.path.join(folder, "tree", names[0], "go")
                os.mkfifo(go)
                job = emulate(folder, ("BENCH_DO", "fall"), ("BENCH_GO", "/opt/ml/go"))
                deadline = time.monotonic() + 60
                while sum(len(host_stamps(folder, name)) for name in names) < count:
                    assert time.monotonic() < deadline
                    time.sleep(0.01)
                time.sleep(0.3)
                with open(go, "w") as fifo:
                    fifo.write("x")
                _, status = last_words(job)
                assert status == 1, status
                first = max(host_stamps(folder, names[0]))
                last = max(max(host_stamps(folder, name)) for name in names[1:])
                failures.append((last - first) / 1e6)
        limit = 100 if count < 64 else 500
        print(f"hosts     {count:4d} hosts: ranks elsewhere end {median(failures):6.1f} ms after the first failure, "
              f"limit {limit} ms: {median(failures) / limit:4.2f} of it; all have ended {median(ends):6.1f} ms "
              f"after the last rank, limit 100 ms: {median(ends) / 100:4.2f} of it; up, run (0.5 s) and down {median(whole):5.2f} s")


def barrier():
    """A leader that meets 999 hosts, which one process plays on the loopback interface."""
    count = 1000
    times, peaks = [], []
    for _ in range(3):
        with tempfile.TemporaryDirectory() as folder:
            names = [f"h{i}" for i in range(count)]
            base = make_base(folder, 1)
            with open(os.path.join(base, "input/config/resourceconfig.json"), "w") as file:
                json.dump({"current_host": "h0", "hosts": names, "network_interface_name": "lo"}, file)
            env = dict(os.environ, TRAINING_JOB_NAME="barrier", BENCH_DO="work",
                       BENCH_STAMPS=os.path.join(folder, "stamps"))
            start = time.monotonic_ns()
            job = subprocess.Popen([SERRIED, "--base", base], env=env, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
            others = subprocess.Popen([os.path.join(PROGRAMS, "barrier"), base, "127.0.0.1"], env=env,
                                      stdout=subprocess.PIPE)
            line = others.stdout.readline().split()
            assert line, others.wait()
            (peak,) = status_of(job.pid, "VmHWM")
            assert job.wait() == 0 and others.wait() == 0 and int(line[1]) == count - 1
            times.append((int(line[0]) - start) / 1e9)
            peaks.append(peak / 1024)
    print(f"barrier   {count:4d} hosts: all started {median(times):5.2f} s after the leader's exec, limit 2 s: "
          f"{median(times) / 2:4.2f} of it; leader {median(peaks):5.1f} MiB, limit 64: {median(peaks) / 64:4.2f} of it")


def timed_with_peak(argv, sink):
    """Seconds, largest resident set in MiB (the kernel's own high-water mark), exit status."""
    with open(sink, "wb") as file:
        start = time.monotonic()
        job = subprocess.Popen(argv, stdout=file, stderr=subprocess.DEVNULL)
        peak = 0
        while job.poll() is None:
            try:
                peak = max(peak, *status_of(job.pid, "VmHWM"))
            except (KeyError, OSError):
                pass  # it has just ended
            time.sleep(0.02)
        return time.monotonic() - start, peak / 1024, job.returncode


def logs():
    """8 ranks, a million lines of 80 bytes each, line by line, to a file."""
    lines = 1000000
    ours, bare, peaks = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        base = make_base(folder, 8, "flood", {"lines": str(lines)})
        sink = os.path.join(folder, "sink")
        for _ in range(3):
            seconds, _, _ = timed_with_peak([os.path.join(PROGRAMS, "copier"), "8",
                                             os.path.join(PROGRAMS, "flood"), str(lines)], sink)
            bare.append(seconds)
            os.unlink(sink)
            seconds, peak, status = timed_with_peak([SERRIED, "--base", base], sink)
            assert status == 0, status
            ours.append(seconds)
            peaks.append(peak)
            counts = {}
            with open(sink, "rb") as file:
                for line in file:
                    counts[len(line)] = counts.get(len(line), 0) + 1
            assert list(counts.values()) == [8 * lines], f"lines lost or torn: {counts}"
            os.unlink(sink)  # the next round writes to memory as warm as this one did
            shutil.rmtree(os.path.join(base, "output"))
    print(f"logs         8 ranks: {8 * lines / median(ours) / 1e6:.2f} M lines/s, bare copy "
          f"{8 * lines / median(bare) / 1e6:.2f} M lines/s, ratio {median(bare) / median(ours):.2f}, "
          f"goal 0.70; peak {max(peaks):.1f} MiB resident, limit 16")


FIGURES = {"launch": launch, "end": end, "failure": failure, "idle": idle, "logs": logs, "hosts": hosts,
           "barrier": barrier}
for wanted in sys.argv[2:] or FIGURES:
    FIGURES[wanted]()
