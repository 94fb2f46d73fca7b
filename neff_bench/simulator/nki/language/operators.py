"""Provides operators: `nl.add` is both the `op` of an instruction and a function on tiles."""

from __future__ import annotations

from typing import Any

from neff_bench.simulator.nki.language.tiles import apply
from neff_bench.simulator.recording.operator_names import KNOWN
from neff_bench.simulator.recording.recorder import invalid


class Operator:
    """One operator of `nki.language`."""

    __slots__ = ("__name__",)

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __call__(self, *tiles: Any, dtype: Any = None, **named: Any) -> Any:
        """Return the operator on tiles, in order or as `x` and `y`: a new SBUF tile, of `dtype` or of the first tile's."""
        return apply(self.__name__, in_order(self.__name__, tiles, named), dtype)

    def __repr__(self) -> str:
        return f"nl.{self.__name__}"

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return operator_named, (self.__name__,)


def in_order(name: str, tiles: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
    """Return the operands of an operator, those given as `x` and `y` behind those given without a name."""
    unknown = named.keys() - {"x", "y"}
    if unknown:
        raise invalid(f"nl.{name} has no argument {sorted(unknown)[0]!r}")
    return (*tiles, *(named[key] for key in ("x", "y") if key in named))


OPERATORS = {name: Operator(name) for name in sorted(KNOWN)}


def operator_named(name: str) -> Operator:
    """Return one of `OPERATORS`; unpickling calls it."""
    return OPERATORS[name]
