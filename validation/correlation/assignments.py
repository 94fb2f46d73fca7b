"""Points assigned to their nearest centroids, by FlashML-org/flashlib: trn2, old dialect, bfloat16.

Times are those of the benchmark's own table at the commit that brought it, in tenths of a millisecond: 50th percentiles of `nki.benchmark`
on one core, and of `neuron-bench` for the row on both. The branch is nki-support; a later commit of it has another kernel. The table's 16384
centroids are left out: recording them takes minutes.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from neff_bench.doors.estimation import record_kernel
from neff_bench.simulator.nki.install import install
from neff_bench.simulator.program import Program
from validation.correlation.measured import Measured
from validation.correlation.origin import data, placed, silenced
from validation.wild.loading import replace_host_packages

SOURCE = ("FlashML-org/flashlib", "ba01c9c")
_KERNEL = "flashlib/primitives/kmeans/trainium/assign_kernel.py"
_TWO_CORES = """

@nki.jit
def assign(xT, cT, c_sq):
    out_idx = nl.ndarray((xT.shape[1], 1), dtype=nl.int32, buffer=nl.shared_hbm)
    flash_assign_body(xT, cT, c_sq, out_idx, n_shards={cores})
    return out_idx
"""
"""What `make_assign_kernel` of the file returns, by a name that can be called."""


class Assignment(NamedTuple):
    """Assigns points to centroids of this width."""

    points: int
    width: int
    ms: float
    cores: int = 1
    centroids: int = 4096


ASSIGNMENTS = (
    Assignment(262144, 128, 31.3),
    Assignment(262144, 256, 31.4),
    Assignment(131072, 512, 15.8),
    Assignment(262144, 256, 15.7, 2),
)


def assignments(checkouts: Path) -> Iterator[Measured]:
    """Yield a row for each."""
    source = data(checkouts / SOURCE[0], SOURCE[1], _KERNEL).decode()
    for one in ASSIGNMENTS:
        name = f"{one.points}x{one.width} to {one.centroids} LNC {one.cores}"
        yield Measured(
            *SOURCE, "kmeans_assign", f"kmeans_assign {name}", name, "trn2", one.cores, "beta", one.ms * 1e3,
            partial(recorded, source, one),
        )  # fmt: skip


def recorded(source: str, one: Assignment) -> Program:
    """Return the kernel as the benchmark launches it."""
    install()
    replace_host_packages()
    inputs: dict[str, Any] = {
        "xT": ((one.width, one.points), "bfloat16"),
        "cT": ((one.width, one.centroids), "bfloat16"),
        "c_sq": ((1, one.centroids), "float32"),
    }
    path = placed(source + _TWO_CORES.format(cores=one.cores), "assign_kernel.py")
    with silenced():
        return record_kernel(f"{path}:assign", inputs, "trn2", one.cores, {})
