"""Signals at random moments: rows printed, nothing left over.

    python bench/soak_signals.py --signals 100

builds a small store with generate-neffs, then starts `profile-neffs` (on copies of it, over simulated cores) and
`generate-neffs` in turn and sends each a signal at a random moment. Each must end with 128 plus the number of the signal (or
with 0 when it was ready before), print a row for each case (generate-neffs: its counts), and leave no process, no lock and
no unfinished directory. A signal that comes before the command has begun ends Python itself; such moments are counted apart.
Prints one JSON object; exit code 1 when something of this is not so.
"""

from __future__ import annotations

import argparse
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
from pathlib import Path

BEGUN = {"generate": "building with", "profile": "profiling with"}
"""What a command says first, on standard error."""
ROOT = Path(__file__).parent.parent
MARK = "NEFF_BENCH_SOAK_SIGNALS"
SIGNALS = {"TERM": signal.SIGTERM, "HUP": signal.SIGHUP, "INT": signal.SIGINT}
SHAPES = """defaults: {target: trn2, lnc: [1, 2], dtype: bfloat16}
cases:
  - {kernel: matmul, implementation: nki, M: [64, 128], K: 128, N: 128}
"""
BEGIN_S = 0.02


def soak(work: Path, count: int, names: list[str], seed: int) -> dict[str, object]:
    """Returns how the commands ended, and `problems`, empty when all is well."""
    (work / "shapes.yaml").write_text(SHAPES)
    generate = ["generate", "--shapes", "shapes.yaml", "--toolchain", "sim", "--jobs", "2", "--out"]
    profile = ["profile", "copy", "--cores", "0-3", "--format", "json"]
    whole = {"generate": _timed(work, [*generate, "store"])}
    shutil.copytree(work / "store", work / "copy")
    whole["profile"] = _timed(work, profile)
    chance = random.Random(seed)
    ends: Counter[str] = Counter()
    problems: list[str] = []
    for number in range(count):
        name = ("profile", "generate")[number % 2]
        sent = SIGNALS[names[number // 2 % len(names)]]
        for left in ("copy", "new"):
            shutil.rmtree(work / left, ignore_errors=True)
        if name == "profile":
            shutil.copytree(work / "store", work / "copy")
        moment_s = chance.uniform(BEGIN_S, whole[name])
        words = profile if name == "profile" else [*generate, "new"]
        mark = f"{os.getpid()}-{number}"
        done, out, err = _signalled(work, words, sent, moment_s, mark)
        ends[_end(done, sent)] += 1
        found = _wrong(work, name, done, sent, out, err, mark)
        problems += [f"{name}, SIG{sent.name[3:]} at {moment_s:.3f} s: {line}" for line in found]
    return {"signals": count, "seconds": whole, "ends": dict(ends), "problems": problems}


def _environment(work: Path, mark: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "NEFF_BENCH_LOCK_DIR": str(work / "locks"), MARK: mark}


def _timed(work: Path, words: list[str]) -> float:
    """Seconds of an undisturbed call."""
    begin = time.monotonic()
    argv = [sys.executable, "-m", "neff_bench", *words]
    subprocess.run(argv, cwd=work, env=_environment(work, "none"), check=True, capture_output=True)
    return time.monotonic() - begin


def _signalled(work: Path, words: list[str], sent: signal.Signals, moment_s: float, mark: str) -> tuple[int, str, str]:
    argv = [sys.executable, "-m", "neff_bench", *words]
    process = subprocess.Popen(
        argv, cwd=work, env=_environment(work, mark), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    time.sleep(moment_s)
    process.send_signal(sent)
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


def _end(code: int, sent: signal.Signals) -> str:
    return {0: "ready before", -sent: "before it began", 128 + sent: "ended in order"}.get(code, f"exit code {code}")


def _wrong(work: Path, name: str, code: int, sent: signal.Signals, out: str, err: str, mark: str) -> list[str]:
    """Return what must not be after one signal."""
    wrong = []
    if code not in (0, -sent, 128 + sent):
        wrong.append(f"exit code {code}: {err.strip().splitlines()[-1:]}")
    if code != -sent:  # else Python itself ended, as it does while it imports the command
        wrong += ["a traceback"] if "Traceback" in err else []
        if out or BEGUN[name] in err:  # one that is interrupted before has nothing to say
            wrong += _unsaid(work, name, out)
    store = work / ("copy" if name == "profile" else "new")
    left = [*(work / "locks").glob("*"), *store.glob("*/profiles/.*"), *store.glob(".store/*/*")]
    wrong += [f"left: {path.relative_to(work)}" for path in left]
    wrong += [f"still running: {line}" for line in _running(mark)]
    return wrong


def _unsaid(work: Path, name: str, out: str) -> list[str]:
    """Return what the answer lacks."""
    if name == "generate":
        return [] if " built" in out else [f"no counts: {out!r}"]
    try:
        rows = json.loads(out)
    except ValueError:
        return [f"no rows: {out[:60]!r}"]
    cases = {path.parent.name for path in (work / "copy").glob("*/case.json")}
    wrong = [] if {row["case"] for row in rows} == cases else [f"{len(rows)} rows for {len(cases)} cases"]
    return wrong + [
        f"{row['case']}: neither numbers nor a reason"
        for row in rows
        if row["total_time_us"] is None and not row["reason"]
    ]


def _running(mark: str) -> list[str]:
    """Command lines of the processes that carry the mark; they get a moment to be gone."""
    for _ in range(20):
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if f"{MARK}={mark}".encode() in (process / "environ").read_bytes().split(b"\0"):
                    found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace"))
            except OSError:
                continue
        if not found:
            return []
        time.sleep(0.05)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--signals", type=int, default=100)
    parser.add_argument("--names", nargs="+", choices=list(SIGNALS), default=["TERM"])
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="soak-signals-") as scratch:
        found = soak(Path(scratch), options.signals, options.names, options.seed)
    print(json.dumps(found, indent=2))
    return 1 if found["problems"] else 0


if __name__ == "__main__":
    sys.exit(main())
