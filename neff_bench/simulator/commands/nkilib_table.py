"""Writes the table of `neuron-sim nkilib-tests --table`: a line for each file of tests, and why tests did not pass."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from neff_bench.simulator.errors import SimulatorError
from neff_bench.simulator.nki.nkilib_outcomes import FILE, SAMPLE
from neff_bench.system.files import user_cache

FOLDERS = ("test/integration", "test/unit")
HEADS = ("collected", "skipped", "run", "passed", "refused", "failed", "theirs", "s")
KINDS = ("passed", "refused", "failed", "theirs")
NUMPY_1 = re.compile(r"out of bounds for uint\d+")
"""What numpy 2 says of `np.uint32(-1)`, which tests of releases up to 2.28 write."""
WITH_NUMPY_1 = ("numpy<2", "pandas<3", "pytz")
"""pandas 3 refuses numpy 1, and pandas 2 needs pytz."""
PRIVATE = re.compile(r"No module named '(test|nkilib\w*)\b|is not part of the public")
"""A module of their own packages that the checkout lacks."""


@dataclass
class Line:
    """One file. `causes`: of tests that were refused, failed, or are not to pass, by kind and cause. `note`: why it did not run to its end."""

    file: str
    collected: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    causes: Counter[tuple[str, str]] = field(default_factory=Counter)
    seconds: float = 0.0
    note: str = ""

    @property
    def cells(self) -> tuple[int, ...]:
        """The numbers under `HEADS`."""
        return (
            self.collected,
            self.kinds["skipped"],
            sum(self.kinds[kind] for kind in KINDS),
            *(self.kinds[kind] for kind in KINDS),
            round(self.seconds),
        )


def files_of(checkout: Path, asked: Sequence[str]) -> list[str]:
    """Return the files of tests below the folders asked for, in order."""
    found = set()
    for place in asked or FOLDERS:
        path = checkout / place
        if not path.exists():
            raise SimulatorError("no such file or folder of tests", str(path))
        found |= {path} if path.is_file() else set(path.rglob("test_*.py"))
    return sorted(str(path.relative_to(checkout)) for path in found)


def lines_of(
    checkout: Path,
    files: Iterable[str],
    environment: dict[str, str],
    options: Sequence[str],
    sample: int,
    timeout_s: float,
) -> Iterator[Line]:
    """Run one file after the other, each in a process of its own; where it needs an older numpy, again with that."""
    for file in files:
        line = _line(checkout, file, environment, options, sample, timeout_s)
        if NUMPY_1.search(line.note + "".join(cause for _, cause in line.causes)):
            try:
                older = {**environment, "PYTHONPATH": f"{numpy_1()}{os.pathsep}{environment['PYTHONPATH']}"}
            except SimulatorError as error:
                line.note = str(error)
            else:
                line = _line(checkout, file, older, options, sample, timeout_s)
                line.note = "; ".join(filter(None, [line.note, "with numpy 1"]))
        yield line


def numpy_1() -> Path:
    """Return a folder with numpy 1 and a pandas that takes it, made once and kept. Raises SimulatorError."""
    folder = user_cache() / f"numpy-1-pandas-2-{sys.implementation.cache_tag}"
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as fresh:
            command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", fresh, *WITH_NUMPY_1]
            done = subprocess.run(command, capture_output=True, text=True, check=False, encoding="utf-8")
            if done.returncode:
                said = (done.stderr.strip() or "no text").splitlines()[-1]
                raise SimulatorError(f"its tests need numpy before 2, and pip could not install it: {said}")
            os.rename(fresh, folder)
            os.mkdir(fresh)
    return folder


def _line(
    checkout: Path, file: str, environment: dict[str, str], options: Sequence[str], sample: int, timeout_s: float
) -> Line:
    line, begun = Line(file), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="nkilib-tests-") as scratch:
        told = Path(scratch, "outcomes")
        told.touch()
        command = [*options, file, "--output-directory", scratch, "--force-local-cleanup"]
        try:
            done = subprocess.run(
                command,
                cwd=checkout,
                env={**environment, FILE: str(told), SAMPLE: str(sample)},
                capture_output=True,
                text=True,
                encoding="utf-8",
                errors="replace",
                timeout=timeout_s,
                check=False,
            )
            last = (done.stdout + done.stderr).strip().splitlines()[-1:] or ["no text"]
            line.note = "" if done.returncode in (0, 1, 5) else f"pytest ended with {done.returncode}: {last[0][:160]}"
        except subprocess.TimeoutExpired:
            line.note = f"stopped after {timeout_s:g} s"
        for text in told.read_text(encoding="utf-8").splitlines():
            _count(line, json.loads(text))
    line.seconds = time.monotonic() - begun
    return line


def _count(line: Line, said: dict[str, str | int]) -> None:
    if "collected" in said:
        line.collected = int(said["collected"])
        line.kinds["skipped"] = int(said["skipped"])
    elif "unread" in said:
        unread = str(said["unread"])
        line.note = (
            f"skipped: it imports what is not public ({unread})"
            if PRIVATE.search(unread)
            else f"not imported: {unread}"
        )
    else:
        kind = str(said["kind"])
        line.kinds[kind] += 1
        if kind not in ("passed", "skipped"):
            line.causes[kind, str(said["cause"])] += 1


def markdown(lines: Iterable[Line]) -> Iterator[str]:
    """Write the table as it grows, and the causes below it."""
    yield f"| file | {' | '.join(HEADS)} | |"
    yield f"|---|{'---:|' * len(HEADS)}---|"
    causes: dict[tuple[str, str], Counter[str]] = {}
    total: Counter[str] = Counter()
    for line in lines:
        yield f"| {line.file} | {' | '.join(map(str, line.cells))} | {line.note} |"
        total += line.kinds
        for cause, count in line.causes.items():
            causes.setdefault(cause, Counter())[line.file] += count
    able = total["passed"] + total["refused"] + total["failed"]
    yield ""
    yield f"{total['passed']} of {able} tests that their own code lets run passed" + (
        f" ({total['passed'] / able:.1%})." if able else "."
    )
    for (kind, why), files in sorted(causes.items(), key=lambda each: (each[0][0], -sum(each[1].values()))):
        yield f"- {sum(files.values())} {kind}: {why} ({', '.join(sorted(Path(file).stem for file in files))})"
