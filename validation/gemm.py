"""A public GEMM beside its public measurements on trn3, LNC 2: SemiAnalysisAI/InferenceX experimental/operatorx (Apache-2.0).

The kernel is `_matmul_lnc2` of runners/trainium/backends/nkilib.py, recorded as it stands; the measurements are medians of
21 profiles of it for each shape in data/trn3_lnc2_gemm_*.json (at e60b2ca).
"""

from __future__ import annotations

import ast
import json
import statistics
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from neff_bench.simulator.nki.install import install
from neff_bench.simulator.nki.spec import InputSpec
from neff_bench.simulator.nki.trace import Call, record
from neff_bench.simulator.timing.counters import summarise
from neff_bench.simulator.timing.schedule import schedule
from neff_bench.simulator.timing.timeline import timeline_of
from validation.rows import Row, spread

_KERNEL = "_matmul_lnc2"
GEMMS, LATER_GEMMS = "[!l]*", "longitudinal*"
"""The names of the measurements behind the stated error (a sweep, tile boundaries, a held-out set: 38 shapes), and of the later
snapshots, which cover 38 shapes too, some of them others."""
_COLUMNS = (
    ("gemm total us", "total_time", 1e6),
    ("gemm tensor active us", "tensor_engine_active_time", 1e6),
    ("gemm dma active us", "dma_active_time", 1e6),
    ("gemm matmuls", "matmul_instruction_count", 1.0),
    ("gemm hbm read MB", "hbm_read_bytes", 1e-6),
    ("gemm hbm write MB", "hbm_write_bytes", 1e-6),
)


def gemm_rows(directory: Path, limit: int | None, which: str) -> Iterator[Row]:
    """Return the rows of the GEMM. `directory`: a checkout, or a folder with nkilib.py and the measurements; `limit` shapes, spread over the sizes; `which`:
    a pattern for the names of the measurements."""
    kernel = kernel_of(directory)
    shapes = sorted(measured(directory, which).items(), key=lambda item: item[0][0] * item[0][1] * item[0][2])
    for (m, k, n), found in spread(shapes, limit):
        inputs = (InputSpec("lhsT", (k, m), "bfloat16"), InputSpec("rhs", (k, n), "bfloat16"))
        program = record(Call(kernel, "gemm", inputs, outputs=("out",)), "trn3", 2)
        timed = schedule(program)
        summary = summarise(program, timed, timeline_of(timed))
        for column, key, scale in _COLUMNS:
            if key in found:
                yield Row(f"{m}x{k}x{n}", column, summary[key] * scale, found[key] * scale)


def kernel_of(directory: Path) -> Callable[..., Any]:
    """Return the kernel and its constants, without the rest of its module, which needs torch and the AWS runtime."""
    path = next(path for path in sorted(directory.rglob("nkilib.py")) if _KERNEL in path.read_text())
    install()
    import nki
    import nki.isa
    import nki.language

    wanted = [
        node
        for node in ast.parse(path.read_text()).body
        if (isinstance(node, ast.FunctionDef) and node.name == _KERNEL)
        or (isinstance(node, ast.Assign) and ast.unparse(node.targets[0]).startswith("_GEMM_"))
    ]
    names: dict[str, Any] = {"nki": nki, "nisa": nki.isa, "nl": nki.language}
    exec(compile(ast.Module(wanted, []), str(path), "exec"), names)
    return names[_KERNEL]


def measured(directory: Path, which: str) -> dict[tuple[int, int, int], dict[str, float]]:
    """Return by shape (M, K, N) the median of each figure over the profiles of the last file that has the shape."""
    rows: dict[tuple[int, int, int], dict[str, float]] = {}
    for path in sorted(directory.rglob(f"trn3_lnc2_gemm_{which}.json")):
        for row in json.loads(path.read_bytes())["rows"]:
            shape, samples = row.get("executed_shape") or row["shape"], row.get("samples")
            if samples:
                rows[shape["m"], shape["k"], shape["n"]] = {
                    key: statistics.median(sample[key] for sample in samples)
                    for _, key, _ in _COLUMNS
                    if all(key in sample for sample in samples)
                }
    return rows
