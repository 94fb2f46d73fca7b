"""Says what is timed: a matmul or a gated MLP of given shapes."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, ClassVar

from neff_bench.chips import CHIPS
from neff_bench.chips.dtypes import SIZE_BYTES
from neff_bench.errors import WrongCall

if TYPE_CHECKING:
    from neff_bench.stage1_generate.kernel import Kernel

DTYPES = ("float32", "bfloat16", "float16")
IMPLEMENTATIONS = ("nki", "nkilib", "neuronxcc")
"""NKI kernels: ours, nki-library's, the closed ones of neuronx-cc."""

M_TILE, K_TILE, N_TILE = 128, 128, 512
"""What one matmul instruction takes: rows of the stationary operand, contraction, columns of the moving operand (AWS docs,
nki/api/nki.isa.nc_matmul)."""

Shape = tuple[int, ...]


class _Workload:
    """What is timed: a kernel that stage 1 declares, on given sizes. Raises `WrongCall` for a dimension below 1 or an unknown dtype.

    `implementation`: "nki", "nkilib" or "neuronxcc" for an NKI kernel; None for what the framework has.
    """

    kernel: ClassVar[str]
    sizes: ClassVar[tuple[str, ...]]
    dtype: str
    implementation: str | None

    def __post_init__(self) -> None:
        for name, size in self.dims.items():
            if not isinstance(size, int) or isinstance(size, bool) or size < 1:
                raise WrongCall(f"{name} is {size!r}; expected a whole number of at least 1")
        if self.implementation is not None and self.implementation not in IMPLEMENTATIONS:
            known = ", ".join(IMPLEMENTATIONS)
            raise WrongCall(f"implementation {self.implementation!r} is no NKI kernel; expected {known}")
        if self.dtype not in DTYPES:
            raise WrongCall(f"dtype {self.dtype!r} is not supported; expected {', '.join(DTYPES)}")

    @property
    def dims(self) -> dict[str, int]:
        """The dimensions of the declared kernel."""
        return {name: getattr(self, name) for name in self.sizes}

    @property
    def _declared(self) -> tuple[Kernel, SimpleNamespace]:
        from neff_bench.stage1_generate import kernels

        return kernels.load(self.kernel), SimpleNamespace(**self.dims)

    @property
    def inputs(self) -> tuple[Shape, ...]:
        """Shapes of the inputs, in elements."""
        kernel, dims = self._declared
        return tuple(tensor.shape for tensor in kernel.inputs(dims, self.dtype))

    @property
    def output(self) -> Shape:
        """Shape of the output, in elements."""
        raise NotImplementedError

    @property
    def flops(self) -> int:
        """2 x multiply-accumulates."""
        kernel, dims = self._declared
        return kernel.model_flops(dims) or 0

    @property
    def bytes(self) -> int:
        """Inputs and output."""
        return sum(map(math.prod, (*self.inputs, self.output))) * SIZE_BYTES[self.dtype]


@dataclass(frozen=True)
class MatmulConfig(_Workload):
    """C[M, N] = A[M, K] @ B[K, N]."""

    kernel = "matmul"
    sizes = ("M", "K", "N")
    M: int
    K: int
    N: int
    dtype: str = "float32"
    implementation: str | None = None

    def __str__(self) -> str:
        return f"{self.M}x{self.K}x{self.N} {self.dtype}" + (f" {self.implementation}" if self.implementation else "")

    @property
    def output(self) -> Shape:
        """Shape of the output, in elements."""
        return self.M, self.N

    @property
    def tiles(self) -> tuple[int, int, int]:
        """Tiles of 128 rows, 128 of the contraction and 512 columns: (M, K, N)."""
        return -(-self.M // M_TILE), -(-self.K // K_TILE), -(-self.N // N_TILE)

    @property
    def padding(self) -> float:
        """Fraction of the tiles' elements that is padding."""
        m, k, n = self.tiles
        return 1 - self.M * self.K * self.N / (m * M_TILE * k * K_TILE * n * N_TILE)


@dataclass(frozen=True)
class MlpConfig(_Workload):
    """down(silu(x @ gate) * (x @ up)) with x [b, s, h], weights [h, i], [h, i], [i, h]."""

    kernel = "mlp"
    sizes = ("b", "s", "h", "i")
    b: int
    s: int
    h: int
    i: int
    dtype: str = "float32"
    implementation: str | None = None

    def __str__(self) -> str:
        name = f"mlp {self.implementation}" if self.implementation else "mlp"
        return f"{name} b{self.b} s{self.s} h{self.h} i{self.i} {self.dtype}"

    @property
    def output(self) -> Shape:
        """Shape of the output, in elements."""
        return self.b, self.s, self.h

    @property
    def bytes(self) -> int:
        """Inputs, output and the two intermediate activations."""
        return super().bytes + 2 * self.b * self.s * self.i * SIZE_BYTES[self.dtype]


Workload = MatmulConfig | MlpConfig


def parse_shape(text: str, dtype: str) -> Workload:
    """Return the case of a text: `MxKxN` is a matmul, `bxsxhxi` a gated MLP. Raises `WrongCall`."""
    if not re.fullmatch(r"\d+(x\d+){2,3}", text):
        raise WrongCall(
            f"shape {text!r}: expected MxKxN for a matmul (128x512x1024) or bxsxhxi for an MLP (1x128x1024x512)"
        )
    sizes = [int(part) for part in text.split("x")]
    if len(sizes) == 3:
        m, k, n = sizes
        return MatmulConfig(m, k, n, dtype)
    b, tokens, h, i = sizes
    return MlpConfig(b, tokens, h, i, dtype)


def lnc_of(target: str, lnc: int | None) -> int:
    """Return the cores of a logical core that `--lnc` asks for, by default as many as the chip joins. Raises `WrongCall`."""
    lncs = CHIPS[target].lncs
    if lnc is not None and lnc not in lncs:
        raise WrongCall(f"--lnc {lnc}: {target} has {' or '.join(map(str, lncs))}")
    return lnc or max(lncs)
