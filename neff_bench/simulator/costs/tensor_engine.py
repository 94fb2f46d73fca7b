"""Says what a product or a transpose costs on the Tensor Engine (PE)."""

from __future__ import annotations

from neff_bench.chips import Chip
from neff_bench.chips.dtypes import SIZE_BYTES
from neff_bench.simulator.costs.steps import REST, TENSOR, WEIGHTS, Lowered, Step
from neff_bench.simulator.costs.table import FLOAT32, LARGE, SIDE_BY_SIDE, SMALL, STRIDED, Row, row_for
from neff_bench.simulator.program import Access

_FAST_ITEM_BYTES = 2


def on_pe(
    chip: Chip, row: Row, rows: int, cols: int, n: int, weights: Access, dst: Access, transpose: bool,
    opcodes: tuple[int, ...], moving_bytes: int,
) -> Lowered:  # fmt: skip
    """Return LDWEIGHTS and MATMUL, `opcodes` in this order, as often as `row` says. `n`: columns that move through `rows` x `cols` weights.

    A float32 product takes two passes through the array: two cycles a column, of the weights too. `moving_bytes`: in each partition.
    """
    load_opcode, stream_opcode = opcodes
    loading = weights_row(chip, weights)
    # What is transposed is loaded in one pass.
    load_ns = (1.0 if transpose else row.cycles) * _load_cycles(chip, cols, loading) / chip.pe_clock_ghz
    least_ns = chip.pe_stream_ns(min(chip.minimum_cycles, cols))
    stream_ns = row.cycles * chip.pe_stream_ns(n)
    # Weights load behind the running matmul: the array takes the longer of the two.
    weights_bytes = weights.columns * SIZE_BYTES[weights.dtype]
    # The profiler counts what NeuronCore-v2 writes to PSUM in elements of the moving operand (117 inf2 profiles).
    written_bytes = moving_bytes if chip.generation < 3 else dst.columns * SIZE_BYTES[dst.dtype]
    load = Step(load_opcode, WEIGHTS, 0.0, getattr(chip, loading.latency), load_ns, 0, False, weights_bytes)
    stream = Step(
        stream_opcode, REST, least_ns, 0.0, stream_ns, 2 * rows * cols * n, transpose, moving_bytes, 0, 0, written_bytes
    )
    busy = (max(load_ns, least_ns, stream_ns) + chip.pe_overhead_cycles / chip.pe_clock_ghz) * row.instructions
    result = busy + getattr(chip, row.latency) + chip.pe_fill_cycles / chip.pe_clock_ghz
    return Lowered(TENSOR, (load, stream) * row.instructions, None, False, False, "", busy, result, row)


def product_row(operation: str, chip: Chip, dtypes: tuple[str, ...], mode: str) -> Row:
    """Return the row of a product or a transpose. `dtypes`: of what goes through the array."""
    return row_for(chip.generation, operation, "tensor", FLOAT32 if "float32" in dtypes else "", mode=mode)


def weights_row(chip: Chip, weights: Access) -> Row:
    """Return the row of LDWEIGHTS. Fast loading needs neighbouring columns without gaps, of at most two bytes. Sources: compiled kernels
    load float32 weights one column at a time (trn2 traces); nki-library's mlp has a layout for "unit-stride weight loading,
    reducing the matrix multiplication initiation interval" (AWS docs nki/library/api/mlp.rst)."""
    dtypes = SMALL if SIZE_BYTES[weights.dtype] <= _FAST_ITEM_BYTES else LARGE
    return row_for(
        chip.generation, "ldweights", "tensor", dtypes, mode=SIDE_BY_SIDE if weights.unit_stride else STRIDED
    )


def _load_cycles(chip: Chip, cols: int, loading: Row) -> float:
    """Return the cycles of the PE."""
    return cols * loading.cycles or chip.load_weights_cycles
