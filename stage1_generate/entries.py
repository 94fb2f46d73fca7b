"""Finds entries: `file.py:function`, relative to a folder, or `package.module:function`. Where they lie, and what they name."""

from __future__ import annotations

import ast
import sys
import traceback
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from neff_bench.neffs.kernel_file import KernelFileLoader, execute, importing, kernel_module
from neff_bench.stage1_generate.jobs.closure import imports_relatively
from neff_bench.system.files import read_plain


@dataclass(frozen=True)
class Place:
    """Holds where an entry lies. `entry`: the same with an absolute path or a module's name. `root`: the file or the module
    that an import closure begins with. `folder`: what has to be on `sys.path`."""

    entry: str
    root: str | Path
    folder: Path


def place(entry: str, folder: Path) -> Place:
    """Return a file that is part of a package and imports relatively is taken as a module of that package."""
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
    """Return the object that an absolute entry names. What importing its code raises comes through."""
    file, _, names = entry.rpartition(":")
    if file.endswith(".py"):
        found: Any = load_file(Path(file))
    else:
        with importing():
            found = import_module(file)
    for name in names.split("."):
        found = getattr(found, name)
    return found


def load_file(path: Path) -> Any:
    """Return the module that a file is, with its folder first on `sys.path`, as Python has it for a script. A file that has changed
    since it was loaded is loaded again."""
    with importing():
        return _loaded(path)


def _loaded(path: Path) -> Any:
    known = sys.modules.get(path.stem)
    if known is not None and getattr(known, "__file__", None) == str(path):
        before = known.__loader__
        if not isinstance(before, KernelFileLoader) or before.source == path.read_bytes():
            return known
        known = None
    module = kernel_module(path)
    if known is None:
        sys.modules[path.stem] = module
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    try:
        execute(module)
    except BaseException:
        if known is None:
            del sys.modules[path.stem]
        raise
    return module


def line_of(error: BaseException, file: str) -> int | None:
    """Return the innermost line of a file that an error comes from; None where no line of it ran."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return lines[-1] if lines else None


def defined(path: Path) -> tuple[str, ...] | None:
    """Return the functions and other names that a file binds at its top level, in order, found without running it; None when that
    cannot be known (it imports `*`, or is no Python)."""
    try:
        return _bound(read_plain(path))
    except OSError:
        return None


@cache
def _bound(source: bytes) -> tuple[str, ...] | None:
    """Return the same for the text of a file. A file may hold the kernels of many cases, and each case asks."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return None
    names: dict[str, None] = {}
    todo: list[ast.AST] = list(reversed(tree.body))
    while todo:
        node = todo.pop()
        if isinstance(node, _BODIES):
            names[node.name] = None
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names[node.id] = None
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            if any(alias.name == "*" for alias in node.names):
                return None
            names.update(dict.fromkeys((alias.asname or alias.name).partition(".")[0] for alias in node.names))
        todo.extend(reversed(list(ast.iter_child_nodes(node))))
    return tuple(names)


def functions(path: Path) -> list[str]:
    """Return the functions that a Python file defines at its top level, in order."""
    body = ast.parse(read_plain(path)).body
    return [node.name for node in body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]


_BODIES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
"""What has names of its own inside."""
