"""Computes arithmetic over dimensions: `2*M*N`, `N//128`. Numbers, names, `+ - * / // % **`, signs and parentheses; nothing else."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from functools import lru_cache
from math import isfinite
from typing import Any

from neff_bench.stage1_generate.errors import GenerateError

LENGTH_MAX = 1000
BITS_MAX = 256
ALLOWED = "arithmetic over the dimensions (numbers, names, + - * / // % ** and parentheses)"

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_SIGNS: dict[type[ast.unaryop], Callable[[Any], Any]] = {ast.UAdd: operator.pos, ast.USub: operator.neg}


class NotArithmetic(GenerateError):
    """A text that cannot be computed; the message says why."""


def names(text: str) -> set[str]:
    """Return the names that an expression uses. Raises `NotArithmetic`."""
    return {node.id for node in ast.walk(_parsed(text)) if isinstance(node, ast.Name)}


def evaluate(text: str, dims: Mapping[str, int]) -> int | float:
    """Return the value; a division that leaves no rest gives a whole number. Raises `NotArithmetic`."""
    try:
        value = _value(_parsed(text).body, dims)
    except (ZeroDivisionError, OverflowError) as error:
        raise NotArithmetic(f"{text!r} cannot be computed for {_shown(dims)} ({error})") from None
    if isinstance(value, complex):
        raise NotArithmetic(f"{text!r} is no real number for {_shown(dims)}")
    return value


def whole(text: str, dims: Mapping[str, int]) -> int:
    """Evaluate what has to be a whole number."""
    value = evaluate(text, dims)
    if not isfinite(value) or value != int(value):
        raise NotArithmetic(f"{text!r} is {value:g} for {_shown(dims)}, no whole number")
    return int(value)


@lru_cache(4096)
def _parsed(text: str) -> ast.Expression:
    try:
        if len(text) > LENGTH_MAX:
            raise SyntaxError
        return ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise NotArithmetic(f"{text[:60]!r} is no {ALLOWED}") from None


def _value(node: ast.expr, dims: Mapping[str, int]) -> int | float:
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
        return _bounded(node.value)
    if isinstance(node, ast.Name):
        if node.id not in dims:
            raise NotArithmetic(f"{node.id!r} is no dimension of this case, allowed: {', '.join(dims) or 'numbers'}")
        return dims[node.id]
    if isinstance(node, ast.UnaryOp) and type(node.op) in _SIGNS:
        return _bounded(_SIGNS[type(node.op)](_value(node.operand, dims)))
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        left, right = _value(node.left, dims), _value(node.right, dims)
        if isinstance(node.op, ast.Pow) and abs(right) > BITS_MAX:
            raise NotArithmetic(f"an exponent of {right:g} is too large, allowed: up to {BITS_MAX}")
        if (
            isinstance(node.op, ast.Div)
            and isinstance(left, int)
            and isinstance(right, int)
            and right
            and not left % right
        ):
            return left // right
        return _bounded(_BINARY[type(node.op)](left, right))
    raise NotArithmetic(f"{ast.unparse(node)[:60]!r} is no {ALLOWED}")


def _bounded(value: float) -> int | float:
    if isinstance(value, int) and value.bit_length() > BITS_MAX:
        raise NotArithmetic(f"a number of more than {BITS_MAX} bits is too large")
    return value


def _shown(dims: Mapping[str, int]) -> str:
    return " ".join(f"{name}={size}" for name, size in dims.items())
