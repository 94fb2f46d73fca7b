"""Flip one bit of a store at a time, and see that no number of the table changes without a word.

    python bench/flip_bits.py --flips 1000

A store of three cases with two runs each is built. Each flip hits a random bit of a random file; then the rows are read
(`--parse-only`) and the store is examined (`fsck`), both in this process, and the bit is flipped back. A row whose numbers
differ must be failed or carry a warning that it did not have, and `fsck` must name the file. Prints what was found; exit
code 1 when something changed in silence.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from neff_bench.stage2_profile.directory import find_entries, known_rows
from neff_bench.stage2_profile.metrics.rows import to_dict
from neff_bench.stage2_profile.options import Options
from neff_bench.stage2_profile.pipeline import Pipeline
from neff_bench.stage2_profile.upkeep.fsck import examine

BIN = Path(sys.executable).parent
WORDS = ("status", "warnings", "reason", "command")
"""What a row says beside its numbers."""


def build(scratch: Path) -> Path:
    store = scratch / "store"
    (scratch / "shapes.yaml").write_text(
        "defaults: {target: trn2, lnc: 1, dtype: bfloat16}\n"
        "cases:\n"
        "  - {kernel: matmul, implementation: nki, M: [32, 64], K: 64, N: 48}\n"
        "  - {kernel: exp, implementation: nki, M: 32, N: 64}\n"
    )
    generate = ["generate-neffs", "--shapes", str(scratch / "shapes.yaml"), "--out", str(store), "--toolchain", "sim"]
    for argv in (generate, ["profile-neffs", str(store)], ["profile-neffs", str(store), "--force"]):
        subprocess.run([BIN / argv[0], *argv[1:]], check=True, capture_output=True)
    time.sleep(1.1)  # rows of files that were written just now are not kept
    for words in ([], ["--parse-only"]):
        subprocess.run([BIN / "profile-neffs", str(store), *words], check=True, capture_output=True)
    return store


def rows(store: Path) -> dict[str, dict[str, Any]]:
    options = Options(parse_only=True)
    pipeline = Pipeline(options, rows=known_rows(store, {}, options))
    return {entry.name: to_dict(pipeline.row(entry)) for entry in find_entries(store)}


def numbers(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in WORDS}


def is_told(before: dict[str, Any], after: dict[str, Any]) -> bool:
    """Return whether a row with other numbers says that something is wrong."""
    return bool(after["status"] == "failed" and after["reason"]) or set(after["warnings"]) > set(before["warnings"])


def flip(path: Path, bit: int) -> None:
    with path.open("r+b") as file:
        file.seek(bit // 8)
        (byte,) = file.read(1)
        file.seek(bit // 8)
        file.write(bytes([byte ^ 1 << bit % 8]))


def soak(store: Path, flips: int, seed: int) -> tuple[Counter[str], list[str]]:
    """Return what became of each flip, and what changed in silence."""
    chance, good = random.Random(seed), rows(store)
    files = [path for path in sorted(store.rglob("*")) if path.is_file() and path.stat().st_size]
    seen: Counter[str] = Counter()
    wrong = []
    for _ in range(flips):
        path = chance.choice(files)
        bit = chance.randrange(8 * path.stat().st_size)
        name = str(path.relative_to(store))
        flip(path, bit)
        try:
            found, named = rows(store), {finding.file for finding in examine(store).findings}
        finally:
            flip(path, bit)
        changed = [case for case in good if numbers(found.get(case, {})) != numbers(good[case])]
        silent = [case for case in changed if case not in found or not is_told(good[case], found[case])]
        if silent:
            wrong.append(f"bit {bit} of {name}: {silent[0]} changed and does not say so")
        if name not in named:
            wrong.append(f"bit {bit} of {name}: fsck does not name it")
        told = any(
            (good[case]["warnings"], good[case]["reason"]) != (row["warnings"], row["reason"])
            for case, row in found.items()
        )
        seen["the row tells" if told else "no number depends on it, fsck tells"] += 1
    if rows(store) != good:
        wrong.append("the store is not as it was at the end")
    return seen, wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flips", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    os.environ.pop("NEURON_SIM_FAULTS", None)
    with tempfile.TemporaryDirectory(prefix="flip-bits-") as scratch:
        seen, wrong = soak(build(Path(scratch)), options.flips, options.seed)
    for line in wrong:
        print(f"wrong: {line}")
    print(
        f"{options.flips} flips: {'wrong' if wrong else 'good'}; " + ", ".join(f"{seen[kind]} {kind}" for kind in seen)
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
