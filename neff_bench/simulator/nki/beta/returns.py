"""Records a kernel that returns in the body of a loop.

AWS's compiler sees the body of an affine or sequential loop once, for all iterations. A `return` at the end of the body is
therefore one after the loop, as in the tutorial of Neuron Profile (aws-neuron-sdk, nki/examples/prof-kernel.py). Here loops are
unrolled, and Python would leave them in the first iteration.
"""

from __future__ import annotations

import ast
import dis
import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

ONCE = frozenset({"affine_range", "sequential_range"})


def after_loops(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function with each `return` that ends the body of such a loop behind the loop; itself where there is none, or where its
    source is not there. A function that holds variables of another one stays as it is."""
    if not isinstance(function, FunctionType) or function.__closure__ or _returns(function) < 2:
        return function
    try:
        lines, first = (
            inspect.getsourcelines(inspect.getmodule(function) or function)[0],
            function.__code__.co_firstlineno,
        )
        module = ast.parse("".join(lines))
    except (OSError, TypeError, SyntaxError):
        return function
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef) and node.name == function.__name__ and first in _lines(node):
            return _made_again(function, node)
    return function


def _returns(function: FunctionType) -> int:
    return sum(
        each.opname.startswith("RETURN_") and each.opname != "RETURN_GENERATOR"
        for each in dis.get_instructions(function)
    )


def _lines(node: ast.FunctionDef) -> range:
    """Return the lines from the first decorator to the `def`; which of them is a function's first line differs between versions of Python."""
    return range(min([node.lineno, *(each.lineno for each in node.decorator_list)]), node.lineno + 1)


def _made_again(function: FunctionType, node: ast.FunctionDef) -> Callable[..., Any]:
    mover = _Mover()
    moved = mover.visit(node)
    if not mover.found:
        return function
    moved.decorator_list = []
    code = compile(ast.Module([moved], []), function.__code__.co_filename, "exec")
    names: dict[str, Any] = {}
    exec(code, function.__globals__, names)
    made: FunctionType = names[function.__name__]
    made.__defaults__, made.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
    return made


class _Mover(ast.NodeTransformer):
    """Moves the returns. `found`: whether there was one."""

    found = False

    def visit_For(self, node: ast.For) -> ast.AST | list[ast.AST]:
        self.generic_visit(node)
        name = node.iter.func if isinstance(node.iter, ast.Call) else None
        once = (name.attr if isinstance(name, ast.Attribute) else getattr(name, "id", "")) in ONCE
        if not once or node.orelse or len(node.body) < 2 or not isinstance(node.body[-1], ast.Return):
            return node
        self.found = True
        return [node, node.body.pop()]
