"""Makes what a release consists of, and tries each part as a stranger would.

    python -m tools.release_check --out build/release                        # every python3.10 to python3.14 on PATH
    python -m tools.release_check --out build/release --python python3.13    # one of them

It builds the source distribution, from it a compiled wheel (twice: the bytes must be the same) and a wheel without compiled
parts. Each is installed into a new environment of each Python, without a compiler and without git, and the tutorial's
kernel is built and profiled there: every environment must print the same row. Exit code 1: something failed.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.mutate import ROOT, copy_tree

VERSIONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
NO_COMPILER = {"CC": "/nonexistent/cc"}


def main() -> int:
    """Build, install, run. What was tried is printed a line each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="Where the artefacts are written.")
    parser.add_argument("--python", action="append", help="An interpreter; repeat it for more.")
    asked = parser.parse_args()
    pythons = asked.python or [f"python{version}" for version in VERSIONS if _works(f"python{version}")]
    asked.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        artefacts = build(place, asked.out.resolve())
        rows = {}
        for python in pythons:
            for artefact in artefacts:
                rows[python, artefact.name] = row = tried(python, artefact, place)
                print(f"{python} {artefact.name}: {row}", flush=True)
    if len(set(rows.values())) != 1:
        print("the rows differ", file=sys.stderr)
    return int(len(set(rows.values())) != 1)


def build(place: Path, out: Path) -> list[Path]:
    """Return the source distribution and the two wheels. Exits when two builds of one source differ."""
    tree = copy_tree(place / "tree")
    when = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=True)
    fixed = {"SOURCE_DATE_EPOCH": when.stdout.strip()}
    _run(sys.executable, "-m", "build", "--sdist", "--outdir", out, tree)
    [source] = out.glob("*.tar.gz")
    wheels = []
    for number, settings in enumerate((fixed, fixed, fixed | NO_COMPILER)):
        made = place / f"wheel{number}"
        _run(sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", made, source, **settings)
        wheels += made.glob("*.whl")
    first, second, plain = wheels
    if _digest(first) != _digest(second):
        raise SystemExit(f"{first.name}: two builds of one source differ")
    if not plain.name.endswith("-py3-none-any.whl"):
        raise SystemExit(f"{plain.name}: nothing is compiled in it, so it should be tagged py3-none-any")
    return [source, *(Path(shutil.copy2(wheel, out)) for wheel in (first, plain))]


def tried(python: str, artefact: Path, place: Path) -> str:
    """Return the tutorial's row, printed by an installation of one artefact in a new environment."""
    home = place / "home"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    _run(python, "-m", "venv", home / "env")
    tools = home / "env" / "bin"
    bare = {"PATH": str(tools), "HOME": str(home), **NO_COMPILER}
    _run(tools / "pip", "install", "--quiet", artefact, **bare)
    here = {"cwd": home, "only": True, **bare}
    _run(tools / "neff-bench", "tutorial", "t", **here)
    _run(tools / "generate-neffs", "--shapes", "t/shapes.yaml", "--out", "s", **here)
    _run(tools / "neff-bench", "doctor", **here)
    words = ("s", "--format", "csv", "--columns", "kernel,total_time_us,check")
    return _run(tools / "profile-neffs", *words, **here).split()[-1]


def _works(python: str) -> bool:
    return shutil.which(python) is not None and subprocess.run([python, "-V"], capture_output=True).returncode == 0


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _run(*words: object, cwd: Path | None = None, only: bool = False, **environment: str) -> str:
    """Return what a command prints; `only`: it sees no other variables. Exits with its messages when it fails."""
    settings = environment if only else {**os.environ, **environment}
    done = subprocess.run([str(word) for word in words], cwd=cwd, env=settings, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, words))}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
