"""Captures that survive a bad day: many captures, two processes at once, a third of them failing, kill -9 at random.

    python bench/soak_profile.py --captures 500 --kills 40

builds one small NEFF with generate-neffs, copies it until there are enough bundles, and profiles them over 8 simulated
cores with a neuron-sim that misbehaves. At the end every case has a result or a reason, no bundle is damaged, no lock is
held, no process is left, and a call without faults did only what was missing. Prints one JSON object; exit code 1 when
something of this is not so.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDERS = f"{ROOT / 'tests' / 'simulator' / 'faults'}{os.pathsep}{ROOT}"
"""The first makes neuron-sim misbehave as NEURON_SIM_FAULTS says."""
MARK = "NEFF_BENCH_SOAK"
PROFILE = (sys.executable, "-m", "neff_bench.stage2_profile.cli")
FAULTS = (
    "busy no_device dge_overflow oom device_error arch timeout error nan crash_before crash_after hang partial empty_ntff "
    "garbage flood slow_start"
).split()


def soak(
    store: Path, environ: Mapping[str, str], options: Sequence[str], kills: int, seed: int = 1
) -> dict[str, object]:
    """Profile `store` by two processes at once, killing one of them at random `kills` times; then let both finish.

    `environ`: holds the fault plan. Returns what was found, `problems` empty when all is well.
    """
    chance = random.Random(seed)
    mark = f"{os.getpid()}-{time.time_ns()}"
    locks = store.parent / "locks"
    env = {**environ, MARK: mark, "NEFF_BENCH_LOCK_DIR": str(locks), "PYTHONPATH": FOLDERS}
    argv = [*PROFILE, str(store), "--cores", "0-7", "--format", "json", *options]
    started = time.monotonic()
    processes = [_start(argv, env, store.parent / f"rows-{number}.json") for number in range(2)]
    killed = 0
    while killed < kills and any(process.poll() is None for process in processes):
        time.sleep(chance.uniform(0.2, 1.5))
        number = chance.randrange(2)
        if processes[number].poll() is None:
            processes[number].send_signal(signal.SIGKILL)
            killed += 1
        processes[number].wait()
        processes[number] = _start(argv, env, store.parent / f"rows-{number}.json")
    codes = [process.wait() for process in processes]
    problems = [f"profile-neffs ended with exit code {code}" for code in codes if code not in (0, 1)]
    rows = [json.loads((store.parent / f"rows-{number}.json").read_bytes()) for number in range(2)]
    problems += problems_of(store, locks, mark, rows)
    return {
        "bundles": len(rows[0]),
        "kills": killed,
        "seconds": round(time.monotonic() - started, 1),
        "status": dict(Counter(row["status"] for row in rows[0])),
        "reasons": dict(Counter(_short(row["reason"]) for row in rows[0] if row["status"] == "failed")),
        "problems": problems,
    }


def finish(store: Path, environ: Mapping[str, str], options: Sequence[str] = ()) -> dict[str, object]:
    """Make one more call without faults, and say what it had to do, and what is still wrong."""
    mark = f"{os.getpid()}-{time.time_ns()}"
    locks = store.parent / "locks"
    env = {**environ, MARK: mark, "NEFF_BENCH_LOCK_DIR": str(locks), "PYTHONPATH": str(ROOT)}
    before = _runs(store)
    process = _start(
        [*PROFILE, str(store), "--cores", "0-7", "--format", "json", *options], env, store.parent / "rows-0.json"
    )
    code = process.wait()
    rows = json.loads((store.parent / "rows-0.json").read_bytes())
    problems = problems_of(store, locks, mark, [rows])
    problems += [f"{row['case']}: {row['reason']}" for row in rows if row["status"] == "failed"]
    problems += [f"{path} is left" for path in store.glob("*/profiles/.*")]
    if code != 0:
        problems.append(f"exit code {code}")
    new = _runs(store) - before
    good = {run.parent.parent for run in before if _status(run) in ("viewed", "captured")}
    again = [run for run in new if run.parent.parent in good]
    if again:
        problems.append(f"{len(again)} bundles with a good profile were captured again")
    return {"captured": len(new), "problems": problems}


def problems_of(store: Path, locks: Path, mark: str, answers: Sequence[Sequence[Mapping[str, object]]]) -> list[str]:
    """Return what must not be there after a soak."""
    sys.path.insert(0, str(ROOT))
    from neff_bench.neffs.bundle import verify_bundle
    from neff_bench.neffs.errors import BundleError
    from neff_bench.neffs.store import Store

    problems = []
    names = Store(store).names()
    for rows in answers:
        if sorted(str(row["case"]) for row in rows) != names:
            problems.append(f"{len(rows)} rows for {len(names)} cases")
        problems += [
            f"{row['case']}: neither a result nor a reason"
            for row in rows
            if not (row["reason"] or (row["status"] == "profiled" and row["total_time_us"] is not None))
        ]
    for entry in Store(store).bundles():
        if isinstance(entry, BundleError):
            problems.append(str(entry))
            continue
        try:
            verify_bundle(entry)
        except BundleError as error:
            problems.append(str(error))
    for lock in [*locks.glob("*.lock"), *store.glob("*/profiles/.lock")]:
        if not _free(lock):
            problems.append(f"{lock} is held")
    problems += [f"process left: {name}" for name in left(mark)]
    return problems


def left(mark: str) -> list[str]:
    """Command lines of the live processes that carry the mark in their environment."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARK}={mark}".encode() in (entry / "environ").read_bytes():
                found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace"))
        except OSError:
            continue
    return found


def _start(argv: Sequence[str], env: Mapping[str, str], answer: Path) -> subprocess.Popen[bytes]:
    with answer.open("wb") as out, answer.with_suffix(".log").open("ab") as log:
        return subprocess.Popen(argv, env=dict(env), stdout=out, stderr=log)


def _free(lock: Path) -> bool:
    """Return whether a lock can be taken within a few seconds: what a killed process ran is being ended."""
    for _ in range(100):
        try:
            with lock.open("r+b") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
        except BlockingIOError:
            time.sleep(0.1)
        except FileNotFoundError:
            return True
    return False


def _runs(store: Path) -> set[Path]:
    return {run for run in store.glob("*/profiles/*/run.json") if not run.parent.name.startswith(".")}


def _status(run: Path) -> str:
    try:
        return str(json.loads(run.read_bytes())["status"])
    except (OSError, ValueError):
        return "gone"


def _short(reason: str) -> str:
    return reason.split(" (")[0][:90]


def fault_plan(state: Path) -> dict[str, object]:
    """Return a plan by which a third of all captures fail, each fault in its turn, and some of the views."""
    rules: list[dict[str, object]] = []
    step = 3 * len(FAULTS)
    for number, name in enumerate(FAULTS):
        calls = [1 + 3 * number + step * turn for turn in range(1000)]
        rules.append(
            {"command": "capture", "calls": calls, "fault": name, "seconds": 1 if name == "slow_start" else 3600}
        )
    rules.append({"command": "view", "every": 11, "fault": "crash"})
    rules.append({"command": "view", "every": 23, "fault": "garbage"})
    return {"state": str(state), "rules": rules}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--captures", type=int, default=500)
    parser.add_argument("--kills", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=15.0, help="of each call of the profiler, for those that hang")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="soak-profile-") as scratch:
        store = Path(scratch) / "store"
        shapes = Path(scratch) / "shapes.yaml"
        shapes.write_text(
            "defaults: {target: trn2, lnc: [1, 2], dtype: bfloat16}\n"
            "cases:\n  - {kernel: matmul, implementation: nki, M: 64, K: 128, N: 128}\n"
        )
        generate = [
            sys.executable,
            "-m",
            "neff_bench.stage1_generate.cli",
            "--shapes",
            str(shapes),
            "--out",
            str(store),
        ]
        subprocess.run(
            [*generate, "--toolchain", "sim"], check=True, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=2
        )
        seeds = sorted(path for path in store.iterdir() if (path / "case.json").exists())
        for number in range(options.captures - len(seeds)):
            seed = seeds[number % len(seeds)]
            shutil.copytree(seed, store / f"{seed.name}_copy{number:04d}")
        plan = Path(scratch) / "faults.json"
        plan.write_text(json.dumps(fault_plan(Path(scratch) / "counts")))
        environ = {**os.environ, "NEURON_SIM_FAULTS": str(plan)}
        words = ["--timeout", str(options.timeout)]
        result: dict[str, object] = {"soak": soak(store, environ, words, options.kills, options.seed)}
        result["rerun"] = finish(store, os.environ, words)
    print(json.dumps(result, indent=2))
    return 1 if result["soak"]["problems"] or result["rerun"]["problems"] else 0  # type: ignore[index]


if __name__ == "__main__":
    sys.exit(main())
