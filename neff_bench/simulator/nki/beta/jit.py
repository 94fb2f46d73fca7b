"""Provides `neuronxcc.nki.jit`: kernels that are launched on a grid of programs."""

from __future__ import annotations

import ast
import dis
import functools
import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

from neff_bench.simulator.nki import session
from neff_bench.simulator.nki.beta.grid import programs
from neff_bench.simulator.nki.beta.tile import dressed, plain
from neff_bench.simulator.nki.jit import named
from neff_bench.simulator.recording.recorder import is_recording, recorder


class BetaKernel:
    """A decorated kernel; `kernel[a, b]` is its launch on a grid, one program after the other.

    `middle_end`: whether AWS's compiler transforms its instructions. `places`: whether the kernel's own addresses hold.
    """

    def __init__(self, function: Callable[..., Any], grid: tuple[Any, ...] = ()) -> None:
        functools.update_wrapper(self, named(function))
        self.function = function
        self.func = function
        self.grid = grid
        self.middle_end: bool = getattr(function, "middle_end", True)
        self.places: bool = getattr(function, "places", True)

    def __getitem__(self, grid: Any) -> BetaKernel:
        launched = BetaKernel(self.function, grid if isinstance(grid, tuple) else (grid,))
        launched.middle_end, launched.places = self.middle_end, self.places
        return launched

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the kernel inside a recording, program by program of its grid; else launch it."""
        if not is_recording():
            return session.call(self, args, kwargs, None)
        dialect = recorder().dialect
        outermost = not dialect.get("depth")
        if outermost:
            dialect["middle_end"], dialect["places"] = self.middle_end, self.places
        args, kwargs = dressed(args), {key: dressed(value) for key, value in kwargs.items()}
        result, function = None, after_loops(self.function)
        dialect["depth"] = dialect.get("depth", 0) + 1
        for _ in programs(self.grid) if self.grid else (None,):
            result = function(*args, **kwargs)
        dialect["depth"] -= 1
        return plain(result) if outermost else result


def jit(function: Any = None, **options: Any) -> Any:
    """Make a kernel of a function: a decorator, `@nki.jit` and `@nki.jit(mode=...)`."""
    if function is None:
        return functools.partial(jit, **options)
    return function if isinstance(function, BetaKernel) else BetaKernel(function)


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
