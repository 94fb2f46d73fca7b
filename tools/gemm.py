"""Our own GEMM beside public medians of one on trn3, LNC 2: SemiAnalysisAI/InferenceX experimental/operatorx/data (Apache-2.0).

The measured kernel is nki-library's, whose source is not public; ours has lhs given transposed and splits M over the cores,
as theirs must by its bytes.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from simulator.counters import summarise
from simulator.nki.install import install
from simulator.nki.spec import InputSpec
from simulator.nki.trace import record
from simulator.timeline import timeline_of
from simulator.timing import schedule
from tools.rows import Row

install()

import nki.isa as nisa  # noqa: E402
import nki.language as nl  # noqa: E402

from stage1_generate.kernels.tiles_nki import P, core_share, load_rows, multiply, store, tiles  # noqa: E402

_BLOCK_N, _BLOCK_M, _MOVING = 1024, 512, 512
_SBUF_PARTITION_BYTES = 256 * 1024


def gemm(lhs_t: Any, rhs: Any) -> Any:
    """out[M, N] = lhs_t[K, M].T @ rhs[K, N]; a block of rhs stays in SBUF for all of M."""
    depth, m_all = lhs_t.shape
    n_all = rhs.shape[1]
    out = nl.ndarray((m_all, n_all), dtype=lhs_t.dtype, buffer=nl.shared_hbm)
    m_start, m_stop = core_share(m_all, P, nl.program_id(0), nl.num_programs(0))
    for n in range(0, n_all, _BLOCK_N):
        columns = min(_BLOCK_N, n_all - n)
        right = load_rows(rhs, 0, depth, n, columns)
        for m in range(m_start, m_stop, _BLOCK_M):
            rows = min(_BLOCK_M, m_stop - m)
            left = load_rows(lhs_t, 0, depth, m, rows)
            for t in range(tiles(rows, P)):
                high = min(P, rows - t * P)
                result = nl.ndarray((P, _BLOCK_N), dtype=out.dtype, buffer=nl.sbuf)
                for q in range(0, columns, _MOVING):
                    width = min(_MOVING, columns - q)
                    psum = nl.ndarray((P, _MOVING), dtype=nl.float32, buffer=nl.psum)
                    multiply(psum[0:high, 0:width], left, right, depth, t * P, high, q, width)
                    nisa.tensor_copy(dst=result[0:high, q : q + width], src=psum[0:high, 0:width])
                first = m + t * P
                store(out[first : first + high, n : n + columns], result[0:high, 0:columns])
    return out


def gemm_rows(directory: Path, limit: int) -> Iterator[Row]:
    """Shapes whose blocks fit into SBUF, smallest first."""
    shapes = sorted(_measured(directory).items(), key=lambda item: item[0][0] * item[0][1] * item[0][2])
    shapes = [
        (shape, row) for shape, row in shapes if shape[1] // P * (_BLOCK_N + _BLOCK_M) * 2 < _SBUF_PARTITION_BYTES
    ]
    for (m, k, n), measured in shapes[:limit]:
        inputs = (InputSpec("lhs_t", (k, m), "bfloat16"), InputSpec("rhs", (k, n), "bfloat16"))
        program = record(gemm, "gemm", inputs, {}, ("out",), "trn3", 2)
        timed = schedule(program)
        summary = summarise(program, timed, timeline_of(timed))
        for column, key in (
            ("gemm total us", "total_time"),
            ("gemm tensor active us", "tensor_engine_active_time"),
            ("gemm dma active us", "dma_active_time"),
        ):
            yield Row(f"{m}x{k}x{n}", column, summary[key] * 1e6, measured[key] * 1e6)


def _measured(directory: Path) -> dict[tuple[int, int, int], dict[str, float]]:
    rows: dict[tuple[int, int, int], dict[str, float]] = {}
    for path in sorted(directory.glob("*.json")):
        for row in json.loads(path.read_bytes())["rows"]:
            shape, samples = row.get("executed_shape") or row["shape"], row.get("samples")
            if samples:
                rows[shape["m"], shape["k"], shape["n"]] = {
                    key: statistics.median(sample[key] for sample in samples)
                    for key in ("total_time", "tensor_engine_active_time", "dma_active_time")
                }
    return rows
