"""Reads a kernel's source as rules see it: what each name stands for, which functions run on the device, what comments allow."""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, TypeVar

Node = TypeVar("Node", bound=ast.AST)

OLD = "neuronxcc.nki"
"""The package of the old dialect. Its names are given as those of `nki`."""
_KERNEL = ("nki.jit", "nki.trace", "nki.baremetal", "nki.benchmark", "nki.profile")
_DEVICE = ("nki.isa.", "nki.language.")
_HOST = ("nki.isa.get_", "nki.language.nc", "nki.language.spmd_dim")
"""What a function of the host may call, too."""
_IGNORE = re.compile(r"#\s*nbl:\s*ignore(?:\[([^\]]*)\])?")


class Source:
    """A parsed file. Raises SyntaxError for what is no Python.

    `order`: its nodes, each before what it holds. `names`: what each imported name stands for, in full. `old`: whether the file imports the old dialect, and not the current one.
    """

    def __init__(self, text: str, path: str) -> None:
        self.text = text
        self.path = path
        self.tree = ast.parse(text)
        self.order: list[ast.AST] = []
        self._end: dict[ast.AST, tuple[int, int]] = {}
        self._lay_out(self.tree)
        self.names = dict(_imported([*self.of(ast.Import), *self.of(ast.ImportFrom)]))
        self.nki = any(name == "nki" or name.startswith("nki.") for name in self.names.values())
        self.old = not self.nki and any(name == OLD or name.startswith(f"{OLD}.") for name in self.names.values())
        self.nki |= self.old

    def _lay_out(self, node: ast.AST) -> None:
        start = len(self.order)
        self.order.append(node)
        for name in node._fields:
            value = getattr(node, name, None)
            if isinstance(value, ast.AST):
                self._lay_out(value)
            elif isinstance(value, list):
                for one in value:
                    if isinstance(one, ast.AST):
                        self._lay_out(one)
        self._end[node] = start, len(self.order)

    @cached_property
    def of_module(self) -> set[str]:
        """The names that imports of the module itself make, those under its `if` and `try` among them."""
        inner = {id(one) for function in self.of(ast.FunctionDef) for one in self.below(function)}
        every: list[ast.Import | ast.ImportFrom] = [*self.of(ast.Import), *self.of(ast.ImportFrom)]
        lines = [one for one in every if id(one) not in inner]
        return {alias.asname or alias.name.partition(".")[0] for line in lines for alias in line.names}

    def below(self, node: ast.AST) -> list[ast.AST]:
        """Return a node and all that it holds."""
        start, end = self._end[node]
        return self.order[start:end]

    def held(self, node: ast.AST, kind: type[Node]) -> list[Node]:
        """Return the nodes of a type among a node and all that it holds."""
        start, end = self._end[node]
        places = self._places.get(kind, [])
        return self._kinds[kind][bisect_left(places, start) : bisect_left(places, end)] if places else []

    def of(self, kind: type[Node]) -> list[Node]:
        """Return all nodes of a type."""
        return self._kinds.get(kind, [])

    @cached_property
    def _places(self) -> dict[type[ast.AST], list[int]]:
        """Where the nodes of each type lie in `order`."""
        return {kind: [self._end[node][0] for node in nodes] for kind, nodes in self._kinds.items()}

    @cached_property
    def _kinds(self) -> dict[type[ast.AST], list[Any]]:
        found: dict[type[ast.AST], list[Any]] = defaultdict(list)
        for node in self.order:
            found[type(node)].append(node)
        return found

    def full(self, node: ast.AST | None) -> str:
        """Return the full name of `a.b.c`, "" for any other expression and for a name that no import made."""
        if isinstance(node, ast.Name):
            name = self.names.get(node.id, "")
        elif isinstance(node, ast.Attribute):
            before = self.full(node.value)
            name = f"{before}.{node.attr}" if before else ""
        else:
            return ""
        return name.removeprefix("neuronxcc.") if self.old and name.startswith(OLD) else name

    @cached_property
    def uses(self) -> dict[str, list[ast.AST]]:
        """Where each full name stands; not one for which the file asks by hasattr."""
        found: dict[str, list[ast.AST]] = defaultdict(list)
        asked = [
            call.args for call in self.of(ast.Call) if isinstance(call.func, ast.Name) and call.func.id == "hasattr"
        ]
        doubted = {f"{self.full(a[0])}.{a[1].value!s}" for a in asked if len(a) == 2 and isinstance(a[1], ast.Constant)}
        for node in (*self.of(ast.Attribute), *self.of(ast.Name)):
            if (name := self.full(node)) and name not in doubted:
                found[name].append(node)
        for line in self.of(ast.ImportFrom):
            if line.module and not line.level:
                for alias in line.names:
                    full = f"{line.module}.{alias.name}"
                    found[full.removeprefix("neuronxcc.") if self.old else full].append(line)
        return found

    @cached_property
    def calls(self) -> dict[str, list[ast.Call]]:
        """The calls of each full name; those of methods under `.method`."""
        found: dict[str, list[ast.Call]] = defaultdict(list)
        for node in self.of(ast.Call):
            if name := self.full(node.func):
                found[name].append(node)
            elif isinstance(node.func, ast.Attribute):
                found[f".{node.func.attr}"].append(node)
        return found

    @cached_property
    def device(self) -> list[ast.FunctionDef]:
        """The functions that run on the device: kernels, and those of this file that they call or that call instructions."""
        every = self.of(ast.FunctionDef)
        given = {self._argument(call) for name in _KERNEL for call in self.calls.get(name, ())}
        inside = {id(node): node for node in every if node.name in given or self.kernels_of(node) or self._issues(node)}
        waiting = list(inside.values())
        while waiting:
            called = {call.func.id for call in self._calls(waiting.pop()) if isinstance(call.func, ast.Name)}
            new = {id(node): node for node in every if node.name in called and id(node) not in inside}
            inside |= new
            waiting += new.values()
        nested = {id(one) for node in inside.values() for one in self.held(node, ast.FunctionDef) if one is not node}
        return [node for key, node in inside.items() if key not in nested]

    @cached_property
    def inside(self) -> dict[type[ast.AST], list[ast.AST]]:
        """The nodes of the device functions' bodies by their type."""
        found: dict[type[ast.AST], list[ast.AST]] = defaultdict(list)
        for function in self.device:
            for statement in function.body:
                for node in self.below(statement):
                    found[type(node)].append(node)
        return found

    @cached_property
    def ignored(self) -> dict[int, tuple[str, ...]]:
        """The codes that a comment allows, by line; () allows all."""
        found = {}
        for number, line in enumerate(self.text.splitlines(), 1):
            if match := _IGNORE.search(line):
                found[number] = tuple(code.strip() for code in (match[1] or "").split(",") if code.strip())
        return found

    def kernels_of(self, function: ast.FunctionDef) -> bool:
        """Return whether a decorator makes the function a kernel."""
        return any(
            self.full(one.func if isinstance(one, ast.Call) else one) in _KERNEL
            or (isinstance(one, ast.Call) and any(self.full(given) in _KERNEL for given in one.args))
            for one in function.decorator_list
        )

    def span(self, function: ast.FunctionDef) -> range:
        """Return the lines of a function, with its decorators."""
        first = min([function.lineno, *(one.lineno for one in function.decorator_list)])
        return range(first, (function.end_lineno or first) + 1)

    def _argument(self, call: ast.Call) -> str:
        return call.args[0].id if call.args and isinstance(call.args[0], ast.Name) else ""

    def _issues(self, function: ast.FunctionDef) -> bool:
        """Return whether the function itself calls instructions; a function that makes kernels does not."""
        inner = [one for one in self.held(function, ast.FunctionDef) if one is not function]
        made = {id(node) for one in inner for node in self.held(one, ast.Call)}
        called = (self.full(call.func) for call in self._calls(function) if id(call) not in made)
        return any(name.startswith(_DEVICE) and not name.startswith(_HOST) for name in called)

    def _calls(self, function: ast.FunctionDef) -> Iterator[ast.Call]:
        return (node for statement in function.body for node in self.held(statement, ast.Call))


def _imported(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, str]]:
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                first = alias.name.partition(".")[0]
                yield alias.asname or first, alias.name if alias.asname else first
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                yield alias.asname or alias.name, f"{node.module}.{alias.name}"


def top_level_calls(source: Source) -> bool:
    """Return whether the file, run as a script, calls anything."""
    return any(
        isinstance(node, ast.Call)
        for statement in source.tree.body
        if isinstance(statement, (ast.If, ast.Expr, ast.For, ast.With, ast.Assign, ast.Try))
        for node in source.below(statement)
    )
