"""Lowers HLO graphs to programs, as a compiler would: `lower_hlo`."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from neff_bench.chips.dtypes import SIZE_BYTES
from neff_bench.parsers.errors import ParseError
from neff_bench.parsers.hlo import read_hlo
from neff_bench.simulator.chips import chip_for
from neff_bench.simulator.compiler.code.allocation import open_sbuf_bytes
from neff_bench.simulator.errors import CompileError
from neff_bench.simulator.hlo.core import IDENTITY_BYTES, Core
from neff_bench.simulator.hlo.dot import K_TILE, Span
from neff_bench.simulator.hlo.graph import Graph, Value, build_graph
from neff_bench.simulator.hlo.plan import Plan, Stage, make_plan
from neff_bench.simulator.hlo.pool import Pool
from neff_bench.simulator.hlo.stage import BLOCK, StageKernel
from neff_bench.simulator.nki import isa as nisa
from neff_bench.simulator.nki import language as nl
from neff_bench.simulator.nki.spec import InputSpec
from neff_bench.simulator.nki.trace import Call, record
from neff_bench.simulator.numpy_dtypes import numpy_dtype
from neff_bench.simulator.program import Program

MACS_MAX = 1 << 60
"""More than a device does in years, and as much as a NEFF's statistics hold."""
COLUMN_UNIT = 64
"""Columns are shared between cores in multiples of this."""


def lower_hlo(hlo: bytes, target: str, lnc: int) -> Program:
    """Return a program with the tensors input0, input1, ... and output0, output1, ... in the module's order. Raises `CompileError`."""
    try:
        module = read_hlo(hlo)
    except ParseError as error:
        raise CompileError(error.what) from None
    try:
        graph = build_graph(module)
        plan = make_plan(graph, lnc)
    except RecursionError:
        raise CompileError(f"HLO module {module.name}: a chain of operations is too long to be planned") from None
    except (ArithmeticError, LookupError, MemoryError, TypeError, ValueError) as error:
        what = f"{type(error).__name__}: {error}"
        raise CompileError(f"HLO module {module.name}: shapes and operands do not fit together ({what})") from None
    if module.mac_count > MACS_MAX:
        raise CompileError(f"HLO module {module.name}: {module.mac_count:.3g} multiply-accumulates, at most {MACS_MAX}")
    inputs = tuple(InputSpec(f"input{n}", p.shape or (1,), p.dtype) for n, p in enumerate(graph.parameters))
    chip = chip_for(target)
    kernel = _Kernel(graph, plan, open_sbuf_bytes(chip), chip.generation)
    program = record(Call(kernel.run, graph.name, inputs), target, lnc)
    known = _is_known(plan, target)
    return _named(msgspec.structs.replace(program, model_flops=2 * module.mac_count, lowered_as_known=known), graph)


class _Kernel:
    """The whole graph as one kernel, run once for each core."""

    def __init__(self, graph: Graph, plan: Plan, sbuf_bytes: int, generation: int) -> None:
        self.graph, self.plan = graph, plan
        self.sbuf_bytes, self.generation = sbuf_bytes, generation

    def run(self, **inputs: Any) -> tuple[Any, ...]:
        hbm: dict[Value, Any] = {value: inputs[f"input{n}"] for n, value in enumerate(self.graph.parameters)}
        for value in self.plan.constants:
            elements = np.frombuffer(value.data, numpy_dtype(value.dtype))
            hbm[value] = nl.shared_constant(elements.reshape(value.shape or (1,)))
        number_of_core, cores = nl.program_id(0), nl.num_programs(0)
        core = Core(hbm, Pool(self.sbuf_bytes, IDENTITY_BYTES), self.graph.texts, self.generation)
        for number, stage in enumerate(self.plan.stages):
            base = stage.target.base
            if base not in hbm:
                hbm[base] = nl.ndarray(
                    base.shape or (1,), dtype=base.dtype, buffer=nl.shared_hbm, name=f"value{number}"
                )
            rows, cols = _share(stage, number_of_core, cores)
            if rows[1] and cols[1]:
                StageKernel(stage, core, rows, cols).run()
            if cores > 1 and number + 1 < len(self.plan.stages):
                nisa.core_barrier(data=hbm[base], cores=(0, 1))
        return tuple(hbm[value] for value in self.plan.results)


def _is_known(plan: Plan, target: str) -> bool:
    """Return whether the graph is of the kind that 117 public profiles are of, all of whose counts and bytes this lowering has: on
    NeuronCore-v2 a product of one tile, up to 2048 columns wide, in 16 bits (docs/model.md, Evidence)."""
    terms = [stage.term for stage in plan.stages]
    if len(terms) != 1 or terms[0].kind != "dot" or chip_for(target).generation != 2:
        return False
    product, lhs = terms[0], terms[0].terms[0]
    in_rows = all(matrix is not None and matrix.col_stride == 1 for matrix in (lhs.matrix, product.matrix))
    one_tile = product.batch == 1 and product.rows == lhs.cols == K_TILE and product.cols <= BLOCK
    return in_rows and one_tile and SIZE_BYTES[product.dtype] == SIZE_BYTES[lhs.dtype] == 2


def _share(stage: Stage, core: int, cores: int) -> tuple[Span, Span]:
    """Return the rows and columns of a stage that one core computes."""
    rows, cols = (0, stage.term.rows), (0, stage.term.cols)
    if stage.by_columns:
        each = -(-stage.term.cols // (cores * COLUMN_UNIT)) * COLUMN_UNIT
        return rows, _part(stage.term.cols, core, each)
    return _part(stage.term.rows, core, -(-stage.term.rows // cores)), cols


def _part(size: int, core: int, each: int) -> Span:
    start = min(size, core * each)
    return start, min(each, size - start)


def _named(program: Program, graph: Graph) -> Program:
    """Return each instruction with the HLO instruction it comes from, and none with a line of this file."""
    replace = msgspec.structs.replace
    known = set(graph.texts.values())
    names = tuple(text if text in known else "" for text in program.sources)
    return replace(
        program, buffers=tuple(replace(buffer, source=0) for buffer in program.buffers), sources=names, callers=()
    )
