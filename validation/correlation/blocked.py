"""A blocked matrix product with three block sizes, from a search of yahavb/trainium-agent-labs (skywalker-kerneltune): trn2, LNC 1, current
dialect, float32.

The search runs one kernel with each size on a core of its own and keeps the median `total_time` of two or three profiles, the shares of it in
which the tensor engine and DMA were active, and the bytes that moved. Rows are the first eight lines of each of the logs of its four sizes that were
measured and moved no more bytes than the kernel's own DMAs: where more moved, tiles did not fit into SBUF and the compiler wrote some back.
Logs of two sizes have seven such lines, one of them among its first 38. The repository has no snapshot that could be cloned: the checkout
needs the kernel's file alone, at its path.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from neff_bench.doors.estimation import record_kernel
from neff_bench.simulator.nki.install import install
from neff_bench.simulator.program import Program
from validation.correlation.chipboost import REPOSITORY
from validation.correlation.measured import Measured
from validation.correlation.origin import present, silenced

SOURCE = (REPOSITORY, "815b883")
_KERNEL = "projects/skywalker-kerneltune/kernels/matmul_blocked.py"
_SIZES = ("M", "N", "K")


class Product(NamedTuple):
    """blocks: tiles of a block along M, N and K. tensor, dma: shares of the time in which they were active."""

    k: int
    m: int
    n: int
    blocks: tuple[int, int, int]
    us: float
    tensor: float
    dma: float


def _log(k: int, m: int, n: int, *lines: tuple[int, int, int, float, float, float]) -> Iterator[Product]:
    for *blocks, us, tensor, dma in lines:
        yield Product(k, m, n, tuple(map(int, blocks)), us, tensor, dma)  # type: ignore[arg-type] # three of six


PRODUCTS = (
    *_log(
        2048, 2048, 2048,
        (1, 1, 1, 1209.346, .81414, .57272), (1, 1, 16, 1036.838, .89946, .65018), (1, 2, 8, 947.749, .94737, .38387),
        (1, 4, 4, 913.840, .96963, .25080), (2, 1, 2, 957.319, .93732, .47902), (2, 2, 1, 928.964, .95844, .31704),
        (2, 2, 16, 914.313, .96720, .32383), (2, 4, 8, 906.189, .97490, .21294),
    ),
    *_log(
        256, 4096, 12288,
        (4, 2, 2, 1432.349, .93866, .57671), (8, 2, 2, 1559.776, .87663, .50221), (1, 2, 1, 1572.244, .89065, .49072),
        (2, 2, 1, 1554.678, .89628, .46230), (1, 3, 1, 1777.612, .82325, .44577), (8, 1, 1, 1498.089, .90899, .48356),
        (1, 1, 2, 1785.447, .82912, .75640),
    ),
    *_log(
        12288, 512, 4096,
        (1, 1, 1, 3029.060, .91668, .77643), (1, 2, 1, 2702.323, .98101, .51111), (1, 4, 1, 2664.688, .99140, .39933),
        (1, 8, 2, 2668.477, .99009, .25011), (2, 4, 2, 2665.429, .99169, .29612), (2, 8, 4, 2668.190, .99000, .26005),
        (1, 8, 8, 2668.545, .99007, .25831),
    ),
    *_log(
        4096, 512, 1024,
        (1, 1, 1, 321.358, .78057, .65051), (1, 2, 1, 279.440, .84021, .42682), (1, 1, 2, 297.178, .79032, .69029),
        (1, 2, 2, 268.544, .85519, .42931), (1, 2, 4, 266.323, .87959, .43053), (2, 1, 8, 254.238, .89819, .56248),
        (2, 2, 16, 244.979, .91668, .36465), (2, 1, 32, 247.224, .91003, .61813),
    ),
)  # fmt: skip


def products(checkouts: Path) -> Iterator[Measured]:
    """Yield a row for each. Raises FileNotFoundError where the checkout lacks the kernel's file."""
    kernel = present(checkouts / SOURCE[0] / _KERNEL)
    for one in PRODUCTS:
        task = f"blocked_matmul {one.k}x{one.m}x{one.n}"
        active = {"tensor": one.us * one.tensor, "dma": one.us * one.dma}
        yield Measured(
            *SOURCE, "blocked_matmul", task, f"KxMxN {one.k}x{one.m}x{one.n}, blocks {one.blocks}", "trn2", 1, "nki", one.us,
            partial(recorded, kernel, one), active, variants=True,
        )  # fmt: skip


def recorded(kernel: Path, one: Product) -> Program:
    """Return the kernel with these sizes of blocks, which the search writes in place of its defaults."""
    install()
    blocks = {f"TILES_IN_BLOCK_{axis}": block for axis, block in zip(_SIZES, one.blocks, strict=True)}
    inputs = {"lhsT": ((one.k, one.m), "float32"), "rhs": ((one.k, one.n), "float32")}
    with silenced():
        return record_kernel(f"{kernel}:nki_matmul_", inputs, "trn2", 1, blocks)
