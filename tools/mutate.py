"""Does a test notice? Places one mutation after the other in a copy of the tree and runs the tests that should fail.

    python tools/mutate.py [--jobs N] [--only TEXT] [--list] [--unchecked]

tools/mutations.py names the mutations: file, what stands there, what it becomes, and the tests that may notice. A mutation is
killed when one of its tests fails, survives when all pass, and is stale when the file does not hold the text exactly once. The exit
status is 1 when fewer than nine of ten die or one is stale. Takes minutes, so it is no part of the tests.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from typing import Literal, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
LEAST = 0.9
LIMIT_S = 600.0

Verdict = Literal["killed", "survived", "timed out", "stale"]


class Mutation(NamedTuple):
    """`path`: in the repository. `old` stands there once. `tests`: what pytest is given."""

    name: str
    path: str
    old: str
    new: str
    tests: str


def main(arguments: list[str]) -> int:
    from tools.mutations import MUTATIONS

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="copies of the tree at work [%(default)s]"
    )
    parser.add_argument("--only", default="", help="mutations whose name or path contains TEXT", metavar="TEXT")
    parser.add_argument("--list", action="store_true", help="print the mutations and run nothing")
    parser.add_argument("--unchecked", action="store_true", help="do not run the tests without a mutation first")
    options = parser.parse_args(arguments)
    chosen = [m for m in MUTATIONS if options.only in m.name or options.only in m.path]
    if options.list:
        for mutation in chosen:
            print(f"{mutation.path:<44} {mutation.name}")
        return 0
    with tempfile.TemporaryDirectory(prefix="mutate-") as scratch:
        trees: Queue[Path] = Queue()
        for number in range(options.jobs):
            trees.put(copy_tree(Path(scratch) / str(number)))
        tests = sorted({test for mutation in chosen for test in mutation.tests.split()})
        tree = trees.get()
        failed = "" if options.unchecked else run_tests(tree, tests)
        trees.put(tree)
        if failed:
            print(f"mutate: without any mutation these tests fail already:\n{failed}", file=sys.stderr)
            return 1
        with ThreadPoolExecutor(options.jobs) as workers:
            verdicts = list(workers.map(lambda mutation: judge(mutation, trees), chosen))
    return report(chosen, verdicts)


def copy_tree(place: Path) -> Path:
    """The files that git knows or would take, links as links."""
    listed = subprocess.run(
        ["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True, check=True,
    )  # fmt: skip
    for name in listed.stdout.decode().split("\0"):
        source = ROOT / name
        if name and (source.is_symlink() or source.is_file()):
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, place / name, follow_symlinks=False)
    return place


def judge(mutation: Mutation, trees: Queue[Path]) -> Verdict:
    tree = trees.get()
    begin = time.monotonic()
    path = tree / mutation.path
    before = path.read_bytes() if path.is_file() else b""
    verdict: Verdict = "stale"
    try:
        if before.count(mutation.old.encode()) == 1:
            path.write_bytes(before.replace(mutation.old.encode(), mutation.new.encode()))
            verdict = "killed" if run_tests(tree, mutation.tests.split()) else "survived"
    except subprocess.TimeoutExpired:
        verdict = "timed out"
    finally:
        if before:
            path.write_bytes(before)
        trees.put(tree)
    print(f"{verdict:<10}{time.monotonic() - begin:6.1f} s  {mutation.path}: {mutation.name}", flush=True)
    return verdict


def run_tests(tree: Path, tests: list[str]) -> str:
    """What failed, "" when all passed. Raises subprocess.TimeoutExpired. The copy comes first on Python's path, also for the commands that tests start."""
    environ = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    words = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "--no-header", "-p", "no:cacheprovider", *tests]
    done = subprocess.run(words, cwd=tree, env=environ, capture_output=True, text=True, timeout=LIMIT_S)
    return "" if done.returncode == 0 else done.stdout[-2000:] + done.stderr[-2000:]


def report(mutations: list[Mutation], verdicts: list[Verdict]) -> int:
    killed, stale = verdicts.count("killed"), verdicts.count("stale")
    for verdict in ("survived", "timed out", "stale"):
        for mutation, found in zip(mutations, verdicts, strict=True):
            if found == verdict:
                print(f"{verdict}: {mutation.path}: {mutation.name}")
    print(f"{killed} of {len(mutations)} killed, {verdicts.count('survived')} survived, {stale} stale")
    return 0 if not stale and killed >= LEAST * len(mutations) else 1


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    raise SystemExit(main(sys.argv[1:]))
