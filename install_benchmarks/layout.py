"""What `benchmarks/` consists of: relative names and where each file comes from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from neff_bench.installation import IMPORT_ROOT, PACKAGE

ROOMS = tuple(
    sorted(
        path.name
        for path in PACKAGE.iterdir()
        if (path / "__init__.py").is_file() and path.name != "install_benchmarks"
    )
)
"""The rooms that are copied: all but this one."""

TEMPLATE = Path(__file__).resolve().parent / "template"
SUFFIXES = (".py", ".yaml", ".json", ".md", ".yml", ".txt")
ASLEEP = {"ruff.toml.txt": "ruff.toml", "gitignore.txt": ".gitignore"}
"""Template files that would rule over this repository too under their own names."""


def sources() -> Iterator[tuple[str, Path]]:
    """(name inside `benchmarks/`, file to copy) for every file, in a stable order."""
    for path in sorted((*PACKAGE.glob("*.py"), PACKAGE / "py.typed")):
        yield f"{PACKAGE.name}/{path.name}", path
    for room in ROOMS:
        for path in _files(PACKAGE / room):
            yield f"{PACKAGE.name}/{room}/{path.relative_to(PACKAGE / room).as_posix()}", path
    yield from _rest()


def links() -> Iterator[tuple[str, Path]]:
    """(name inside `benchmarks/`, what to link to): the package, and single files."""
    yield PACKAGE.name, PACKAGE
    yield from _rest()


def _rest() -> Iterator[tuple[str, Path]]:
    """The single files: the shapes of known models, the template."""
    for path in _files(IMPORT_ROOT / "shapes"):  # an installed package has none
        yield f"shapes/{path.name}", path
    yield from _template()


def _template() -> Iterator[tuple[str, Path]]:
    for path in _files(TEMPLATE):
        name = path.relative_to(TEMPLATE).as_posix()
        yield ASLEEP.get(name, name), path


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.suffix in SUFFIXES and path.is_file() and "__pycache__" not in path.parts:
            yield path
