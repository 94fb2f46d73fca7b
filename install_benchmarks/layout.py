"""What `benchmarks/` consists of: relative names and where each file comes from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

HOME = Path(__file__).resolve().parent.parent
"""The folder that holds this project's packages: a checkout, site-packages or another `benchmarks/`."""

PACKAGES = ("experiments", "neffs", "parsers", "simulator", "stage1_generate", "stage2_profile")
MODULES = ("neff_bench.py",)
TEMPLATE = Path(__file__).resolve().parent / "template"
SUFFIXES = (".py", ".yaml", ".json", ".md", ".yml", ".txt")
ASLEEP = {"ruff.toml.txt": "ruff.toml", "gitignore.txt": ".gitignore"}
"""Template files that would rule over this repository too under their own names."""


def sources() -> Iterator[tuple[str, Path]]:
    """(name inside `benchmarks/`, file to copy) for every file, in a stable order."""
    for package in PACKAGES:
        for path in _files(HOME / package):
            yield f"{package}/{path.relative_to(HOME / package).as_posix()}", path
    yield from _rest()


def links() -> Iterator[tuple[str, Path]]:
    """(name inside `benchmarks/`, what to link to): whole packages, and single files."""
    for package in PACKAGES:
        yield package, HOME / package
    yield from _rest()


def _rest() -> Iterator[tuple[str, Path]]:
    """The single files: the umbrella command, the shapes of known models, the template."""
    for module in MODULES:
        yield module, HOME / module
    for path in _files(HOME / "shapes"):  # an installed package has none
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
