"""Imports point one way between the rooms, and commands start without the heavy packages."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ALLOWED = {
    "neffs": {"parsers"},
    "parsers": {"neffs"},
    "simulator": {"neffs", "parsers"},
    "stage1_generate": {"neffs", "parsers"},
    "stage2_profile": {"neffs", "parsers"},
    "experiments": {"neffs", "parsers", "stage1_generate", "stage2_profile"},
    "install_benchmarks": set(),
}
ALLOWED_IN_TEMPLATES = {"stage1_generate", "stage2_profile"}
HEAVY = ["numpy", "ml_dtypes", "jax", "rich.progress", "yaml", "google.protobuf"]


def imported(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    return names


@pytest.mark.parametrize("room", ALLOWED)
def test_a_room_imports_only_what_it_may(room):
    wrong = []
    for path in (ROOT / room).rglob("*.py"):
        allowed = ALLOWED_IN_TEMPLATES if "template" in path.parts else ALLOWED[room]
        wrong += [
            f"{path.relative_to(ROOT)} imports {name}" for name in (imported(path) & set(ALLOWED)) - {room} - allowed
        ]
    assert wrong == []


@pytest.mark.parametrize("module", ["stage1_generate.cli", "stage2_profile.cli", "simulator.cli", "parsers.cli"])
def test_a_command_starts_without_heavy_packages(module):
    check = f"import sys, {module}; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_files_stay_short():
    long = [
        str(path.relative_to(ROOT))
        for room in [*ALLOWED, "tests"]
        for path in (ROOT / room).rglob("*.py")
        if len(path.read_text().splitlines()) > 450
    ]
    assert long == []
