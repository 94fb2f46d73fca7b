"""Extracts the source of one function of a module, with what it needs of that module: a test's wrapper around a kernel becomes a file of its own."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable
from typing import Any

_TESTS = ("test", "pytest")


def cut(function: Callable[..., Any]) -> str:
    """Return the statements of its module that bind a function's name and, in turn, the names that they use, in their order. Raises
    ValueError where these import tests."""
    source = inspect.getsource(sys.modules[function.__module__])
    statements = ast.parse(source).body
    kept: set[int] = set()
    wanted, seen = {function.__name__}, set[str]()
    while wanted:
        seen |= wanted
        used = set()
        for at, statement in enumerate(statements):
            if at not in kept and _bound(statement) & wanted:
                kept.add(at)
                used |= {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
        wanted = used - seen
    whole = [_only(statements[at], seen) for at in sorted(kept)]
    for statement in whole:
        if isinstance(statement, ast.ImportFrom) and (statement.module or "").partition(".")[0] in _TESTS:
            raise ValueError(f"its wrapper {function.__name__} imports {statement.module}")
    return "\n\n".join(map(ast.unparse, whole)) + "\n"


def _bound(statement: ast.stmt) -> set[str]:
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        return {statement.name}
    names = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    imports = [node for node in ast.walk(statement) if isinstance(node, (ast.Import, ast.ImportFrom))]
    return names | {_name(alias) for node in imports for alias in node.names}


def _only(statement: ast.stmt, names: set[str]) -> ast.stmt:
    """Return an import without the names that are not used."""
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        statement.names = [alias for alias in statement.names if _name(alias) in names]
    return statement


def _name(alias: ast.alias) -> str:
    return (alias.asname or alias.name).partition(".")[0]
