"""Finds the kernels of a checkout of nki-library in its source without importing any of it.

A kernel is a public function of a module below `core/` or `experimental/` that is decorated with `nki.jit`, or has the name of its module. One that
only other modules of the library import counts where a test or a shapes file names it.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from neff_bench.installation import IMPORT_ROOT
from neff_bench.stage1_generate.jobs.closure import Closures

LIBRARY = Path("src/nkilib_src/nkilib")
TESTS = Path("test/integration")
PARTS = ("core", "experimental")
SHARED = "utils"
"""A folder of what kernels share."""

Named = tuple[str, str]
"""A module and a name that is imported from it."""


@dataclass(frozen=True)
class Kernel:
    """`entry`: as a shapes file names it. `file`: relative to the checkout."""

    name: str
    entry: str
    file: str


@dataclass(frozen=True)
class Library:
    """A checkout at `path`. `declared`: entries that a shapes file has cases of, which are kernels whoever uses them."""

    path: Path
    declared: frozenset[str] = frozenset()

    @cached_property
    def kernels(self) -> tuple[Kernel, ...]:
        """In the order of their entries."""
        inside: set[Named] = set()
        candidates: list[Kernel] = []
        for file in sorted((self.path / LIBRARY).rglob("*.py")):
            tree, module = _tree(file), self._module(file)
            if file.name != "__init__.py":  # a package that passes on a name makes no use of it
                inside |= {named for named in _imported(tree, module) if named[0] != module}
            part, *folders = file.relative_to(self.path / LIBRARY).parts
            candidates += [
                Kernel(name, f"{module}:{name}", str(file.relative_to(self.path)))
                for name, jit in _functions(tree)
                if part in PARTS and SHARED not in folders and (jit or name == file.stem)
            ]
        tested = set().union(*self.tests.values())
        found = [
            each
            for each in candidates
            if each.entry in self.declared or _names(tested, each) or not _names(inside, each)
        ]
        return tuple(sorted(found, key=lambda kernel: kernel.entry))

    @cached_property
    def tests(self) -> dict[Path, set[Named]]:
        """Test file -> what it imports."""
        files = sorted((self.path / TESTS).rglob("test_*.py"))
        return {file: set(_imported(_tree(file), "")) for file in files if not file.stem.endswith("_config")}

    @cached_property
    def users(self) -> dict[str, tuple[Kernel, ...]]:
        """File, relative to the checkout -> the kernels whose import reads it."""
        closures = Closures((self.path / "src",))
        found: dict[str, list[Kernel]] = {}
        for kernel in self.kernels:
            for module in closures.modules(kernel.entry.partition(":")[0]):
                there = closures.find(module)
                if there is not None and there.file is not None:
                    found.setdefault(str(there.file.relative_to(self.path)), []).append(kernel)
        return {file: tuple(users) for file, users in found.items()}

    def touched(self, path: str) -> tuple[Kernel, ...]:
        """Return the kernels that a change of this file can change; of a file that none of them reads, those of its folder, or of
        the code that lies there."""
        if path in self.users:
            return self.users[path]
        folder = path.rpartition("/")[0]
        below = [kernel for kernel in self.kernels if kernel.file.startswith(f"{folder}/")]
        beside = [kernel for file, users in self.users.items() if file.startswith(f"{folder}/") for kernel in users]
        return tuple(dict.fromkeys(below or beside))

    def tests_of(self, kernel: Kernel) -> list[Path]:
        """Return the test files that import a kernel, the ones with its name first."""
        found = [file for file, named in self.tests.items() if _names(named, kernel)]
        return sorted(found, key=lambda file: kernel.name not in file.stem)

    def imported_by(self, module: str) -> list[Kernel]:
        """Return the kernels that a module imports by name: one of the library, or one of ours around it."""
        there = Closures((self.path / "src", IMPORT_ROOT)).find(module)
        if there is None or there.file is None:
            return []
        named = set(_imported(_tree(there.file), module))
        return [kernel for kernel in self.kernels if _names(named, kernel)]

    def _module(self, file: Path) -> str:
        """Return the module of a file. That of a package ends in `__init__`, so that one dot is the package for every file."""
        parts = file.relative_to(self.path / "src").with_suffix("").parts
        return ".".join(parts)


def _tree(file: Path) -> ast.Module:
    """Return an empty module for a file that is no Python: a kernel in it cannot be built, and its case says so."""
    try:
        return ast.parse(file.read_bytes())
    except (SyntaxError, ValueError, RecursionError):
        return ast.Module([], [])


def _names(imported: Collection[Named], kernel: Kernel) -> bool:
    """Return whether a kernel is imported, from its module or by way of a package above it."""
    module = kernel.entry.partition(":")[0]
    return any(name == kernel.name and (module == base or module.startswith(f"{base}.")) for base, name in imported)


def _functions(tree: ast.Module) -> Iterator[tuple[str, bool]]:
    """Yield public functions at the top of a module, and whether `nki.jit` decorates them."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            yield node.name, any("jit" in ast.unparse(each) for each in node.decorator_list)


def _imported(tree: ast.Module, module: str) -> Iterator[Named]:
    """Yield (module, name) of every `from module import name`; `module`: that of the file, for relative imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = module.split(".")[: -node.level]
                base = ".".join([*above, base] if base else above)
            yield from ((base, alias.name) for alias in node.names)
