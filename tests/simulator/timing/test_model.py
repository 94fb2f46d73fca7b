"""The name of the timing model changes with everything that decides a simulated time."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from neff_bench.installation import PACKAGE
from neff_bench.simulator.timing import model

COVERED = {str(path.relative_to(PACKAGE)) for path in model.sources()}


def imported(path: Path) -> set[str]:
    """Modules of this package that a file imports, wherever in the file it does so."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("neff_bench."):
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names if alias.name.startswith("neff_bench.")}
    return names


def file_of(module: str) -> Path | None:
    path = PACKAGE.joinpath(*module.split(".")[1:])
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return path if path.is_file() else None


def test_the_fingerprint_covers_whatever_a_covered_module_imports():
    for path in model.sources():
        for module in imported(path) if path.suffix == ".py" else ():
            found = file_of(module)
            assert found is None or found in model.sources(), f"{path} imports {module}"


def test_the_fingerprint_covers_the_modules_that_scheduling_loads():
    """What Python itself loads on the way from a program to its times, apart from what marks a profile as simulated."""
    script = (
        "import sys\n"
        "from tests.simulator.programs import matmul\n"
        "before = {n for n in sys.modules}\n"
        "from neff_bench.simulator.timing.schedule import schedule\n"
        "from neff_bench.simulator.timing.timeline import timeline_of\n"
        "timeline_of(schedule(matmul()))\n"
        "print(*{n for n in sys.modules if n.startswith('neff_bench.')} - before)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    for module in done.stdout.split():
        path = file_of(module)
        if path is not None and path.name != "__init__.py":
            assert path in model.sources(), module


def test_every_chip_is_covered():
    assert {str(path.relative_to(PACKAGE)) for path in (PACKAGE / "chips").glob("*.py")} <= COVERED


@pytest.mark.parametrize(
    "part",
    [
        "native/loop.py",
        "timing/timeline.py",
        "compiler/code/order.py",
        "compiler/code/allocation.py",
        "costs/transfers.py",
    ],
)
def test_the_parts_of_the_model_are_covered(part):
    assert f"simulator/{part}" in COVERED


def name_with(monkeypatch, changed, text):
    """The model's name when `text` ends the file `changed`."""
    real = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: real(path) + (text if path == changed else b""))
    model.fingerprint.cache_clear()
    name = model.model_name("trn2")
    monkeypatch.undo()
    model.fingerprint.cache_clear()
    return name


def test_a_change_of_any_covered_file_changes_the_name(monkeypatch):
    before = model.model_name("trn2")
    for changed in model.sources():
        assert name_with(monkeypatch, changed, b"\nint_or_name = 1;\n") != before, changed
    assert model.model_name("trn2") == before


def test_a_comment_in_any_covered_file_leaves_the_name(monkeypatch):
    before = model.model_name("trn2")
    for changed in model.sources():
        comment = b"\n# a comment\n\n'text'\n" if changed.suffix == ".py" else b"\n/* a comment */ // another\n"
        assert name_with(monkeypatch, changed, comment) == before, changed
