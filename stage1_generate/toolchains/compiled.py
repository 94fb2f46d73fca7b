"""Says what a compile interface gets and gives back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from neff_bench.stage1_generate.kernel import Tensor


@dataclass(frozen=True)
class Request:
    """A kernel to compile in the current directory. `entry`: `package.module:function` or `/path/file.py:function`.

    `inputs`, `outputs`: tensors under the names that the NEFF is to carry, in order; `outputs` is None when nobody has
    declared them. `arguments`: the kernel's other
    keyword arguments, see `Implementation.arguments`. `paths`: folders for `sys.path`. `ranks`: how many will run it together.
    """

    route: str
    entry: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...] | None
    arguments: Mapping[str, Any]
    paths: tuple[str, ...]
    target: str
    lnc: int
    flags: tuple[str, ...]
    verbose: bool = False
    ranks: int = 1

    def spec(self) -> dict[str, object]:
        """Return what a program of ours that runs the kernel is told of it, as JSON."""
        inputs = [{"name": t.name, "shape": t.shape, "dtype": t.dtype} for t in self.inputs]
        return {"entry": self.entry, "path": list(self.paths), "inputs": inputs, "arguments": dict(self.arguments)}


@dataclass(frozen=True)
class Compiled:
    """`neff`: its path relative to the current directory. `outputs`: the names that the compiler gave to the kernel's results, in their order;
    None where it does not say. The rest as in `neff_bench.neffs.bundle.Manifest`."""

    neff: str
    interface: str
    time_s: float
    command: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    outputs: tuple[str, ...] | None = None
