"""What a product or a transpose costs on the Tensor Engine (PE)."""

from __future__ import annotations

from neff_bench.chips import Chip
from neff_bench.chips.dtypes import SIZE_BYTES
from neff_bench.simulator.costs.steps import REST, TENSOR, WEIGHTS, Lowered, Step
from neff_bench.simulator.program import Access

_FAST_ITEM_BYTES = 2


def on_pe(
    chip: Chip, rows: int, cols: int, n: int, weights: Access, dst: Access, transpose: bool,
    opcodes: tuple[int, ...], repeats: int, passes: int, moving_bytes: int,
) -> Lowered:  # fmt: skip
    """LDWEIGHTS and MATMUL, `opcodes` in this order, `repeats` times. `n`: columns that move through `rows` x `cols` weights.

    `passes`: a float32 product takes two through the array. `moving_bytes`: in each partition.
    """
    load_opcode, stream_opcode = opcodes
    load_ns = passes * _load_cycles(chip, cols, weights) / chip.pe_clock_ghz
    stream_ns = passes * (max(min(chip.minimum_cycles, cols), n) + chip.pe_overhead_cycles) / chip.pe_clock_ghz
    # Weights load behind the running matmul: the array takes the longer of the two.
    load = Step(load_opcode, WEIGHTS, 0.0, chip.load_weights_ns, load_ns,
                sbuf_read=weights.columns * SIZE_BYTES[weights.dtype])  # fmt: skip
    stream = Step(
        stream_opcode, REST, 0.0, 0.0, stream_ns, 2 * rows * cols * n, transpose, sbuf_read=moving_bytes,
        # The profiler counts what NeuronCore-v2 writes to PSUM in elements of the moving operand (117 inf2 profiles).
        psum_write=moving_bytes if chip.generation < 3 else dst.columns * SIZE_BYTES[dst.dtype],
    )  # fmt: skip
    busy = max(load_ns, stream_ns) * repeats
    result = busy + chip.pe_latency_ns + chip.pe_fill_cycles / chip.pe_clock_ghz
    return Lowered(TENSOR, (load, stream) * repeats, None, False, False, "", busy, result)


def _load_cycles(chip: Chip, cols: int, weights: Access) -> float:
    """Cycles of the PE. Fast loading needs neighbouring columns without gaps, of at most two bytes. Sources: compiled kernels load
    float32 weights one column at a time (trn2 traces); nki-library's mlp has a layout for "unit-stride weight loading,
    reducing the matrix multiplication initiation interval" (AWS docs nki/library/api/mlp.rst)."""
    fast = weights.unit_stride and SIZE_BYTES[weights.dtype] <= _FAST_ITEM_BYTES
    return chip.load_weights_cycles if fast else cols
