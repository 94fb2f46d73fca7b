"""Which operations of each generation of engines were compared with hardware, and which of a program's were not.

Sources: `traces` are the instructions of tests/measured/traces.json, each with its duration on the chip; `rope`, `silu` are the engines'
active times in the variants of Jerry2423/kda-for-trainium @90770f2 (trn2) and in zhang677/AccelOpt @47e29a7 (trn1); `gemm` those of
SemiAnalysisAI/InferenceX @e60b2ca (trn3). What is not here has the cost of AWS docs 2.26, nki.isa cost tables.
"""

from __future__ import annotations

from neff_bench.parsers.formats.opcodes import OPCODES
from neff_bench.simulator.program import ENGINES
from neff_bench.simulator.timing.schedule import Schedule

COMPARED: dict[int, dict[tuple[str, str], str]] = {
    2: {
        ("MATMUL", "tensor"): "traces",
        ("LDWEIGHTS", "tensor"): "traces",
        ("ACTIVATE", "scalar"): "traces",
        ("TENSOR_TENSOR", "vector"): "rope",
        ("RECIPROCAL", "vector"): "silu",
    },
    3: {
        ("MATMUL", "tensor"): "traces",
        ("LDWEIGHTS", "tensor"): "traces",
        ("ACTIVATE", "scalar"): "traces, silu",
        ("COPY", "scalar"): "traces, rope",
        ("CAST", "scalar"): "traces",
        ("COPY", "vector"): "traces",
        ("CAST", "vector"): "traces",
        ("TENSOR_REDUCE", "vector"): "traces",
        ("TENSOR_SCALAR", "vector"): "traces",
        ("TENSOR_TENSOR", "vector"): "rope",
    },
    4: {("MATMUL", "tensor"): "gemm", ("LDWEIGHTS", "tensor"): "gemm"},
}
"""By generation of the NeuronCore: opcode and engine of what was compared, with the source."""

_NAMED_FROM = 0.1
"""Share of the total time for which an engine is held by an operation that a row names."""

_NAMES = {value: name for name, value in OPCODES.items()}


def uncompared(schedule: Schedule) -> tuple[str, ...]:
    """Opcode and engine of each operation that was never compared on the chip's generation and holds its engine for more than a
    tenth of the total time, on the core where that is longest. A DMA trigger is none of them: its time is that of the transfer."""
    import numpy as np

    known = COMPARED.get(schedule.chip.generation, {})
    found: dict[str, None] = {}
    for core in schedule.cores:
        code = core.code
        own = code.transfer < 0
        kinds = code.opcode[own].astype(np.int64) * len(ENGINES) + code.engine[own]
        shares = np.bincount(kinds, weights=code.interval_ns[own]) / schedule.total_ns
        for kind in np.flatnonzero(shares > _NAMED_FROM).tolist():
            opcode, engine = _NAMES.get(kind // len(ENGINES), ""), ENGINES[kind % len(ENGINES)]
            if (opcode, engine) not in known:
                found[f"{opcode or 'an operation'} on {engine.capitalize()}"] = None
    return tuple(found)
