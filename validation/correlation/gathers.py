"""Neighbours of a graph's nodes gathered and averaged, by joshdelg/cs217-final-proj (a course): trn2.3xlarge, old dialect. Studied rows.

Each kernel loads 32 (the graph of the doubled sizes: 64) rows for each node by indices, and was profiled as the only work of its graph: the bytes that the
summaries have are those of its loads and its store. Figures are the profiler's `total_time`, with active times where a summary
is there. Nothing sets the number of cores, so the runtime has its default of two, one of which is idle; rows are LNC 1, as all that is launched without a grid.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from neff_bench.doors.estimation import record_kernel
from neff_bench.simulator.nki.install import install
from neff_bench.simulator.program import Program
from validation.correlation.measured import Measured
from validation.correlation.origin import ENGINES, data, placed
from validation.idle import beside_idle_core
from validation.wild.loading import replace_host_packages

SOURCE = ("joshdelg/cs217-final-proj", "ffb8dd5")
_FOLDER = "experiments/graphsage_gather_scatter_mean"
_TUNED = "artifacts/autotune_d_chunk_manual/d_chunk_{}/neuron_profile_summary.json.log"
_SUMMARY = "artifacts/nki/summary.json"


class Gather(NamedTuple):
    """version: end of the folder's name. chunk: rows that one loop gathers. where: the summary in the folder. nodes, width, degree: of the
    graph. us: where no summary has it."""

    version: str
    chunk: int
    where: str
    nodes: int = 4096
    width: int = 64
    degree: int = 32
    us: float | None = None


GATHERS = (
    Gather("", 32, _SUMMARY), Gather("_v2", 4, _SUMMARY), Gather("_v3", 32, _SUMMARY), Gather("_v4", 4, _SUMMARY),
    *(Gather("_v2", chunk, _TUNED.format(chunk)) for chunk in (4, 8, 16, 32)),
    Gather("_exaggerated", 16, "artifacts/speedup_matrix.json", 8192, 128, 64, 6874.75),
    Gather("_exaggerated", 32, "artifacts/speedup_matrix.json", 8192, 128, 64, 6863.87),
)  # fmt: skip


def gathers(checkouts: Path) -> Iterator[Measured]:
    """Yield a row for each."""
    checkout = checkouts / SOURCE[0]
    for one in GATHERS:
        source = data(checkout, SOURCE[1], f"{_FOLDER}{one.version}/run_nki.py").decode()
        found = data(checkout, SOURCE[1], f"{_FOLDER}{one.version}/{one.where}").decode()
        total, active = (one.us, {}) if one.us is not None else _times(found)
        yield Measured(
            *SOURCE, "gather_mean", f"gather_mean {one.nodes}x{one.width}", f"graphsage{one.version} chunk {one.chunk}, {one.where}",
            "trn2", 1, "beta", total, partial(recorded, source, one), active, variants=True,
        )  # fmt: skip


def _times(found: str) -> tuple[float, dict[str, float]]:
    """Total and active times in us of a summary, which a log has on one of its lines."""
    text = found if found.lstrip().startswith("{") else re.search(r"^\{\"n_.*$", found, re.MULTILINE)[0]  # type: ignore[index]
    summary: dict[str, Any] = next(iter(json.loads(text).values()))
    active = {engine: summary[f"{engine}_engine_active_time"] * 1e6 for engine in ENGINES}
    return summary["total_time"] * 1e6, {**active, "dma": summary["dma_active_time"] * 1e6}


def recorded(source: str, one: Gather) -> Program:
    """Return the script's first kernel, with the sizes of its graph in place of the constants that the script sets."""
    kernel = re.search(r"@nki\.jit\ndef gather_mean_nki.*?\n    return out\n", source, re.DOTALL)
    if kernel is None:
        raise ValueError(f"{_FOLDER}{one.version}/run_nki.py: no kernel")
    sizes = f"NUM_NODES, FEAT_DIM, TILE_NODES = {one.nodes}, {one.width}, 128\nMAX_DEG, GATHER_MEAN_D_CHUNK = {one.degree}, {one.chunk}\n"
    header = "import neuronxcc.nki as nki\nimport neuronxcc.nki.language as nl\n\n"
    install()
    replace_host_packages()
    edges = (one.nodes * one.degree,)
    inputs: dict[str, Any] = {
        "x": ((one.nodes, one.width), "float32"),
        "src_padded": (edges, "int32"),
        "mask_padded": (edges, "float32"),
        "inv_degree": ((one.nodes,), "float32"),
    }
    path = placed(f"{header}{sizes}\n\n{kernel[0]}", "kernel.py")
    return beside_idle_core(record_kernel(f"{path}:gather_mean_nki", inputs, "trn2", 1, {}))
