"""Entries: `file.py:function`, relative to a folder, or `package.module:function`. Where they lie, and what they name."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from neff_bench.stage1_generate.build.closure import imports_relatively


@dataclass(frozen=True)
class Place:
    """Where an entry lies. `entry`: the same with an absolute path or a module's name. `root`: the file or the module for an
    import closure. `folder`: what has to be on `sys.path`."""

    entry: str
    root: str | Path
    folder: Path


def place(entry: str, folder: Path) -> Place:
    """A file that is part of a package and imports relatively is taken as a module of that package."""
    file, _, name = entry.rpartition(":")
    if not file.endswith(".py"):
        return Place(entry, file, folder)
    path = (folder / file).resolve()
    top = path.parent
    while (top / "__init__.py").is_file():
        top = top.parent
    if top == path.parent or not imports_relatively(path):
        return Place(f"{path}:{name}", path, path.parent)
    module = ".".join(path.relative_to(top).with_suffix("").parts)
    return Place(f"{module}:{name}", module, top)


def load(entry: str) -> Any:
    """The object that an absolute entry names. What importing its code raises comes through."""
    file, _, names = entry.rpartition(":")
    if file.endswith(".py"):
        found: Any = load_file(Path(file))
    else:
        with _no_bytecode():
            found = import_module(file)
    for name in names.split("."):
        found = getattr(found, name)
    return found


class _FromSource(SourceFileLoader):
    """Compiles the file each time. Python takes cached bytecode where the size and the second of the last change agree, and
    a program that writes variants of a kernel changes a file faster than that."""

    source: bytes

    def get_code(self, fullname: str) -> Any:
        path = self.get_filename(fullname)
        self.source = self.get_data(path)
        return self.source_to_code(self.source, path)


@contextmanager
def _no_bytecode() -> Iterator[None]:
    """The modules that a kernel imports may change as fast as the kernel; none is left behind as bytecode."""
    before = sys.dont_write_bytecode
    sys.dont_write_bytecode = True
    try:
        yield
    finally:
        sys.dont_write_bytecode = before


def load_file(path: Path) -> Any:
    """The module that a file is, with its folder first on `sys.path`, as Python has it for a script. A file that has changed
    since it was loaded is loaded again."""
    known = sys.modules.get(path.stem)
    if known is not None and getattr(known, "__file__", None) == str(path):
        before = known.__loader__
        if not isinstance(before, _FromSource) or before.source == path.read_bytes():
            return known
        known = None
    loader = _FromSource(path.stem, str(path))
    spec = spec_from_file_location(path.stem, path, loader=loader)
    if spec is None:
        raise ImportError(f"{path} is no Python file")
    module = module_from_spec(spec)
    if known is None:
        sys.modules[path.stem] = module
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    try:
        with _no_bytecode():
            loader.exec_module(module)
    except BaseException:
        if known is None:
            del sys.modules[path.stem]
        raise
    return module


def defined(path: Path) -> list[str] | None:
    """The functions and other names that a file binds at its top level, in order, found without running it; None when that
    cannot be known (it imports `*`, or is no Python)."""
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return None
    names: dict[str, None] = {}
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names[node.name] = None
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names[node.id] = None
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            if any(alias.name == "*" for alias in node.names):
                return None
            names.update(dict.fromkeys((alias.asname or alias.name).partition(".")[0] for alias in node.names))
    return list(names)


def functions(path: Path) -> list[str]:
    """The functions that a file defines at its top level."""
    return [node.name for node in ast.parse(path.read_bytes()).body if isinstance(node, ast.FunctionDef)]
