"""The stated error of simulated times, by class of kernel, as `make fidelity` finds it (FIDELITY.md)."""

from __future__ import annotations

from neff_bench.parsers.formats.opcodes import OPCODES
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


def time_error(program: Program, schedule: Schedule) -> str:
    """One line for every simulated profile: total time against hardware."""
    error = _of_class(program, schedule)
    return f"{error}; {BEFORE_MIDDLE_END}" if program.before_middle_end else error


def _of_class(program: Program, schedule: Schedule) -> str:
    target = program.target
    if target == "trn1":
        return "not measured on trn1: constants of inf2"
    if target == "inf2":
        return "-20 to +5 % (4 matmuls of one tile, inf2); larger kernels not measured"
    note = "; overheads of trn3 are those of trn2" if target == "trn3" else ""
    if schedule.total_ns >= _SHORTEST_GEMM_NS and _is_gemm(program) and _pe_share(schedule) >= _PE_BOUND:
        return f"within 8 % (38 GEMMs, trn3, LNC 2: -3.3 to +4.1 %){note}"
    if program.lnc == 1:
        return f"within 15 % (24 MLPs of nki-library, trn2, LNC 1){note}"
    if schedule.total_ns >= _LONG_NS:
        return f"-22 to +3 %, median -10 % (17 MLPs of nki-library, trn2, LNC 2){note}"
    return f"-36 to +17 %, median -3 % (53 short MLPs of nki-library, trn2, LNC 2){note}"


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
