"""Imports point one way between the rooms, and commands start without the heavy packages."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "neff_bench"
ALLOWED = {
    "terminal": set(),
    "neffs": {"terminal", "parsers"},
    "parsers": {"terminal", "neffs"},
    "simulator": {"terminal", "neffs", "parsers"},
    "stage1_generate": {"terminal", "neffs", "parsers"},
    "stage2_profile": {"terminal", "neffs", "parsers"},
    "experiments": {"terminal", "neffs", "parsers", "stage1_generate", "stage2_profile"},
    "install_benchmarks": {"terminal"},
    "history": {"terminal", "neffs", "parsers", "stage2_profile"},
    "doors": {"terminal", "neffs", "parsers", "simulator", "stage1_generate", "stage2_profile"},
}
ALLOWED_IN_TEMPLATES = {"stage1_generate", "stage2_profile"}
HEAVY = ["numpy", "ml_dtypes", "jax", "rich.progress", "yaml", "google.protobuf"]


def imported(path: Path) -> set[str]:
    """Every module that a file imports, by its whole name; `from a.b import c` gives `a.b.c`."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


def rooms(path: Path) -> set[str]:
    """The rooms of this project that a file imports from."""
    parts = [name.split(".") for name in imported(path)]
    return {words[1] for words in parts if words[0] == PACKAGE and words[1] in ALLOWED}


@pytest.mark.parametrize("room", ALLOWED)
def test_a_room_imports_only_what_it_may(room):
    wrong = []
    for path in (ROOT / room).rglob("*.py"):
        allowed = ALLOWED_IN_TEMPLATES if "template" in path.parts else ALLOWED[room]
        wrong += [f"{path.relative_to(ROOT)} imports {name}" for name in rooms(path) - {room} - allowed]
    assert wrong == []


def test_no_file_imports_a_room_by_its_bare_name():
    """The folders lie at the top level, so a bare `import parsers` works in a checkout and nowhere else."""
    folders = [*ALLOWED, PACKAGE, "tests", "tools", "bench"]
    paths = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in paths
        for name in imported(path)
        if name.split(".")[0] in ALLOWED
    ]
    assert len(paths) > 400
    assert wrong == []


def test_every_room_is_linked_into_the_package():
    for room in ALLOWED:
        assert (ROOT / PACKAGE / room).resolve() == ROOT / room


FREE_OF_CIRCLES = ["parsers"]


@pytest.mark.parametrize("room", FREE_OF_CIRCLES)
def test_modules_of_a_room_import_each_other_without_a_circle(room):
    """Imports inside functions and those for type checkers count too."""
    modules = {
        ".".join((PACKAGE, *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__"): path
        for path in (ROOT / room).rglob("*.py")
    }
    arrows = {
        name: {other for used in imported(path) for other in (used, used.rpartition(".")[0]) if other in modules}
        for name, path in modules.items()
    }
    while free := [name for name, others in arrows.items() if not others & arrows.keys() - {name}]:
        for name in free:
            del arrows[name]
    assert sorted(arrows) == []


@pytest.mark.parametrize(
    "module",
    ["cli", "stage1_generate.cli", "stage2_profile.cli", "simulator.commands.cli", "parsers.cli"],
)
def test_a_command_starts_without_heavy_packages(module):
    check = f"import sys, {PACKAGE}.{module}; print([name for name in {HEAVY!r} if name in sys.modules])"
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
