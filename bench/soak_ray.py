"""Both stages on a Ray cluster of several pretended hosts on this one: each is interrupted, begun again, and loses a host.

    python bench/soak_ray.py --cases 200                 # needs the extra `ray`; --shared: the hosts share the store

At the end every case must have one bundle and one row, the rows must be those of one host alone, each capture must have run
on the cores of its host, and no damaged file, lock, staging directory or process may be left. Exit code 0 when that holds.
"""

from __future__ import annotations

import argparse
import csv
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
ROWS = 20
"""Different values of M; the other dimension counts on."""
STORE_BYTES = 80 << 20
"""Of Ray's object store, for each host; Ray itself would take 30 % of the memory."""
COUNTS = ("case", "status", "check", "source")


class Hosts:
    """A cluster: one host without CPUs that commands start on, and others with two CPUs and two pretended cores each."""

    def __init__(self, home: Path, count: int) -> None:
        home.mkdir()
        # The address, the token and the logs of this cluster stay apart from those of any other.
        os.environ |= {"HOME": str(home), "RAY_USAGE_STATS_ENABLED": "0", "RAY_DEDUP_LOGS": "0", "PYTHONPATH": path()}
        from ray.cluster_utils import Cluster

        self._cluster: Any = Cluster(
            initialize_head=True,
            head_node_args={"num_cpus": 0, "object_store_memory": STORE_BYTES, "include_dashboard": False},
        )
        self._home = home
        self.names: list[str] = []
        self._made = 0
        self._nodes: list[Any] = []
        for _ in range(count):
            self.add()
        self.address: str = self._cluster.address

    def add(self) -> None:
        """Add one more host, with cores, core locks and a temporary directory of its own."""
        place = self._home / f"host{self._made}"
        place.mkdir()
        self._made += 1
        self.names.append(place.name)
        self._nodes.append(
            self._cluster.add_node(
                num_cpus=2,
                resources={"neuron_cores": 2},
                object_store_memory=STORE_BYTES,
                env_vars={"NEFF_BENCH_LOCK_DIR": str(place / "cores"), "TMPDIR": str(place)},
            )
        )

    def lose(self) -> None:
        """Kill the last host, at once and without a word."""
        self._cluster.remove_node(self._nodes.pop(), allow_graceful=False)
        self.names.remove(f"host{self._made - 1}")

    def close(self) -> None:
        """End all of it."""
        self._cluster.shutdown()


def path() -> str:
    """Return the folders where the commands and Ray's workers find this project and Ray."""
    return os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))


def start(work: Path, module: str, *words: str) -> subprocess.Popen[str]:
    """Start one of the two commands."""
    log = (work / f"{module.partition('_')[0]}.log").open("a")
    return subprocess.Popen(
        [sys.executable, "-m", f"neff_bench.{module}.cli", *words],
        cwd=work,
        env={**os.environ, "PYTHONPATH": path()},
        stdout=log,
        stderr=log,
        text=True,
    )


def finished(work: Path, module: str, process: subprocess.Popen[str]) -> list[str]:
    """Return what was wrong with the end of a command."""
    if process.wait() == 0:
        return []
    log = (work / f"{module.partition('_')[0]}.log").read_text().splitlines()
    return [f"{module} ended with exit code {process.returncode}: {' | '.join(log[-3:])}"]


def rows(work: Path, store: str) -> list[dict[str, str]]:
    """Return what --parse-only says of a store, without what differs from host to host and from run to run."""
    subprocess.run(
        [sys.executable, "-m", "neff_bench.stage2_profile.cli", store, "--parse-only", "--output", f"{store}.csv"],
        cwd=work,
        env={**os.environ, "PYTHONPATH": path()},
        check=False,
        stderr=subprocess.DEVNULL,
    )
    with (work / f"{store}.csv").open(newline="") as file:
        said = list(csv.DictReader(file))
    differing = ("compile_time_s", "capture_time_s", "view_time_s", "created", "run", "command")
    return [{name: value for name, value in row.items() if name not in differing} for row in said]


def wait_for(work: Path, pattern: str, count: int, process: subprocess.Popen[str]) -> None:
    """Until so many paths of the store match, or the command has ended."""
    while len(list((work / "store").glob(pattern))) < count and process.poll() is None:
        time.sleep(0.2)


def soak(work: Path, cases: int, count: int, shared: bool) -> list[str]:
    """Returns what was wrong at the end, one line each."""
    columns = -(-cases // ROWS)
    (work / "shapes.yaml").write_text(
        "defaults: {target: trn2, lnc: 2, dtype: bfloat16}\ncases:\n"
        f"  - {{kernel: matmul, implementation: nki, M: 32:{32 * ROWS}:32, K: 128, N: 64:{64 * columns}:64}}\n"
    )
    cases = ROWS * columns
    wrong: list[str] = []
    begin = time.monotonic()
    hosts = Hosts(work / "home", count)
    print(f"{count} hosts in {time.monotonic() - begin:.0f} s", flush=True)
    way = ["--ray", hosts.address, *(["--shared-store"] if shared else [])]
    try:
        for module, words, pattern in (
            (
                "stage1_generate",
                ["--shapes", "shapes.yaml", "--out", "store", "--toolchain", "sim"],
                "[a-z]*/case.json",
            ),
            ("stage2_profile", ["store"], "[a-z]*/profiles/1/run.json"),
        ):
            begin = time.monotonic()
            process = start(work, module, *words, *way)
            wait_for(work, pattern, cases // 6, process)
            process.send_signal(signal.SIGINT)
            if process.wait() != 128 + signal.SIGINT:
                wrong.append(f"{module} ended with exit code {process.returncode} after Ctrl-C")
            wrong += left_over(work, hosts.names)
            print(f"{module}: Ctrl-C after {time.monotonic() - begin:.0f} s", flush=True)
            begin = time.monotonic()
            process = start(work, module, *words, *way)
            wait_for(work, pattern, cases // 2, process)
            if process.poll() is None:
                hosts.lose()
                print(f"{module}: a host was lost after {time.monotonic() - begin:.0f} s", flush=True)
            else:
                wrong.append(f"{module} had ended before a host could be lost")
            wrong += finished(work, module, process)
            print(f"{module}: {time.monotonic() - begin:.0f} s", flush=True)
            hosts.add()
    finally:
        hosts.close()
    return [*wrong, *examine(work, cases, hosts.names)]


def examine(work: Path, cases: int, hosts: list[str]) -> list[str]:
    """Return the store that the cluster made, beside one that this host makes alone. `hosts`: those that were not lost."""
    from neff_bench.neffs.store import Store
    from neff_bench.stage2_profile.capture.runs import read_run, run_directories
    from neff_bench.stage2_profile.upkeep import fsck

    wrong = []
    for module, words in (
        ("stage1_generate", ["--shapes", "shapes.yaml", "--out", "alone", "--toolchain", "sim"]),
        ("stage2_profile", ["alone"]),
    ):
        wrong += finished(work, module, start(work, module, *words))
    there, alone = rows(work, "store"), rows(work, "alone")
    print(f"{len(there)} rows: {dict(Counter(row['status'] for row in there))}")
    if len(there) != cases or len({row["case"] for row in there}) != cases:
        wrong.append(f"{len(there)} rows of {len({row['case'] for row in there})} cases instead of {cases}")
    if there != alone:
        pairs = [(a, b) for a, b in zip(there, alone) if a != b]
        columns = {name for a, b in pairs for name in a if a[name] != b.get(name)}
        wrong.append(f"{len(pairs)} rows differ from those of one host alone, in {', '.join(sorted(columns)[:5])}")
    store = Store(work / "store")
    runs = [(name, read_run(run)) for name in store.names() for run in run_directories(store.path / name)]
    if len(runs) != cases:
        wrong.append(f"{len(runs)} runs of {cases} cases")
    print("cores:", dict(Counter(run.cores for _, run in runs)))
    wrong += [f"{name}: ran on cores {run.cores}" for name, run in runs if run.cores not in ((0, 1), (2, 3))]
    examined = fsck.examine(store.path)
    wrong += [f"fsck: {found.file}: {found.what}" for found in examined.findings]
    if examined.unverified or examined.runs != cases:
        wrong.append(f"fsck: {examined.runs} runs, {examined.unverified} bundles and runs without checksums")
    wrong += left_over(work, hosts)
    return wrong


def left_over(work: Path, hosts: list[str]) -> list[str]:
    """Return what a command that has ended, or a host that was lost, left in the store, or a command on a host that is there."""
    patterns = ["store/.store/staging/*", "store/.store/locks/*", "store/*/profiles/.*"]
    patterns += [f"home/{name}/neff-bench-ray-*/.store/staging/*" for name in hosts]
    return [f"left over: {path}" for pattern in patterns for path in work.glob(pattern)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--hosts", type=int, default=4)
    parser.add_argument("--shared", action="store_true", help="the hosts write to the store themselves")
    parser.add_argument("--keep", type=Path, help="work there, and leave everything")
    options = parser.parse_args()
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="soak-ray-") as directory:
        work = options.keep or Path(directory)
        work.mkdir(exist_ok=True)
        wrong = soak(work, options.cases, options.hosts, options.shared)
    for line in wrong:
        print(f"wrong: {line}")
    print(
        f"{options.cases} cases, {options.hosts} hosts, {time.monotonic() - begin:.0f} s: {'wrong' if wrong else 'good'}"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
