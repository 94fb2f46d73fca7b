"""Says what Python and numpy do with objects and cannot do with tensors, which have no values yet: each is refused with what to write instead."""

from __future__ import annotations

from numbers import Real
from typing import Any

from neff_bench.simulator.recording.recorder import invalid

_BINARY = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "matmul": "@",
    "lshift": "<<", "rshift": ">>", "and": "&", "or": "|", "xor": "^",
}  # fmt: skip
_COMPARED = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_UNARY = {"neg": "-", "pos": "+", "invert": "~", "abs": "abs()"}
_INSTEAD = {
    "add": "nl.add", "sub": "nl.subtract", "mul": "nl.multiply", "truediv": "nl.divide", "pow": "nl.power",
    "mod": "nl.mod", "lshift": "nl.left_shift", "rshift": "nl.right_shift", "and": "nl.bitwise_and",
    "or": "nl.bitwise_or", "xor": "nl.bitwise_xor", "matmul": "nl.matmul or nisa.nc_matmul", "lt": "nl.less",
    "le": "nl.less_equal", "gt": "nl.greater", "ge": "nl.greater_equal", "neg": "nl.negative", "abs": "nl.abs",
    "invert": "nl.invert",
}  # fmt: skip
_UNKNOWN = "is not known while the kernel is recorded"


def refuse(kind: type, what: str) -> None:
    """Give a class of tensors, `what` to their users, each operator that it lacks, as one that raises NkiValidationError."""
    for words, prefixes in ((_BINARY, ("", "r", "i")), (_COMPARED, ("",)), (_UNARY, ("",))):
        for name, sign in words.items():
            for prefix in prefixes:
                in_place = prefix == "i" and _has(kind, f"__{name}__")
                if not (in_place or _has(kind, f"__{prefix}{name}__")):
                    setattr(kind, f"__{prefix}{name}__", _refusal(name, sign + "=" * (prefix == "i"), what))
    for name in ("float", "int", "complex", "round"):
        setattr(kind, f"__{name}__", _value(f"the {name} of"))
    setattr(kind, "__array__", _value("numpy cannot read {}: its value"))  # noqa: B010 - beside the others
    setattr(kind, "__array_ufunc__", None)  # noqa: B010 - numpy leaves its operators to the tensor's
    setattr(kind, "__format__", _formatted)  # noqa: B010
    if not _has(kind, "__eq__"):
        setattr(kind, "__eq__", _equal)  # noqa: B010
    setattr(kind, "__hash__", object.__hash__)  # noqa: B010


def _has(kind: type, name: str) -> bool:
    """Return whether the class itself says what an operator does; structs of msgspec come with comparisons."""
    return name in vars(kind)


def _refusal(name: str, sign: str, what: str) -> Any:
    instead = f"; call {_INSTEAD[name]}" if name in _INSTEAD else ""

    def operator(self: Any, *_: Any) -> Any:
        raise invalid(f"{what} has no {sign}{instead}: {self!r}")

    return operator


def _value(asked: str) -> Any:
    def conversion(self: Any, *_: Any, **__: Any) -> Any:
        said = asked.format(repr(self)) if "{}" in asked else f"{asked} {self!r}"
        raise invalid(f"{said} {_UNKNOWN}")

    return conversion


def _formatted(self: Any, spec: str) -> str:
    if spec:
        raise invalid(f"the value of {self!r} {_UNKNOWN}; it cannot be formatted by {spec!r}")
    return repr(self)


def _equal(self: Any, other: Any) -> Any:
    """Compare tensors, which are equal when they are one; a number is compared by `nl.equal`."""
    if isinstance(other, Real):
        raise invalid(f"the value of {self!r} {_UNKNOWN}; call nl.equal to compare it")
    return NotImplemented
