"""Do the tests notice? Makes mutants of the product and lets the tests that run the mutated line kill them.

    python -m tools.mutate --record [--tests TESTS]        which test runs which line; once, takes as long as the tests
    python -m tools.mutate --random 200 --seed 1 [--of PATH ...] [--jobs N] [--page docs/mutants.md]

A mutant is killed when a test fails or hangs. It survives when all tests that run its line pass, or when none runs it. What changes nothing that
somebody could see is listed in tools/equivalent.yaml with its reason. The exit status is 1 when fewer than nine of ten die.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from typing import Any, NamedTuple

import yaml
from coverage import CoverageData

from tools.mutants import Mutant, mutants, one_line

ROOT = Path(__file__).resolve().parent.parent
RECORD = ROOT / "build" / "mutants"
"""Here lie `coverage`, which test runs which line, and `seconds.json`, how long each test that passes takes."""

PRODUCT = ("neff_bench", "parsers", "neffs", "stage1_generate", "stage2_profile")
LEAST = 0.9
BUDGET_S = 60.0
"""Recorded seconds of the tests that a mutant is given, the quickest first."""

COVERAGE = """[run]
relative_files = True
source = {product}
data_file = {data}
context = ${{PYTEST_CURRENT_TEST-}}
patch = subprocess, fork, _exit
"""
"""A process that a test starts, or forks, counts as that test."""


class Verdict(NamedTuple):
    """`tests`: how many were chosen."""

    mutant: Mutant
    killed: bool
    tests: int
    equivalent: str = ""


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", action="store_true", help="run the tests and keep which one runs which line")
    parser.add_argument("--tests", nargs="+", default=["tests"], help="what pytest is given to record [all]")
    parser.add_argument("--random", type=int, default=200, metavar="N", help="how many mutants [%(default)s]")
    parser.add_argument("--seed", type=int, default=1, help="of their choice [%(default)s]")
    parser.add_argument(
        "--of", nargs="+", default=PRODUCT, help="files or folders of the product [all]", metavar="PATH"
    )
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="copies of the tree at work [%(default)s]"
    )
    parser.add_argument("--page", type=Path, help="write the table there")
    parser.add_argument("--list", action="store_true", help="print the chosen mutants and run nothing")
    given = parser.parse_args(arguments)
    if given.record:
        return record(given.tests, given.jobs)
    chosen = choose(given.of, given.random, given.seed)
    if given.list:
        print(*chosen, sep="\n")
        return 0
    if not (RECORD / "coverage").exists():
        print(f"mutate: no {RECORD / 'coverage'}: run python -m tools.mutate --record", file=sys.stderr)
        return 2
    chooser, known = Tests(), equivalent()
    with tempfile.TemporaryDirectory(prefix="mutate-") as scratch:
        trees: Queue[Path] = Queue()
        for number in range(given.jobs):
            trees.put(copy_tree(Path(scratch) / str(number), built=True))
        chooser.keep(collected(Path(scratch) / "0"))
        with ThreadPoolExecutor(given.jobs) as workers:
            verdicts = list(workers.map(lambda mutant: judge(mutant, chooser.of(mutant), known, trees), chosen))
    counted = [verdict for verdict in verdicts if not verdict.equivalent]
    killed = sum(verdict.killed for verdict in counted)
    print(f"{killed} of {len(counted)} killed, {len(verdicts) - len(counted)} equivalent")
    if given.page:
        given.page.write_text(page(verdicts, given))
    return 0 if killed >= LEAST * len(counted) else 1


def copy_tree(place: Path, built: bool = False) -> Path:
    """Return the files that git knows or would take, links as links. `built`: what is compiled too."""
    listed = subprocess.run(
        ["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"], capture_output=True, check=True
    )  # fmt: skip
    compiled = [str(path.relative_to(ROOT)) for path in (ROOT / "neff_bench").rglob("*.so")] if built else []
    for name in [*listed.stdout.decode().split("\0"), *compiled]:
        source = ROOT / name
        if name and (source.is_symlink() or source.is_file()):
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, place / name, follow_symlinks=False)
    return place


def record(tests: list[str], jobs: int) -> int:
    """Record which tests reach which lines, in a copy, as mutants are judged: a test that fails there kills none. Each folder is kept once it has run."""
    RECORD.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="mutate-") as scratch:
        tree = copy_tree(Path(scratch) / "tree", built=True)
        settings = Path(scratch) / "coveragerc"
        settings.write_text(COVERAGE.format(product=", ".join(PRODUCT), data=Path(scratch) / "coverage"))
        words = ["--cov", f"--cov-config={settings}", "--cov-context=test", "--cov-report=", "--cov-append"]
        words += ["-p", "tools.mutate", "-n", str(jobs)]
        seconds: dict[str, float] = {}
        for files in by_folder(tests):
            pytest(tree, [*words, *files], None, COVERAGE_PROCESS_START=str(settings))
            shutil.copy2(Path(scratch) / "coverage", RECORD / "coverage")
            seconds |= json.loads((tree / "seconds.json").read_bytes())
            (RECORD / "seconds.json").write_text(json.dumps(seconds))
    print(f"{RECORD}: {len(seconds)} tests")
    return 0


def by_folder(tests: list[str]) -> list[list[str]]:
    """Return the files of tests, those of a folder together."""
    folders: dict[Path, list[str]] = {}
    for given in tests:
        for path in sorted((ROOT / given).rglob("test_*.py")) if (ROOT / given).is_dir() else [ROOT / given]:
            folders.setdefault(path.parent, []).append(str(path.relative_to(ROOT)))
    return list(folders.values())


_seconds: dict[str, float] = {}
_failed: set[str] = set()


def pytest_runtest_setup() -> None:
    """Tell pytest's processes which test runs. Processes that tests start read the settings, and in them the test's name, not the values of this process."""
    os.environ.pop("COVERAGE_PROCESS_CONFIG", None)


def pytest_runtest_logreport(report: Any) -> None:
    """Note how a test ended, for pytest, while tests are recorded."""
    _seconds[report.nodeid] = _seconds.get(report.nodeid, 0.0) + report.duration
    if report.outcome != "passed":
        _failed.add(report.nodeid)


def pytest_sessionfinish(session: Any) -> None:
    """Write the record when pytest ends. A worker of xdist leaves it to its controller."""
    if not hasattr(session.config, "workerinput"):
        passed = {test: seconds for test, seconds in _seconds.items() if test not in _failed}
        (session.config.rootpath / "seconds.json").write_text(json.dumps(passed))


class Tests:
    """Holds which tests run a line, as recorded."""

    def __init__(self) -> None:
        self.data = CoverageData(str(RECORD / "coverage"))
        self.data.read()
        self.seconds: dict[str, float] = json.loads((RECORD / "seconds.json").read_bytes())
        self.by_line: dict[str, dict[int, list[str]]] = {}

    def keep(self, names: set[str]) -> None:
        """Forget the tests that have other names now: pytest ends at a name that it does not know, which looks like a kill."""
        self.seconds = {name: seconds for name, seconds in self.seconds.items() if name in names}

    def of(self, mutant: Mutant) -> list[str]:
        """Return the tests of a mutant, the quickest first, within the budget. What runs once is for all tests of the file's lines."""
        if mutant.path not in self.by_line:
            self.by_line[mutant.path] = self.data.contexts_by_lineno(mutant.path)
        lines = self.by_line[mutant.path]
        at = lines if mutant.once else range(mutant.first, mutant.last + 1)
        names = {self._name(context) for line in at for context in lines.get(line, ())}
        chosen, spent = [], 0.0
        for name in sorted(names & set(self.seconds), key=lambda name: (self.seconds[name], name)):
            spent += self.seconds[name]
            if chosen and spent > BUDGET_S:
                break
            chosen.append(name)
        return chosen

    def _name(self, context: str) -> str:
        """Contexts are `TEST|run` in pytest's own process and `TEST (call)` in those that the test starts."""
        return context.split("|")[0].rsplit(" (", 1)[0]


def choose(of: list[str], number: int, seed: int) -> list[Mutant]:
    every = []
    for place in of:
        files = sorted((ROOT / place).rglob("*.py")) if (ROOT / place).is_dir() else [ROOT / place]
        links = {ROOT / "neff_bench" / name for name in PRODUCT}
        for path in files:
            if not links & set(path.parents):
                every += mutants(str(path.relative_to(ROOT)), path.read_bytes())
    return sorted(random.Random(seed).sample(every, min(number, len(every))))  # noqa: S311 - a choice, no secret


def equivalent() -> dict[tuple[str, str, str, str], str]:
    """Return (path, text of the line, what stands there, what it becomes) -> the reason why nobody could see the difference."""
    entries = yaml.safe_load((ROOT / "tools" / "equivalent.yaml").read_text()) or []
    return {(entry["path"], entry["line"], entry["old"], entry["new"]): entry["reason"] for entry in entries}


def judge(mutant: Mutant, tests: list[str], known: dict[tuple[str, str, str, str], str], trees: Queue[Path]) -> Verdict:
    if reason := known.get((mutant.path, mutant.text(ROOT), one_line(mutant.old), one_line(mutant.new))):
        return Verdict(mutant, False, len(tests), reason)
    tree = trees.get()
    path = tree / mutant.path
    before = path.read_bytes()
    try:
        path.write_bytes(mutant.place(before))
        killed = bool(tests) and not pytest(tree, ["-x", "-n", "0", "-p", "no:cacheprovider", *tests], 5 * BUDGET_S)
    finally:
        path.write_bytes(before)
        trees.put(tree)
    print(f"{'killed' if killed else 'survived':<9} {len(tests):4} tests  {mutant}", flush=True)
    return Verdict(mutant, killed, len(tests))


def pytest(tree: Path, words: list[str], limit_s: float | None, **more: str) -> bool:
    """Return whether all pass in time. The copy comes first on Python's path, also for the commands that tests start."""
    environ = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1", **more}
    command = [sys.executable, "-m", "pytest", "-q", "--no-header", *words]
    try:
        done = subprocess.run(command, cwd=tree, env=environ, capture_output=limit_s is not None, timeout=limit_s)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def collected(tree: Path) -> set[str]:
    """Return the names of the tests of a tree, whose settings have pytest print them in short."""
    environ = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "--collect-only", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=tree, env=environ, capture_output=True, text=True)
    return {line for line in done.stdout.splitlines() if "::" in line}


def page(verdicts: list[Verdict], given: argparse.Namespace) -> str:
    """Return the table of docs."""
    rooms: dict[str, Counter[str]] = {}
    for verdict in verdicts:
        kind = (
            "equivalent"
            if verdict.equivalent
            else "killed"
            if verdict.killed
            else "survived"
            if verdict.tests
            else "run by no test"
        )
        for room in (room_of(verdict.mutant.path), "all"):
            rooms.setdefault(room, Counter())[kind] += 1
    lines = [
        "# Mutants", "",
        "`tools/mutate.py` writes this page. It changes one thing in a file of the product and runs the tests that run the changed line: a mutant",
        "that no test notices shows what no test holds. Equivalent mutants change nothing that somebody could see and are not counted.", "",
        f"Of {' '.join(given.of)}: {len(verdicts)} mutants of seed {given.seed}.", "",
        "| room | killed | survived | run by no test | equivalent | share killed |", "|---|---|---|---|---|---|",
    ]  # fmt: skip
    for room in sorted(rooms, key=lambda room: (room == "all", room)):
        count = rooms[room]
        judged = sum(count.values()) - count["equivalent"]
        figures = " | ".join(str(count[kind]) for kind in ("killed", "survived", "run by no test", "equivalent"))
        lines.append(f"| {room} | {figures} | {count['killed'] / judged if judged else 1:.0%} |")
    alive = [verdict for verdict in verdicts if not verdict.killed and not verdict.equivalent]
    lines += ["", "## Alive", "", *(f"- `{verdict.mutant}`" for verdict in alive)] if alive else []
    same = [verdict for verdict in verdicts if verdict.equivalent]
    lines += (
        ["", "## Equivalent", "", *(f"- `{verdict.mutant}`: {verdict.equivalent}" for verdict in same)] if same else []
    )
    return "\n".join(lines) + "\n"


def room_of(path: str) -> str:
    parts = Path(path).parts[:-1]
    return "/".join(parts[1:3] if parts[0] == "neff_bench" else parts[:2]) or parts[0]


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
