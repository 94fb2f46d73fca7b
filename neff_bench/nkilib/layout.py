"""Says what `benchmarks/` consists of: relative names and what each file holds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from neff_bench.errors import NeffBenchError
from neff_bench.installation import PACKAGE, __version__

ROOMS = tuple(sorted(path.name for path in PACKAGE.iterdir() if (path / "__init__.py").is_file()))
"""The rooms that --vendor copies."""
INSTALLING = ("install.py", "install_cli.py", "layout.py", "template", "vendor")
"""What of this room it leaves out."""

TEMPLATE = Path(__file__).resolve().parent / "template"
VENDOR = Path(__file__).resolve().parent / "vendor"
"""Files beside a copied package."""
SUFFIXES = (".py", ".yaml", ".json", ".md", ".yml", ".txt", ".html", ".css", ".js")
ASLEEP = {"ruff.toml.txt": "ruff.toml", "gitignore.txt": ".gitignore"}
"""Files that would rule over this repository too under their own names."""
SHAPES = "shapes.yaml"
REQUIREMENTS = "requirements.txt"
UNPUBLISHED = """\
# Where pip finds no such release: `neff-bench install-benchmarks CHECKOUT --from WHEEL` or `--from PATH` writes where to take it
# from instead, and `--vendor` copies the package.
"""
_VERSION = re.compile(r"\d+(\.\d+)*((a|b|rc|\.post|\.dev)\d+)?")
_REFERENCE = re.compile(r"    reference: (nkilib_src[\w.]*):")
_ENTRY = re.compile(r"kernel: (nkilib_src[\w.]*):")


class InstallError(NeffBenchError):
    """Why `benchmarks/` was not written or removed. One line: what, where, what to do."""


def template(checkout: Path, source: str | None) -> Iterator[tuple[str, bytes]]:
    """Yield (name inside `benchmarks/`, content) of each file, in a stable order. `source`: what requirements.txt names, see
    `requirement`. Raises InstallError."""
    header = licence_header(checkout)
    for path in _files(TEMPLATE):
        name, text = path.relative_to(TEMPLATE).as_posix(), path.read_text(encoding="utf-8")
        if name == SHAPES:
            text = shapes_of(text, checkout)
        elif name == REQUIREMENTS:
            text = requirement(source) + "\n"
        yield name, ((header if path.suffix == ".py" else "") + text).encode()


def vendored() -> Iterator[tuple[str, bytes]]:
    """Yield the same for the copy of the package and what it needs beside it."""
    for path in sorted((*PACKAGE.glob("*.py"), PACKAGE / "py.typed")):
        yield f"{PACKAGE.name}/{path.name}", path.read_bytes()
    for room in ROOMS:
        for path in _files(PACKAGE / room):
            if room == "nkilib" and path.relative_to(PACKAGE / room).parts[0] in INSTALLING:
                continue
            yield f"{PACKAGE.name}/{room}/{path.relative_to(PACKAGE / room).as_posix()}", path.read_bytes()
    yield from beside_package()


def beside_package() -> Iterator[tuple[str, bytes]]:
    """Yield what stands in `benchmarks/` with a package that is not installed."""
    for path in _files(VENDOR):
        yield ASLEEP.get(path.name, path.name), path.read_bytes()


def licence_header(checkout: Path) -> str:
    """Return the comment that the checkout's own files begin with; nothing where they have none."""
    lines = (
        (checkout / "src" / "nkilib_src" / "nkilib" / "__init__.py")
        .read_text(encoding="utf-8")
        .splitlines(keepends=True)
    )
    count = next((number for number, line in enumerate(lines) if not line.startswith("#")), len(lines))
    return "".join(lines[:count])


def requirement(source: str | None) -> str:
    """Return what requirements.txt says: a release, that of this version unless another is named; a wheel with its sha256; or a checkout
    of this project. Raises InstallError."""
    if source is None or _VERSION.fullmatch(source):
        return f"{UNPUBLISHED}neff-bench=={source or __version__}"
    path = Path(source)
    if re.fullmatch(r"neff_bench-[^-]+-.*\.whl", path.name) and path.is_file():
        return f"neff-bench @ {path.resolve().as_uri()}#sha256={sha256(path.read_bytes()).hexdigest()}"
    project = path / "pyproject.toml"
    if project.is_file() and re.search(r'(?m)^name = "neff-bench"', project.read_text(encoding="utf-8")):
        return f"neff-bench @ {path.resolve().as_uri()}"
    raise InstallError(
        f"--from {source}: expected a version such as {__version__}, a wheel neff_bench-{__version__}-....whl, or a checkout of "
        "this project"
    )


def shapes_of(text: str, checkout: Path) -> str:
    """Return the cases of kernels that the checkout has; kernels and references of other releases are left out."""
    references = [line for line in text.splitlines(keepends=True) if _REFERENCE.match(line)]
    for line in references:
        text = text if _has_module(_REFERENCE.findall(line)[0], checkout) else text.replace(line, "")
    head, *entries = re.split(r"(?m)^(?=  - )", text)
    kernels = map(_ENTRY.search, entries)
    return head + "".join(entry for entry, of in zip(entries, kernels) if of is None or _has_module(of[1], checkout))


def _has_module(name: str, checkout: Path) -> bool:
    return (checkout / "src" / f"{name.replace('.', '/')}.py").is_file()


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.suffix in SUFFIXES and path.is_file() and "__pycache__" not in path.parts:
            yield path
