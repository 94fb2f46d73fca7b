"""Holds the cost of every ISA operation, by generation of the NeuronCore: what the cost functions read, and `neuron-sim explain --operations` prints.

A row says how many cycles of its engine each column takes, and which constants of the chip come on top. `comparisons.json` beside this
file says which rows were ever compared with hardware.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from neff_bench.chips.engines import ENGINES, TITLES
from neff_bench.simulator.errors import CompileError

ANY, SMALL, LARGE, FLOAT32 = "any", "two bytes", "more than two bytes", "float32"
"""Dtypes. SMALL: all operands of more than one column are BF16 or FP16, and lie as Vector's performance mode wants them; weights of two bytes
at most. FLOAT32: of a product, in one operand."""

DMA = "dma"
"""The engines of what is moved; its trigger costs the same on every engine."""

SBUF, PSUM = "sbuf", "psum"
"""Memories. PSUM: one operand of more than one column lies there. SBUF: none does."""

HARDWARE, SOFTWARE, STATIC = "hardware descriptors", "software descriptors", "static descriptors"
CONVERTS = ", new dtype"
PRODUCT, TRANSPOSE, DOUBLE_ROW = "product", "transpose", "double_row"
ONES_STAY, ONES_MOVE, ONES_BOTH = "ones and zeros stay", "ones and zeros move", "ones and zeros stay and move"
SIDE_BY_SIDE, STRIDED = "side by side", "strided"
GATHERED, SCATTERED = "reads with gaps", "writes with gaps"
SCALED = "a factor for each partition"
"""Modes: who makes the descriptors of a DMA, what the PE does, how weights lie in their partition, whether the elements of a copy are neighbours, whether Scalar multiplies by
what a tile holds. Of Vector and Scalar: the operator."""


class Row(NamedTuple):
    """Holds what an operation costs on an engine, for these dtypes and memories; in one of these `modes`, or in any where none is named.

    cycles: of the engine's clock, for each column of the widest operand (on the PE: of what moves, or of the weights). added_cycles: once.
    instructions: how often that is paid. interval, latency: the constants of the chip that are added to the time until the
    engine is free, and until the result. ns: what it takes in place of all that, where it is not None.
    """

    operation: str
    engine: str
    dtypes: str = ANY
    memory: str = ANY
    modes: tuple[str, ...] = ()
    cycles: float = 0.0
    added_cycles: float = 0.0
    instructions: int = 1
    interval: str = ""
    latency: str = ""
    ns: float | None = None
    source: str = ""

    @property
    def key(self) -> tuple[str, str, str, str, str]:
        """What tells it from the other rows of its generation."""
        return self.operation, self.engine, self.dtypes, self.memory, ", ".join(self.modes)

    @property
    def named(self) -> str:
        """`reciprocal on Vector`, and in brackets what else it is for."""
        where = [text for text in (self.dtypes, self.memory, "/".join(self.modes)) if text not in ("", ANY)]
        return f"{self.operation}{_PLACES[self.engine]}" + (f" ({', '.join(where)})" if where else "")


_PLACES = {name: f" on {title}" for name, title in zip(ENGINES, TITLES, strict=True)} | {DMA: "", ANY: ""}

_DOCS = "AWS docs 2.26, nki.isa cost tables"
_ASSUMED = "assumed: one column a cycle; no document has its cost"
_FAST = "AWS docs nki/guides/architecture/trainium2_arch.rst, Vector Engine performance mode"
_TRACES = "trn2 traces of github allenkchau/trainium-kernel-fusion @d709ddf1"
_ROPE = "github Jerry2423/kda-for-trainium @90770f2: Vector is active for 1738, 858, 973, 904, 844 us in five rope kernels; one cycle gives 1691, 869, 997, 909, 849, two give twice that"
_SILU = "github zhang677/AccelOpt @47e29a7, silu on trn1: Vector is active for 985 us, and 1405 with Scalar, which takes a part of the work; 2 cycles give 1338 for both, the 8 of AWS docs 2.26 give 2353"
_MEGAKERNEL = "trn2 trace of github KevGomes1403/nki-moe-megakernel @f1fe87a, moe_tkg v6b"
_FACTORS = "trn2 trace of github KevGomes1403/nki-moe-megakernel @f1fe87a, moe_tkg v6b: 128 ACTIVATEs of 128 columns times a factor in SBUF last 490-493 ns from SBUF, 450 from PSUM; summaries of github joshdelg/cs217-final-proj @ffb8dd5: 1056 of 64 columns from SBUF last 408 ns in the mean"
_SCALAR_GROUP = f"{_DOCS}: max(64, N) cycles"
_V4_GUIDE = "AWS docs nki/guides/architecture/trainium3_arch.rst"
_ONES = "AWS docs, nki.isa.nc_matmul: is_stationary_onezero and is_moving_onezero halve the time of that operand in float32; github zhang677/AccelOpt @47e29a7, FLOPs of profiles on trn1"
_COPIES = "measured: COPYs of 44 trn2 traces of five repositories (validation/correlation/coursework.py): how far apart their ends are, and how long those last that find their engine idle"
_STRIDED = "trn2 traces of CS149 (github riya-ranjan/cs149-pa4 @9d1e8c9, chenhzhu/asst4-trainium2 @fecd8c8): LDWEIGHTS of every 9th or 18th element of float16 last 35 ns longer on a throttled PE than of neighbours, and products behind them begin 62 ns apart: 72 cycles of 128 columns"
_REDUCED = "trn2 traces of CS149 (github chenhzhu/asst4-trainium2 @fecd8c8, riya-ranjan/cs149-pa4 @9d1e8c9): TENSOR_REDUCE to the maximum of 420, 210 and 28 columns of float16 lasts 591, 376 and 184 ns, a cycle for each"
_GPSIMD = f"{_DOCS}: iota, affine_select 150 + N; of other operations assumed"

_OF_PAIRS = "vector_pair_latency_ns"
_ARITHMETIC = ("add", "subtract", "multiply")
_HALVED = ("add", "max", "maximum")


def on_vector(operations: str, cycles: float, source: str, dtypes: str = ANY, memory: str = ANY, modes: tuple[str, ...] = (), added_cycles: float = 0.0, latency: str = "vector_latency_ns") -> tuple[Row, ...]:  # fmt: skip
    """Return the rows of operations on Vector that cost the same; `operations` are names with blanks between them."""
    return tuple(
        Row(name, "vector", dtypes, memory, modes, cycles, added_cycles, interval="vector_overhead_ns", latency=latency, source=source)
        for name in operations.split()
    )  # fmt: skip


def _scalar(operations: str, memory: str, interval: str, latency: str, source: str = _SCALAR_GROUP, added_cycles: float = 0.0, modes: tuple[str, ...] = (), cycles: float = 1.0, dtypes: str = ANY) -> tuple[Row, ...]:  # fmt: skip
    return tuple(
        Row(name, "scalar", dtypes, memory=memory, modes=modes, cycles=cycles, added_cycles=added_cycles, interval=interval, latency=latency, source=source)
        for name in operations.split()
    )  # fmt: skip


def _functions(operations: str, source: str = _SCALAR_GROUP, added_cycles: float = 0.0) -> tuple[Row, ...]:
    """Return the rows of what Scalar looks up or computes: from and to SBUF it takes longer."""
    return (
        *_scalar(operations, PSUM, "scalar_overhead_ns", "scalar_function_latency_ns", source, added_cycles),
        *_scalar(operations, SBUF, "scalar_sbuf_overhead_ns", "scalar_sbuf_latency_ns", source, added_cycles),
    )


def _tensor(operation: str, cycles: float, source: str, dtypes: str = ANY, modes: tuple[str, ...] = (), instructions: int = 1) -> Row:  # fmt: skip
    return Row(operation, "tensor", dtypes, modes=modes, cycles=cycles, instructions=instructions, latency="pe_latency_ns", source=source)  # fmt: skip


def _fixed(engine: str, operations: str, ns: float, source: str) -> tuple[Row, ...]:
    return tuple(Row(name, engine, ns=ns, source=source) for name in operations.split())


def _transfers(operations: str, new_dtype: str = "") -> tuple[Row, ...]:
    """Return the rows of operations that move data, for each maker of descriptors. `new_dtype`: `CONVERTS`, or nothing."""
    return (
        *_by_constants(operations, DMA, "dma_issue_ns", "dma_issue_ns", HARDWARE + new_dtype),
        *_by_constants(operations, DMA, "software_dma_issue_ns", "software_dma_instruction_ns", SOFTWARE + new_dtype),
        *_by_constants(operations, DMA, "static_dma_issue_ns", "static_dma_issue_ns", STATIC + new_dtype),
    )


def _by_constants(operations: str, engine: str, interval: str, latency: str, *modes: str) -> tuple[Row, ...]:
    return tuple(Row(name, engine, modes=modes, interval=interval, latency=latency) for name in operations.split())


_COLLECTIVES = (
    "all_reduce all_gather all_gather_v reduce_scatter all_to_all all_to_all_v collective_permute collective_permute_implicit"
    " collective_permute_implicit_reduce"
)

_EVERYWHERE: tuple[Row, ...] = (
    *on_vector("bn_stats dropout max8 nc_find_index8 nc_match_replace8 nc_stream_shuffle nc_transpose range_select", 1.0, _DOCS),
    *on_vector("tensor_tensor_scan", 2.0, _DOCS),
    *on_vector("tensor_scalar_cumulative", 2.0, "assumed: as tensor_tensor_scan"),
    *on_vector("tensor_scalar_reduce", 1.0, f"{_DOCS}: max(64, N) + 64 cycles", added_cycles=64.0),
    *on_vector("tensor_copy_predicated", 1.0, f"{_DOCS}: N with one operand in PSUM", memory=PSUM),
    *on_vector("tensor_copy_predicated", 2.0, f"{_DOCS}: 2 N in SBUF"),
    *on_vector("bn_aggr", 13 / 3, f"{_DOCS}: 13 N / 3"),
    *on_vector("select_reduce set_rng_seed rand_set_state rand_get_state", 1.0, _ASSUMED),
    *on_vector("tensor_reduce", 1.0, _DOCS),
    *_functions("activation tensor_scalar reciprocal"),
    *_functions("activation_reduce", f"{_DOCS}: 64 cycles more than activation", added_cycles=64.0),
    *_scalar("tensor_copy memset", ANY, "scalar_copy_overhead_ns", "scalar_latency_ns"),
    *(
        Row(name, "gpsimd", cycles=1.0, latency="gpsimd_latency_ns", source=_GPSIMD)
        for name in (
            "iota affine_select memset tensor_copy tensor_tensor tensor_scalar scalar_tensor_tensor reciprocal rng rand_set_state"
            " rand_get_state nc_n_gather local_gather tensor_partition_reduce nonzero_with_count topk sequence_bounds"
        ).split()
    ),
    _tensor("nc_matmul", 2.0, f"{_ONES}: a broadcast by weights of ones is one instruction", FLOAT32, (ONES_STAY,)),
    _tensor("nc_matmul", 1.0, f"{_ONES}: a transpose by an identity that moves is two instructions", FLOAT32, (ONES_MOVE,), instructions=2),
    _tensor("nc_matmul", 1.0, f"{_ONES}", FLOAT32, (ONES_BOTH,)),
    _tensor("nc_matmul", 2.0, f"{_DOCS}: four cycles a column; {_TRACES}: two instructions of two passes", FLOAT32, instructions=2),
    _tensor("nc_matmul", 1.0, f"{_DOCS}: two rows of FP8 at once; N is half of the columns", modes=(DOUBLE_ROW,)),
    _tensor("nc_matmul", 1.0, f"{_DOCS}: max(min(64, columns of the weights), N) cycles"),
    _tensor("nc_transpose", 1.0, f"{_DOCS}: max(P, min(64, F)) cycles"),
    Row("ldweights", "tensor", SMALL, modes=(SIDE_BY_SIDE,), latency="load_weights_ns", source="AWS docs, fast LoadStationary: load_weights_cycles"),
    Row("ldweights", "tensor", cycles=1.0, latency="load_weights_ns", source=f"{_TRACES}: float32 weights load one column at a time"),
    *_transfers("dma_transpose dma_compute sendrecv"),
    *_transfers("dma_copy"),
    *_transfers("dma_copy", CONVERTS),
    *_by_constants(_COLLECTIVES, DMA, "static_dma_issue_ns", "static_dma_issue_ns"),
    *_by_constants("core_barrier", ANY, "barrier_ns", "barrier_ns"),
    *_fixed("sync", "register_move register_store compare_branch", 50.0, "assumed; no document has its cost"),
    *_fixed("sync", "register_load", 1060.0, f"{_TRACES}: TENSOR_LOAD 1019-1069 ns"),
    *_fixed("gpsimd", "register_load", 333.0, f"{_MEGAKERNEL}: TENSOR_LOAD of an index in SBUF 284-299 ns, and 43 to what follows"),
    *_fixed("gpsimd", "register_alu register_move", 77.0, f"{_MEGAKERNEL}: 35-42 ns each, and 36-39 to what follows"),
    *_fixed("sync", "rank_id collective_permute_implicit_current_processing_rank_id", 1060.0, "assumed: as register_load, the number of the rank is read from memory"),
)  # fmt: skip
"""What no document and no trace has different on any generation."""

_V2 = (
    *on_vector("tensor_copy tensor_scalar memset", 1.0, _DOCS),
    *on_vector("tensor_tensor", 1.0, _DOCS, SMALL, SBUF, _ARITHMETIC, latency=_OF_PAIRS),
    *on_vector("tensor_tensor", 2.0, f"{_DOCS}; rope of the same repository on trn1: 3276 us with it, 3104 measured", memory=SBUF, latency=_OF_PAIRS),
    *on_vector("tensor_tensor", 1.0, _DOCS, memory=PSUM),
    *on_vector("scalar_tensor_tensor", 2.0, _DOCS, latency=_OF_PAIRS),
    *on_vector("reciprocal", 2.0, _SILU),
    *on_vector("tensor_reduce", 0.5, _DOCS, SMALL, modes=_HALVED),
    *on_vector("rng rand2", 1.0, _ASSUMED),
    _tensor("nc_transpose", 1.0, f"a product with an identity that moves; {_ONES}: two instructions", FLOAT32, instructions=2),
)  # fmt: skip

_V3 = (
    *(
        Row("tensor_copy", engine, dtypes, memory, (SCATTERED,), cycles, 0.0, 1, interval, latency, source=_COPIES)
        for engine, dtypes, memory, cycles, interval, latency in (
            ("vector", SMALL, PSUM, 3.65, "vector_overhead_ns", "vector_scattered_latency_ns"),
            ("vector", SMALL, SBUF, 1.65, "vector_overhead_ns", "vector_scattered_latency_ns"),
            ("vector", ANY, PSUM, 1.3, "vector_overhead_ns", "vector_scattered_latency_ns"),
            ("vector", ANY, SBUF, 0.5, "vector_overhead_ns", "vector_scattered_latency_ns"),
            ("scalar", SMALL, PSUM, 4.7, "scalar_copy_overhead_ns", "scalar_scattered_latency_ns"),
            ("scalar", SMALL, SBUF, 4.5, "scalar_sbuf_copy_overhead_ns", "scalar_sbuf_scattered_latency_ns"),
            ("scalar", ANY, PSUM, 1.6, "scalar_copy_overhead_ns", "scalar_scattered_latency_ns"),
            ("scalar", ANY, SBUF, 1.5, "scalar_sbuf_copy_overhead_ns", "scalar_sbuf_scattered_latency_ns"),
        )
    ),
    *on_vector("tensor_copy", 0.9, _COPIES, memory=SBUF, modes=(GATHERED,)),
    *_scalar("tensor_copy", SBUF, "scalar_sbuf_copy_overhead_ns", "scalar_sbuf_copy_latency_ns", _COPIES, modes=(GATHERED,), cycles=2.15),
    *_scalar("tensor_copy", SBUF, "scalar_sbuf_copy_overhead_ns", "scalar_sbuf_copy_latency_ns", _COPIES),
    *_scalar("activation tensor_scalar", PSUM, "scalar_overhead_ns", "scalar_function_latency_ns", _FACTORS, modes=(SCALED,), cycles=1.8),
    *_scalar("activation tensor_scalar", SBUF, "scalar_sbuf_overhead_ns", "scalar_sbuf_latency_ns", _FACTORS, modes=(SCALED,), cycles=2.0),
    *_scalar("tensor_copy", PSUM, "scalar_copy_overhead_ns", "scalar_latency_ns", f"{_COPIES}; two elements of two bytes are copied as one of four", cycles=0.5, dtypes=SMALL),
    *on_vector("tensor_copy tensor_scalar", 0.25, f"{_FAST}: 4x", SMALL, SBUF),
    *on_vector("tensor_copy tensor_scalar", 0.5, f"{_FAST}: 2x", SMALL, PSUM),
    *on_vector("tensor_scalar", 0.5, f"{_TRACES}: 512 columns of float32 last 480 ns, half a cycle each", memory=SBUF),
    *on_vector("tensor_copy", 0.5, "assumed: as tensor_scalar", memory=SBUF),
    *on_vector("tensor_copy tensor_scalar", 1.0, f"{_DOCS}; {_TRACES}", memory=PSUM),
    *on_vector("memset", 0.25, "assumed: as tensor_copy", SMALL, SBUF),
    *on_vector("memset", 0.5, "assumed: as tensor_copy", SMALL, PSUM),
    *on_vector("memset", 1.0, f"{_DOCS}; {_MEGAKERNEL}: opcode 0x49, as many as the kernel has, of 128 columns follow each other at 141 ns", memory=SBUF),
    *on_vector("memset", 1.0, _DOCS, memory=PSUM),
    *on_vector("tensor_reduce", 1.0, _REDUCED, SMALL, modes=_HALVED),
    *on_vector("tensor_tensor", 0.5, f"{_FAST}: 2x", SMALL, SBUF, _ARITHMETIC),
    *on_vector("tensor_tensor", 1.0, _ROPE, memory=SBUF),
    *on_vector("tensor_tensor", 1.0, _DOCS, memory=PSUM),
    *on_vector("scalar_tensor_tensor", 1.0, "AWS docs 2.33, nki.isa.scalar_tensor_tensor: about the same latency as tensor_tensor"),
    *on_vector("reciprocal", 8.0, f"{_DOCS}; {_TRACES}: four columns take 178 ns, 190 with it"),
    *on_vector("rng rand2", 1.0, _ASSUMED),
    _tensor("nc_matmul", 2.0, f"{_TRACES}: a float32 PE transpose is one instruction of two passes", FLOAT32, (TRANSPOSE,)),
    _tensor("nc_transpose", 2.0, f"{_TRACES}: one instruction of two passes", FLOAT32),
    Row("ldweights", "tensor", SMALL, modes=(STRIDED,), cycles=0.5625, latency="load_weights_ns", source=_STRIDED),
)  # fmt: skip

_V4 = (
    *on_vector("rng rand2", 0.25, f"{_V4_GUIDE}: four 32-bit values a cycle"),
    *on_vector("quantize_mx", 0.25, f"{_V4_GUIDE}: four elements of src a cycle"),
    _tensor(
        "nc_matmul_mx",
        1.177,
        "profile of github yahavb/trn2-matmul-bench @b4ff24b, matmul_benchmark_trn3.log: 131,042 products of 512 columns keep the PEs of two cores busy for 16.614 ms, 253.6 ns each; by the guide they would take as long as those of BF16",
    ),
    *on_vector("exponential", 0.25, f"{_V4_GUIDE}: four times the throughput of activation"),
    *(row._replace(source=f"as NC-v3: {row.source}") for row in _V3 if row.operation not in ("rng", "rand2")),
    *_functions("activate2", "assumed: as activation"),
)

TABLES: dict[int, tuple[Row, ...]] = {2: (*_V2, *_EVERYWHERE), 3: (*_V3, *_EVERYWHERE), 4: (*_V4, *_EVERYWHERE)}
"""By generation of the NeuronCore. Of several rows of an operation on an engine the first that fits counts."""


def add_rows(rows: Iterable[Row]) -> None:
    """Add the rows of an operation that is declared outside of this table; the same for every generation."""
    for generation in TABLES:
        TABLES[generation] += tuple(rows)
    rows_for.cache_clear()


@cache
def rows_for(generation: int, operation: str, engine: str) -> tuple[Row, ...]:
    """Return the rows of an operation on an engine. Raises CompileError where there is none."""
    table = TABLES.get(generation, TABLES[max(TABLES)])
    found = tuple(row for row in table if row[:2] == (operation, engine))
    if not found:
        raise CompileError(f"operation {operation!r} has no cost on engine {engine!r} of NeuronCore-v{generation}")
    return found


def row_for(generation: int, operation: str, engine: str, dtypes: str = ANY, memory: str = ANY, mode: str = "") -> Row:
    """Return the row that an operation has. `dtypes`, `memory`, `mode`: its own. Raises CompileError where there is none."""
    for row in rows_for(generation, operation, engine):
        if row.dtypes in (ANY, dtypes) and row.memory in (ANY, memory) and (not row.modes or mode in row.modes):
            return row
    raise CompileError(f"operation {operation!r} has no cost on engine {engine!r} for {dtypes}, {memory}, {mode!r}")
