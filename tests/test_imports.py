"""Imports point one way between the rooms, and commands start without the heavy packages."""

import ast
import builtins
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Collection
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "neff_bench"
HOUSE = ROOT / PACKAGE
ALLOWED = {
    "system": set(),
    "terminal": {"system"},
    "chips": set(),
    "sdk": {"system"},
    "rules": {"chips", "sdk"},
    "parsers": {"chips", "terminal", "system"},
    "neffs": {"chips", "parsers", "system"},
    "viewer": {"chips", "parsers", "terminal"},
    "simulator": {"chips", "neffs", "parsers", "rules", "system", "terminal", "viewer"},
    "stage1_generate": {"chips", "neffs", "parsers", "sdk", "system", "terminal"},
    "stage2_profile": {"chips", "neffs", "parsers", "sdk", "system", "terminal", "viewer"},
    "history": {"stage2_profile", "system", "terminal"},
    "nkilib": {"chips", "neffs", "simulator", "stage1_generate", "system", "terminal"},
    "doors": {
        "chips",
        "neffs",
        "parsers",
        "rules",
        "sdk",
        "simulator",
        "stage1_generate",
        "stage2_profile",
        "system",
        "terminal",
        "viewer",
    },
    "experiments": {
        "chips",
        "doors",
        "neffs",
        "parsers",
        "stage1_generate",
        "stage2_profile",
        "system",
        "terminal",
    },
}
"""The rooms in the order of the house, lowest first: a room imports only from those before it, and uses each permission."""
ALLOWED_IN_TEMPLATES = {"nkilib", "stage1_generate", "stage2_profile"}
HEAVY = ["importlib.metadata", "numpy", "ml_dtypes", "jax", "rich.progress", "yaml", "google.protobuf"]


SIMULATOR = (
    {"native"},
    {"recording", "machine", "costs"},
    {"operations"},
    {"compiler"},
    {"execution"},
    {"timing", "calibration"},
    {"files"},
    {"nki"},
    {"hlo"},
    {"commands"},
)
"""The sub-rooms of the simulator: each imports from those before it."""

MIRRORS = {
    "parsers/formats": "the layout of a file beside its reader",
    "simulator/nki/beta": "the older dialect, module by module",
    "stage1_generate/toolchains/neuron": "the same routes as toolchains/sim",
    "stage1_generate/jobs": "the same parts as the room's own: worker, warm",
    "stage2_profile/compare": "a command of its own",
    "stage2_profile/gate": "a command of its own",
    "stage2_profile/upkeep": "commands of their own",
    "stage2_profile/foreign": "rows of files from elsewhere",
}
"""Sub-rooms whose modules may be named like others of the room, and why."""


@cache
def imported(path: Path) -> frozenset[str]:
    """Every module that a file imports, by its whole name; `from a.b import c` gives `a.b.c`."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return frozenset(names)


def rooms(path: Path) -> set[str]:
    """The rooms of this project that a file imports from."""
    parts = [name.split(".") for name in imported(path)]
    return {words[1] for words in parts if words[0] == PACKAGE and words[1] in ALLOWED}


def test_rooms_import_downwards_and_use_every_permission():
    order = list(ALLOWED)
    assert all(order.index(below) < order.index(room) for room, allowed in ALLOWED.items() for below in allowed)
    used = {room: {name for path in (HOUSE / room).rglob("*.py") for name in rooms(path)} for room in ALLOWED}
    assert {room: sorted(allowed - used[room]) for room, allowed in ALLOWED.items() if allowed - used[room]} == {}


def test_no_room_imports_the_face():
    """`neff_bench` itself and `neff_bench.cli` are made of the rooms; `errors` and `installation` lie below all."""
    wrong = [
        f"{path.relative_to(HOUSE)} imports {name}"
        for room in ALLOWED
        for path in (HOUSE / room).rglob("*.py")
        for name in imported(path)
        if (words := name.split("."))[0] == PACKAGE and words[1] not in {*ALLOWED, "errors", "installation"}
        if "template" not in path.parts
    ]
    assert wrong == []


@pytest.mark.parametrize("room", ALLOWED)
def test_a_room_imports_only_what_it_may(room):
    wrong = []
    for path in (HOUSE / room).rglob("*.py"):
        allowed = ALLOWED_IN_TEMPLATES if "template" in path.parts else ALLOWED[room]
        wrong += [f"{path.relative_to(HOUSE)} imports {name}" for name in rooms(path) - {room} - allowed]
    assert wrong == []


def test_no_file_imports_a_room_by_its_bare_name():
    """The folders lie at the top level, so a bare `import parsers` works in a checkout and nowhere else."""
    folders = [
        *(HOUSE / room for room in ALLOWED),
        *(ROOT / name for name in ("tests", "tools", "validation", "bench")),
    ]
    paths = [path for folder in folders for path in folder.rglob("*.py")] + [*HOUSE.glob("*.py")]
    bare = re.compile(
        rf"^\s*(?:from|import)\b[^\n]*(?<![.\w])(?:{'|'.join(ALLOWED)})\b", re.M
    )  # parsing all files takes seconds
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in paths
        if bare.search(path.read_text())
        for name in imported(path)
        if name.split(".")[0] in ALLOWED
    ]
    assert len(paths) > 400
    assert wrong == []


AT_THE_TOP = {"stage1_generate", "stage2_profile", "parsers", "neffs"}
"""The rooms that the repository shows first: links in the package. All others lie in it."""


def test_every_room_is_in_the_package():
    assert {path.name for path in HOUSE.iterdir() if path.is_symlink()} == AT_THE_TOP
    for room in ALLOWED:
        assert (HOUSE / room).resolve() == (ROOT if room in AT_THE_TOP else HOUSE) / room


def modules() -> dict[str, Path]:
    """Every module of the package by its name below it."""
    paths = [path for room in ALLOWED for path in (HOUSE / room).rglob("*.py") if "template" not in path.parts]
    return {".".join(path.relative_to(HOUSE).with_suffix("").parts).removesuffix(".__init__"): path for path in paths}


def imports_of_a_module(path: Path, known: Collection[str]) -> set[str]:
    """The modules of the package that a file imports anywhere, also inside functions and for type checkers."""
    whole = {name.removeprefix(f"{PACKAGE}.") for name in imported(path)}
    return {name if name in known else name.rpartition(".")[0] for name in whole} & set(known)


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """The groups of nodes that reach each other."""
    reach = {node: set(after) for node, after in graph.items()}
    for middle in graph:
        for node in graph:
            if middle in reach[node]:
                reach[node] |= reach[middle]
    groups = {
        frozenset(other for other in reach[node] if node in reach[other]) for node in graph if node in reach[node]
    }
    return sorted(sorted(group) for group in groups)


def test_no_module_imports_itself_by_way_of_others():
    known = modules()
    graph = {name: imports_of_a_module(path, known) - {name} for name, path in known.items()}
    assert len(graph) > 250 and sum(map(len, graph.values())) > 1000
    assert circles(graph) == []


def test_circles_are_found_through_any_number_of_modules():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]


def test_the_sub_rooms_of_the_simulator_import_downwards():
    known = modules()
    floor = {room: number for number, rooms in enumerate(SIMULATOR) for room in rooms}
    wrong = []
    for name, path in known.items():
        room = name.split(".")[1:2]
        for other in imports_of_a_module(path, known):
            below = other.split(".")[1:2]
            if name.startswith("simulator.") and other.startswith("simulator.") and room != below:
                if below[0] in floor and floor.get(room[0], -1 if room[0] != "__main__" else 99) <= floor[below[0]]:
                    wrong.append(f"{name} imports {other}")
    assert wrong == []


@pytest.mark.parametrize("room", ALLOWED)
def test_a_name_stands_for_one_module_of_a_room(room):
    places = defaultdict(list)
    for path in (HOUSE / room).rglob("*.py"):
        place = str(path.parent.relative_to(HOUSE))
        if "template" in path.parts or path.stem.startswith("__") or place in MIRRORS:
            continue
        places[path.stem].append(place)
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_no_name_of_a_file_stands_in_more_than_three_places():
    """A command's `cli` and a room's `errors` mean the same everywhere; any other name says what its module holds."""
    names = [path.name for room in ALLOWED for path in (HOUSE / room).rglob("*.py") if "template" not in path.parts]
    alike = {name: count for name, count in Counter(names).items() if count > 3}
    assert alike.keys() == {"__init__.py", "cli.py", "errors.py"}


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
        for place in [*(HOUSE / room for room in ALLOWED), ROOT / "tests"]
        for path in place.rglob("*.py")
        if len(path.read_text().splitlines()) > 450
    ]
    assert long == []


def test_every_error_has_one_root():
    """What a class of this project raises ends at `NeffBenchError`; `Ended` is no error but the end."""
    builtin = {name for name in dir(builtins) if name.endswith(("Error", "Exception"))}
    wrong = []
    for path in (path for room in ALLOWED for path in (HOUSE / room).rglob("*.py") if "template" not in path.parts):
        for node in ast.walk(ast.parse(path.read_text())):
            bases = {ast.unparse(base) for base in node.bases} if isinstance(node, ast.ClassDef) else set()
            if bases and bases <= builtin and node.name != "NeffBenchError":
                wrong.append(f"{path.relative_to(ROOT)}: {node.name}")
    assert wrong == []
