"""Both commands killed at any moment, fsck and gc beside them: the store ends like one that was never disturbed.

    python bench/soak_store.py --kills 600

In each round one, two or four processes of generate-neffs and profile-neffs, every second one with --force, work on one store and
get SIGTERM, SIGINT or SIGKILL at a random moment. fsck examines the store meanwhile, and gc removes old runs: an alarm of fsck is a
false one. At the end each command runs once undisturbed. Then the rows and the files must be those of another store that was built and
profiled once. Prints one JSON object; exit code 1 when something of this is not so.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGKILL)
OURS = re.compile(r"/neff_bench/([^\"]+)\"")
"""The files of ours that a traceback names."""
UNGUARDED = {"__init__.py", "__main__.py", "start.py"}
"""Those that Python runs before Ctrl-C is handled."""
SHAPES = """defaults: {target: trn2, lnc: [1, 2], dtype: bfloat16}
cases:
  - {kernel: matmul, implementation: nki, M: [64, 128], K: 128, N: 128}
  - {kernel: exp, implementation: nki, M: 128, N: 128}
"""
NUMBERS = ("status", "check", "total_time_us", "instruction_count", "hbm_read_bytes", "max_abs_error")
AID = re.compile(r"\.store/[a-z-]+\.json")
RUN = re.compile(r"/profiles/\d+/")


def start(work: Path, *words: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NEFF_BENCH_LOCK_DIR": str(work / "locks")}
    command = [sys.executable, "-m", "neff_bench", *words]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=work, env=environment, stdout=pipe, stderr=pipe, text=True)


def generate(store: str) -> tuple[str, ...]:
    return "generate", "--shapes", "shapes.yaml", "--toolchain", "sim", "--jobs", "2", "--out", store


def profile(store: str) -> tuple[str, ...]:
    return "profile", store, "--cores", "0-7", "--format", "json"


def whole(work: Path, store: str) -> list[dict[str, Any]]:
    """Return the rows of a store that nobody disturbs now."""
    for words in (generate(store), profile(store)):
        process = start(work, *words)
        out, err = process.communicate()
        if process.returncode:
            raise SystemExit(f"{words[0]} ended with {process.returncode}: {err}")
    return list(json.loads(out))


def contents(store: Path) -> set[str]:
    """Return the files of a store without the aids that it keeps for itself; of runs only that they are there, since their numbers tell how
    often a case was captured."""
    files = (str(path.relative_to(store)) for path in store.rglob("*") if not path.is_dir())
    return {RUN.sub("/profiles/N/", file) for file in files if not AID.fullmatch(file)}


def soak(work: Path, kills: int, seed: int) -> dict[str, Any]:
    """Returns how the commands ended, and `problems`, empty when all is well."""
    (work / "shapes.yaml").write_text(SHAPES)
    began = time.monotonic()
    expected = whole(work, "undisturbed")
    most_s = time.monotonic() - began
    chance, ends, problems, killed, examined = random.Random(seed), Counter[str](), list[str](), 0, 0
    whole(work, "store")
    while killed < kills:
        words = [chance.choice((generate, profile))("store") for _ in range(chance.choice((1, 2, 4)))]
        processes = [start(work, *one, *(["--force"] * chance.randrange(2))) for one in words]
        keepers = [start(work, "fsck", "store", "--format", "json"), start(work, "gc", "store", "--keep", "2")]
        for process in processes:
            time.sleep(chance.uniform(0, most_s) / len(processes))
            process.send_signal(chance.choice(SIGNALS))
        for process, one in zip(processes, words, strict=True):
            out, err = process.communicate(timeout=300)
            ends[f"{one[0]} {process.returncode}"] += 1
            killed += 1
            if "init_import_site" in err or ("KeyboardInterrupt" in err and set(OURS.findall(err)) <= UNGUARDED):
                continue  # Python has not yet come to the line of start.py that ends an interruption in silence
            if "Traceback" in err or "internal error" in out + err:
                problems.append(f"{one[0]} ended with {process.returncode}: {err[-2000:]}")
            if process.returncode == 1:
                rows = json.loads(out) if one[0] == "profile" and out else []
                reasons = [row["reason"] for row in rows if row["reason"]] or err
                problems.append(f"{one[0]} failed: {reasons}")
        for keeper in keepers:
            out, err = keeper.communicate(timeout=300)
            if keeper.returncode:
                problems.append(f"{keeper.args[3]} ended with {keeper.returncode}: {out[:2000]}{err[-2000:]}")
        examined += 1
    rows = whole(work, "store")
    problems += differences(rows, expected)
    problems += [f"not as undisturbed: {name}" for name in contents(work / "store") ^ contents(work / "undisturbed")]
    return {"kills": killed, "fsck": examined, "ends": dict(sorted(ends.items())), "problems": problems}


def differences(rows: list[dict[str, Any]], expected: list[dict[str, Any]]) -> Iterator[str]:
    """Numbers of rows that are not the expected ones."""
    found, wanted = ({row["case"]: {name: row[name] for name in NUMBERS} for row in side} for side in (rows, expected))
    for case in found.keys() | wanted.keys():
        if found.get(case) != wanted.get(case):
            yield f"{case}: {found.get(case)} instead of {wanted.get(case)}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=600)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="soak-store-") as scratch:
        found = soak(Path(scratch), options.kills, options.seed)
    print(json.dumps(found, indent=2))
    return 1 if found["problems"] else 0


if __name__ == "__main__":
    sys.exit(main())
