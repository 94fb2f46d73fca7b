"""What is said of a simulated total time: where hardware's lies, and how that is known."""

from __future__ import annotations

from neff_bench.chips.calibration import calibration_of
from neff_bench.simulator.costs.transfers import COLLECTIVES
from neff_bench.simulator.program import Program
from neff_bench.simulator.timing.compared import Uncompared
from neff_bench.simulator.timing.interval import Interval, interval, library_kernels
from neff_bench.simulator.timing.likeness import Likeness, library_kernel, likeness
from neff_bench.simulator.timing.schedule import Schedule

BEFORE_MIDDLE_END = "AWS's compiler changes this program in ways that are not known; counts and HBM bytes are not exact"
"""For programs to which AWS's compiler adds loads and stores."""

LEFT_OUT = "AWS's compiler left out 72 to 100 % of such bytes in the one kernel that was compared"
"""For loads of what still lies in SBUF: the five shapes of a GEMM that simulator/compiler/passes/loads.py names."""

OUR_LOWERING = "AWS may compile this HLO to another program; counts and bytes are not exact"
"""For HLO graphs that AWS's compiler is not known to lower to the same program."""

COLLECTIVES_MODELLED = "the model of collectives was never compared with hardware"
"""For programs that communicate between ranks."""

VARIABLE_COLLECTIVES = "how much its ranks send is known in the run alone; collective and HBM bytes are not exact but those of full buffers"
"""For programs with collectives of variable length."""


def total_interval(program: Program, schedule: Schedule, unknown: Uncompared) -> Interval | None:
    """The 80 % interval of the total time. None where no row of the chip's generation was measured, and where AWS's compiler makes
    another program than ours: none of the rows behind the intervals is of that kind, so nothing says how far off such a row is."""
    return None if not_comparable(program, schedule) else _interval(program, likeness(program, schedule, unknown.share))


def time_error(program: Program, schedule: Schedule, unknown: Uncompared) -> str:
    """One line for every simulated profile: total time against hardware. `unknown`: operations that were never compared with it."""
    other = not_comparable(program, schedule)
    if other:
        return f"no range: {other}"
    like = likeness(program, schedule, unknown.share)
    found = _interval(program, like)
    said = f"no range: no row was measured on {program.target} or chips like it"
    if found is not None:
        said = f"{_percent(found.low)} to {_percent(found.high)} % on hardware: {_known(found, like, program.target)}"
    if program.left_out_bytes:
        said += f"; {program.left_out_bytes:,} bytes that still lie in SBUF are not loaded again ({LEFT_OUT})"
    return f"{said}; never compared with hardware: {', '.join(unknown.named)}" if unknown.named else said


def not_comparable(program: Program, schedule: Schedule) -> str:
    """Why none of the rows behind the intervals is like this one: AWS's compiler makes another program, the constants are others, or
    ranks communicate. Empty where it is comparable."""
    calibration = calibration_of(program.target)
    if calibration is not None:
        return f"nothing was compared with the constants of calibration {calibration.name} ({calibration.digest}), fitted to {len(calibration.traces)} traces"
    if program.from_hlo and not program.lowered_as_known:
        return OUR_LOWERING
    if program.before_middle_end:
        spills = f"; it spills {program.spilled_bytes:,} bytes, and which ones AWS's compiler spills is not known"
        return BEFORE_MIDDLE_END + (spills if program.spilled_bytes else "")
    if not any(kind.queue == COLLECTIVES for core in schedule.cores for kind in core.code.transfers.kinds):
        return ""
    variable = any(step.op in ("all_gather_v", "all_to_all_v") for core in program.cores for step in core)
    return f"{COLLECTIVES_MODELLED}; {VARIABLE_COLLECTIVES}" if variable else COLLECTIVES_MODELLED


def _interval(program: Program, like: Likeness) -> Interval | None:
    return interval(like, library_kernel(program, library_kernels()))


def _percent(ratio: float) -> str:
    return f"{100 * (ratio - 1):+.0f}"


def _known(found: Interval, like: Likeness, target: str) -> str:
    """Which rows the interval is made from, and how many of them are like this one."""
    cores = f"NC-v{like.generation}, LNC {like.lnc}"
    chip = "" if target in found.targets else f", not measured on {target}"
    if found.kernel:
        return f"the range of {found.rows} measured rows of nki-library's {found.kernel} ({cores}{chip})"
    kind = f"{cores}, {'old dialect or XLA' if like.compiled else 'current dialect'}"
    rows, kernels = found.alike
    alike = f"{rows} of {kernels} {'kernel' if kernels == 1 else 'kernels'} are" if rows else "none is"
    binds = ", the Tensor Engine binds" if like.tensor_busy else ""
    return (
        f"8 of 10 kernels of a new kind lie in this range (evidence: {found.rows} measured rows of {found.families} kernels, {found.first} of "
        f"them simulated before anybody compared them; {alike} like this one: {kind}{chip}{binds})"
    )
