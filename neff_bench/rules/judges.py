"""Says what tables of rules are written with: short names for judges that differ in a word."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator

from neff_bench.rules.call import Call, Kernel
from neff_bench.rules.rule import Fix, Found, OfCalls, OfKernel, OfSource, Place, Refusal
from neff_bench.rules.source import Source


def call(ops: str, test: Callable[[Call], Found]) -> OfCalls:
    """Return a test of the recorded calls of some operations, named in one string; "" for all that compute."""
    return OfCalls(tuple(ops.split()), test)


def kernel(test: Callable[[Kernel], Found]) -> OfKernel:
    """Return a test of a whole recorded kernel."""
    return OfKernel(test)


def refusal(pattern: str) -> Refusal:
    """Return the simulator's own refusal of it."""
    return Refusal(re.compile(pattern))


def source(find: Callable[[Source], Iterable[ast.AST]]) -> OfSource:
    """Return places of a source that any code finds."""
    return OfSource(lambda given: ((node, _shown(node)) for node in find(given)))


def operator(ops: str, keys: str, *operators: str) -> OfCalls:
    """Return one of `operators` as one of the arguments `keys`, such as "op0 op1"."""
    words = keys.split()
    return call(ops, lambda made: any(made.attributes.get(key) in operators for key in words))


def name(*full: str) -> OfSource:
    """Yield a use of a name, such as "nki.language.arange"."""

    def find(given: Source) -> Iterator[tuple[ast.AST, str]]:
        for one in full:
            yield from ((node, _shown(node)) for node in given.uses.get(one, ()))

    return OfSource(find)


def called(*full: str) -> OfSource:
    """Return a call of a function."""
    return source(lambda given: (node for one in full for node in given.calls.get(one, ())))


def keyword(functions: str, *words: str) -> OfSource:
    """Yield a keyword argument of some functions, named in one string; one that ends in `.` stands for all below it."""
    prefixes = tuple(one for one in functions.split() if one.endswith("."))

    def find(given: Source) -> Iterator[tuple[ast.AST, str]]:
        for full, made in given.calls.items():
            if full in functions.split() or (prefixes and full.startswith(prefixes)):
                for node in made:
                    for argument in node.keywords:
                        if argument.arg in words and not _is_none(argument.value):
                            yield node, f"{ast.unparse(node.func)}({argument.arg}=)"

    return OfSource(find)


def syntax(*kinds: type[ast.AST]) -> OfSource:
    """Return a Python form inside of a kernel."""
    return OfSource(lambda given: ((node, "") for kind in kinds for node in given.inside.get(kind, ())))


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _shown(node: ast.AST) -> str:
    node = node.func if isinstance(node, ast.Call) else node
    return ast.unparse(node) if isinstance(node, (ast.Attribute, ast.Name)) else ""


def renamed(old: str, new: str) -> Fix:
    """Yield a keyword argument under its new name."""

    def fix(node: ast.AST, given: Source) -> Iterator[tuple[Place, Place, str]]:
        for word in node.keywords if isinstance(node, ast.Call) else ():
            if word.arg == old:
                yield (word.lineno, word.col_offset), (word.lineno, word.col_offset + len(old)), new

    return fix


def dropped(*words: str) -> Fix:
    """Return the fix that drops some keyword arguments."""

    def fix(node: ast.AST, given: Source) -> Iterator[tuple[Place, Place, str]]:
        if not isinstance(node, ast.Call):
            return
        every: list[ast.expr | ast.keyword] = [*node.args, *node.keywords]
        every.sort(key=lambda one: (one.lineno, one.col_offset))
        for number, one in enumerate(every):
            if isinstance(one, ast.keyword) and one.arg in words:
                if number:
                    yield _end(every[number - 1]), _end(one), ""
                elif len(every) > 1:
                    yield (one.lineno, one.col_offset), (every[1].lineno, every[1].col_offset), ""
                else:
                    yield (one.lineno, one.col_offset), _end(one), ""

    return fix


def replaced(old: str, new: str) -> Fix:
    """Yield an attribute or a name under another name."""

    def fix(node: ast.AST, given: Source) -> Iterator[tuple[Place, Place, str]]:
        if isinstance(node, ast.Attribute) and node.attr == old:
            line, column = _end(node)
            yield (line, column - len(old.encode())), (line, column), new

    return fix


def _end(node: ast.expr | ast.keyword) -> Place:
    return node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
