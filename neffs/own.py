"""Declares a kernel of the user's own, as plain data: everything that a declaration of a built-in kernel says, with numbers for the
dimensions. A shapes file, a script or a program makes it; it lies in `case.json` with the case."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

from neff_bench.neffs.dtypes import size_bytes


@dataclass(frozen=True)
class Tensor:
    """One input or output: `shape` in elements of the canonical `dtype`.

    `values`: how an input is drawn: `normal` with standard deviation `scale`, `uniform` from 0 to `scale`, `constant` (every
    element is `scale`), `integers` from 0 up to `scale` (exclusive), or an entry of a function that is called with the
    shape and returns the array.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    scale: float = 1.0
    values: str = "normal"

    @property
    def bytes(self) -> int:
        """Size of all elements."""
        return prod(self.shape) * size_bytes(self.dtype)


@dataclass(frozen=True)
class OwnKernel:
    """`entry`: `file.py:function`, relative to a folder that is known beside this, or `package.module:function`.

    `inputs`: under the names of the function's parameters, in their order. `outputs`: what the function returns, in order;
    None when it is not said, and then the NEFF says it. `arguments`: further keyword arguments, as `resolved` takes them. `reference`: an entry of a function that is called with the inputs by name as
    float32 numpy arrays and returns one array for each output; None leaves the outputs unchecked. `tolerance`:
    (rtol, atol) of |out - ref| <= atol + rtol * |ref|; None takes that of the element types, scaled to the reference. `flops`: floating-point operations of the mathematics, None when
    unknown.
    """

    entry: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...] | None = None
    arguments: tuple[tuple[str, Any], ...] = ()
    reference: str | None = None
    tolerance: tuple[float, float] | None = None
    flops: int | None = None


def resolved(value: Any, look_up: Callable[[str], Any]) -> Any:
    """Return an argument of a kernel for what JSON says of it.

    `{"ref": "package.module:Enum.MEMBER"}` becomes what `look_up` finds under that name, with `"args": [...]` what a call of it returns. Both may
    stand inside lists, objects and other `args`.
    """
    if isinstance(value, list):
        return [resolved(item, look_up) for item in value]
    if not isinstance(value, dict):
        return value
    if set(value) not in ({"ref"}, {"ref", "args"}):
        return {key: resolved(item, look_up) for key, item in value.items()}
    found = look_up(value["ref"])
    return found(*resolved(value["args"], look_up)) if "args" in value else found
