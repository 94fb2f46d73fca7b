"""What holds for the repository as a whole."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]

COLLECTED = """
import sys
import pytest

class Paths:
    @pytest.hookimpl(tryfirst=True)
    def pytest_pycollect_makemodule(self, module_path, parent):
        print("collected", module_path)
        return Nothing.from_parent(parent, path=module_path)

class Nothing(pytest.File):
    def collect(self):
        return []

pytest.main(["--collect-only", "-q", "-p", "no:cacheprovider"], plugins=[Paths()])
"""
"""Says which files pytest takes, without importing them."""


def test_every_test_file_is_collected():
    done = subprocess.run(
        [sys.executable, "-c", COLLECTED], cwd=ROOT, capture_output=True, text=True, check=True, timeout=120
    )
    collected = {line.removeprefix("collected ") for line in done.stdout.splitlines() if line.startswith("collected ")}
    rooms = [
        place for place in ROOT.iterdir() if place.is_dir() and not place.name.startswith(".") and place.name != "build"
    ]
    there = {str(path) for room in rooms for path in room.rglob("test_*.py")}
    assert there and there - collected == set()


def test_no_folder_hides_a_program_that_is_run_in_the_root():
    done = subprocess.run([sys.executable, "-m", "coverage", "--version"], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.startswith("Coverage.py"), done.stderr
