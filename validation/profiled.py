"""Kernels of which a few figures of a profile are public: scaled products on trn3, products of float32 on trn2, and the energies of pairs on trn1.

What is timed here has their operations, written anew, at a size that the difference of two runs scales.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from neff_bench.doors.estimation import record_kernel
from neff_bench.parsers.formats.opcodes import OPCODES
from neff_bench.simulator.chips import chip_for
from neff_bench.simulator.nki import isa as nisa
from neff_bench.simulator.nki import language as nl
from neff_bench.simulator.program import Program
from neff_bench.simulator.timing.schedule import schedule
from neff_bench.simulator.timing.timeline import timeline_of
from validation.correlation.modelled import modelled
from validation.rows import Row

PUBLISHED = Path(__file__).resolve().parent.parent / "tests" / "validation" / "published.json"
_COLUMNS, _STRIP, _STRIPS = 448, 112, 4
_PAIRS = 4096
_PRODUCTS = 40


def profiled_rows() -> Iterator[Row]:
    """Yield what the model says of each beside its profile."""
    measured = json.loads(PUBLISHED.read_bytes())
    mx, energies = measured["nc_matmul_mx_trn3"], measured["mp2_energy_trn1"]
    tiles = {
        **dict.fromkeys(("stationary", "stationary_scale"), (128, 128)),
        **dict.fromkeys(("moving", "moving_scale"), (128, 512)),
    }
    dtypes = {name: "uint8" if name.endswith("scale") else "float8_e4m3fn_x4" for name in tiles}
    few, more = (modelled(_recorded(scaled_products, tiles, dtypes, "trn3", times=times)) for times in (256, 512))
    yield Row("nc_matmul_mx, 512 columns (trn3)", "Tensor active ns", (more.active_us["tensor"] - few.active_us["tensor"]) / 256 * 1e3, mx["product_ns"])  # fmt: skip
    yield from _float32_rows(measured["float32_matmul_trn2"])
    few, more = (
        modelled(_recorded(energies_of_pairs, {"t": (_COLUMNS, pairs * _COLUMNS), "column": (_COLUMNS, 1), "row": (1, _COLUMNS)}, {}, "trn1", pairs=pairs))
        for pairs in (16, 32)
    )  # fmt: skip
    scale = _PAIRS / 16 / 1e3
    yield Row("trnblas MP2, 4096 pairs (trn1)", "total ms", (more.total_us - few.total_us) * scale, energies["total_ms"])  # fmt: skip
    yield Row("trnblas MP2, 4096 pairs (trn1)", "Vector active ms", (more.active_us["vector"] - few.active_us["vector"]) * scale, energies["vector_active_ms"])  # fmt: skip


def _float32_rows(measured: Mapping[str, float]) -> Iterator[Row]:
    """Yield how long a MATMUL lasts at full speed and throttled: the PE begins throttled, and products follow each other until it is not."""
    program = _recorded(products, {"stationary": (128, 128), "moving": (128, 512)}, {}, "trn2", times=_PRODUCTS)
    [core] = timeline_of(schedule(program, chip_for("trn2"))).cores
    rows = core.instructions
    lasting = sorted(((rows.end_ps - rows.start_ps)[rows.opcode == OPCODES["MATMUL"]] / 1e3).tolist())
    throttled = [ns for ns in lasting if ns > 1.5 * lasting[0]]
    name = "product of float32, 512 columns (trn2)"
    yield Row(name, "MATMULs", len(lasting) / _PRODUCTS, measured["matmuls_of_a_product"])
    yield Row(name, "MATMUL ns", statistics.median(lasting), measured["matmul_ns"])
    yield Row(name, "throttled MATMUL ns", statistics.median(throttled), measured["throttled_ns"])


def products(stationary: Any, moving: Any, times: int) -> Any:
    """Multiply the same tiles so many times; two banks of PSUM in turn."""
    out = nl.ndarray((128, 512), nl.float32, buffer=nl.shared_hbm)
    tiles = nl.load(stationary), nl.load(moving)
    banks = [nl.ndarray((128, 512), nl.float32, buffer=nl.psum) for _ in range(2)]
    for number in range(times):
        nisa.nc_matmul(banks[number % 2], *tiles, accumulate=False)
    result = nl.ndarray((128, 512), nl.float32)
    nisa.tensor_copy(result, banks[0])
    nl.store(out, result)
    return out


def scaled_products(stationary: Any, stationary_scale: Any, moving: Any, moving_scale: Any, times: int) -> Any:
    """Multiply the same tiles so many times; two banks of PSUM in turn."""
    out = nl.ndarray((128, 512), nl.bfloat16, buffer=nl.shared_hbm)
    tiles = [nl.load(tensor) for tensor in (stationary, moving, stationary_scale, moving_scale)]
    banks = [nl.ndarray((128, 512), nl.float32, buffer=nl.psum) for _ in range(2)]
    for number in range(times):
        nisa.nc_matmul_mx(banks[number % 2], *tiles)
    result = nl.ndarray((128, 512), nl.bfloat16)
    nisa.tensor_copy(result, banks[0])
    nl.store(out, result)
    return out


def energies_of_pairs(t: Any, column: Any, row: Any, pairs: int) -> Any:
    """Sum t * (2 t - its transpose) / (1 - column - row) for each pair of orbitals, a strip of rows at a time."""
    out = nl.ndarray((_STRIP, pairs), nl.float32, buffer=nl.shared_hbm)
    all_rows = nl.load(row)
    one = nl.full((1, 1), 1.0, dtype=nl.float32)
    for pair in range(pairs):
        here = slice(pair * _COLUMNS, (pair + 1) * _COLUMNS)
        sums = nl.zeros((_STRIP, _STRIPS), dtype=nl.float32, buffer=nl.sbuf)
        for strip in range(_STRIPS):
            rows = slice(strip * _STRIP, (strip + 1) * _STRIP)
            tile = nl.load(t[rows, here])
            turned = nl.load_transpose2d(t[:, pair * _COLUMNS + rows.start : pair * _COLUMNS + rows.stop])
            spread = [nl.broadcast_to(x, (_STRIP, _COLUMNS)) for x in (one, nl.load(column[rows]), all_rows)]
            below = nl.reciprocal(nl.subtract(nl.subtract(spread[0], spread[1]), spread[2]))
            term = nl.multiply(nl.multiply(tile, nl.subtract(nl.multiply(tile, 2.0), turned)), below)
            nisa.tensor_copy(sums[:, strip : strip + 1], nl.sum(term, axis=1, keepdims=True))
        nl.store(out[:, pair : pair + 1], nl.sum(sums, axis=1, keepdims=True))
    return out


def _recorded(
    kernel: Callable[..., Any],
    shapes: Mapping[str, tuple[int, ...]],
    dtypes: Mapping[str, str],
    target: str,
    **numbers: int,
) -> Program:
    inputs: dict[str, Any] = {name: (shape, dtypes.get(name, "float32")) for name, shape in shapes.items()}
    return record_kernel(f"{__file__}:{kernel.__name__}", inputs, target, 1, numbers)
