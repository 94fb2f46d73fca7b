"""Says what a kernel is: a declaration in one file of `stage1_generate/kernels/` of what the dimensions alone decide; importing it costs nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal

from neff_bench.neffs.own import Tensor as Tensor

if TYPE_CHECKING:
    import numpy as np

Dims = SimpleNamespace
"""The dimensions of a case as attributes: `d.b`, `d.s`."""

FLOATS = ("float32", "bfloat16", "float16")
TOLERANCES = {"float32": (1e-3, 1e-3), "bfloat16": (2e-2, 1e-2), "float16": (5e-3, 5e-3)}
"""(rtol, atol) against a float32 reference, for outputs with a standard deviation near 1: some units in the last place
of the dtype (float32 2**-24, float16 2**-11, bfloat16 2**-8), since intermediates are rounded to it. rtol 2e-2 for bfloat16
is what nki-library's MLP tests allow (aws-neuron/nki-library, test_mlp_common.py)."""
_E4M3, _E5M2 = (0.13, 0.05), (0.26, 0.1)
FP8_TOLERANCES = {
    "float8_e4m3": _E4M3,
    "float8_e4m3fn": _E4M3,
    "float8_e4m3fn_x4": _E4M3,
    "float8_e5m2": _E5M2,
    "float8_e5m2_x4": _E5M2,
}
"""The tolerances of outputs in these dtypes: one step of e4m3 is 1/8 of the value, of e5m2 1/4."""


@dataclass(frozen=True)
class Implementation:
    """One way to compute a kernel.

    `route`: `nki` (a `@nki.jit` function), `xla` (a jax function) or `isa` (a closed kernel of neuronx-cc).
    `entry`: `package.module:function`, or a function of the dimensions that says it. `parameters`: its parameter names for the kernel's inputs, in order; None when they
    are the tensors' own names. `results`: names of the NEFF's outputs. `arguments`: further keyword arguments, what JSON
    can hold or `{"ref": "package.module:Enum.MEMBER"}`. `needs`: `nkilib` or `neuronxcc`. `path`: which of its code
    paths the kernel takes. `refuses`: why it cannot take these dimensions at this LNC, None when it can.
    `inputs`: replaces the kernel's own inputs where the layout differs.
    """

    route: Literal["nki", "xla", "isa"]
    entry: str | Callable[[Dims], str]
    parameters: tuple[str, ...] | None = None
    results: tuple[str, ...] | None = None
    arguments: Callable[[Dims], Mapping[str, Any]] = lambda d: {}
    needs: tuple[str, ...] = ()
    path: Callable[[Dims], str | None] = lambda d: None
    refuses: Callable[[Dims, int], str | None] = lambda d, lnc: None
    inputs: Callable[[Dims, str], tuple[Tensor, ...]] | None = None


@dataclass(frozen=True)
class Kernel:
    """A computation, and how it can be built.

    `dims`: dimension names in order; `defaults`: for those that a shapes file may leave out. `inputs`, `outputs`: tensors
    as a function of the dimensions and the dtype; without `outputs` the NEFF says what they are. `reference`: (dims, float32
    arrays by input name) -> float32 arrays in the order of `outputs`; without it nothing is compared. `model_flops`:
    floating-point operations, 2 x multiply-accumulate, None when unknown. `check_dims`: why these dimensions make no
    sense, None when they do. `tolerance`: (rtol, atol) by dtype.
    """

    name: str
    dims: tuple[str, ...]
    inputs: Callable[[Dims, str], tuple[Tensor, ...]]
    outputs: Callable[[Dims, str], tuple[Tensor, ...]] | None
    reference: Callable[[Dims, Mapping[str, np.ndarray]], tuple[np.ndarray, ...]] | None
    model_flops: Callable[[Dims], int | None]
    implementations: Mapping[str, Implementation]
    dtypes: tuple[str, ...] = FLOATS
    defaults: Mapping[str, int] = field(default_factory=dict)
    may_be_zero: tuple[str, ...] = ()
    check_dims: Callable[[Dims], str | None] = lambda d: None
    tolerance: Mapping[str, tuple[float, float]] = field(default_factory=lambda: TOLERANCES)

    def inputs_of(self, implementation: str, d: Dims, dtype: str) -> tuple[Tensor, ...]:
        """Return the inputs as this implementation takes them, under the kernel's own names."""
        own = self.implementations[implementation].inputs
        return (own or self.inputs)(d, dtype)

    def min_hbm_bytes(self, d: Dims, dtype: str) -> int | None:
        """Return the bytes of every input read once and every output written once; None when the outputs are not declared."""
        if self.outputs is None:
            return None
        return sum(tensor.bytes for tensor in (*self.inputs(d, dtype), *self.outputs(d, dtype)))
