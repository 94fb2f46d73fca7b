"""Which class of kernels a program is of, and so which error its simulated times state."""

from __future__ import annotations

from neff_bench.chips.stated_errors import stated_error
from neff_bench.parsers.formats.opcodes import OPCODES
from neff_bench.simulator.chips import chip_for
from neff_bench.simulator.program import Program
from neff_bench.simulator.timing.schedule import Schedule

_GEMM = frozenset("nc_matmul nc_transpose dma_copy dma_transpose tensor_copy tensor_tensor memset".split())
"""All that a program of the GEMM class does."""

_PE_BOUND = 0.75
"""Share of the kernel's time with the PE busy from which it is of that class."""

_SHORTEST_GEMM_NS = 75e3
"""Total from which GEMMs were measured."""

_LONG_NS = 500e3
"""Total from which LNC 2 kernels are a class of their own."""


BEFORE_MIDDLE_END = "before the compiler's middle end, HBM bytes are not exact"
"""Of programs to which AWS's compiler adds loads and stores that are not known."""

OUR_LOWERING = "as we lower the HLO, whose counts and bytes are not exact"
"""Of HLO graphs that AWS's compiler is not known to lower to the same program."""


def time_error(program: Program, schedule: Schedule) -> str:
    """One line for every simulated profile: total time against hardware."""
    error = stated_error(chip_for(program.target), _kind(program, schedule))
    if program.from_hlo and not program.lowered_as_known:
        return f"{error}; {OUR_LOWERING}"
    return f"{error}; {BEFORE_MIDDLE_END}" if program.before_middle_end else error


def _kind(program: Program, schedule: Schedule) -> str:
    """The class of kernels that the program is of."""
    if schedule.total_ns >= _SHORTEST_GEMM_NS and _is_gemm(program) and _pe_share(schedule) >= _PE_BOUND:
        return "gemm"
    if program.lnc == 1:
        return "one_core"
    return "long" if schedule.total_ns >= _LONG_NS else "short"


def _is_gemm(program: Program) -> bool:
    return all(instruction.op in _GEMM for core in program.cores for instruction in core)


def _pe_share(schedule: Schedule) -> float:
    """Busiest core's PE time over its kernel time."""
    shares = [0.0]
    for core in schedule.cores:
        matmuls = core.code.opcode == OPCODES["MATMUL"]
        kernel = core.kernel_end_ns - schedule.overheads.preamble_ns
        if matmuls.any() and kernel > 0:
            latency = schedule.chip.pe_latency_ns
            shares.append(float((core.end_ns - core.start_ns - latency)[matmuls].sum()) / kernel)
    return max(shares)
