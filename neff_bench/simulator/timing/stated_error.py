"""Says of a simulated time where hardware's lies, and how that is known."""

from __future__ import annotations

from neff_bench.chips.calibration import calibration_of
from neff_bench.simulator.costs.transfers import COLLECTIVES
from neff_bench.simulator.program import Program
from neff_bench.simulator.timing.interval import Interval, interval
from neff_bench.simulator.timing.schedule import Schedule

LEFT_OUT = "as AWS's compiler did for 72 to 100 % of such bytes in the one kernel that was compared"
"""For loads of what still lies in SBUF: the five shapes of a GEMM that docs/model.md names."""

OUR_LOWERING = "the simulator's own compiler made it, AWS's may make another; counts and bytes are not exact"
"""For HLO graphs that AWS's compiler is not known to lower to the same program."""

COLLECTIVES_MODELLED = "the model of collectives was never compared with hardware"
"""For programs that communicate between ranks."""

VARIABLE_COLLECTIVES = "how much its ranks send is known in the run alone; collective and HBM bytes are not exact but those of full buffers"
"""For programs with collectives of variable length."""


def total_interval(program: Program, schedule: Schedule) -> Interval:
    """Return the 80 % range of the total time: a wide one where AWS's compiler makes another program than ours, or nothing like it was compared."""
    return interval(not not_comparable(program, schedule))


def time_error(program: Program, schedule: Schedule, unknown: tuple[str, ...]) -> str:
    """Return one line for every simulated profile: total time against hardware. `unknown`: operations that were never compared with it."""
    found, other = total_interval(program, schedule), not_comparable(program, schedule)
    ends = f"{_percent(found.low)} to {_percent(found.high)} % on hardware"
    rows = f"{found.rows} measured rows of {found.repositories} repositories"
    said = f"{ends}: 8 of 10 new kernels lie in this range ({rows})"
    if other:
        said = f"{ends}, the farthest of {rows}: {other}"
    if program.target not in found.targets:
        said += f"; none was measured on {program.target}"
    if program.left_out_bytes:
        said += (
            f"; the simulator leaves out loads of {program.left_out_bytes:,} bytes that still lie in SBUF, {LEFT_OUT}"
        )
    return f"{said}; never compared with hardware: {', '.join(unknown)}" if unknown else said


def not_comparable(program: Program, schedule: Schedule) -> str:
    """Return why none of the rows behind the ranges is like this one: AWS's compiler makes another program, the constants are others, or
    ranks communicate. Empty where it is comparable."""
    calibration = calibration_of(program.target)
    if calibration is not None:
        return f"nothing was compared with the constants of calibration {calibration.name} ({calibration.digest}), fitted to {len(calibration.traces)} traces"
    if program.from_hlo and not program.lowered_as_known:
        return OUR_LOWERING
    if program.before_middle_end:
        spills = f"; it spills {program.spilled_bytes:,} bytes, and which ones AWS's compiler spills is not known"
        changed = f"AWS's compiler may change {program.what_changes or 'this program'}; how is not known: counts and HBM bytes are not exact"
        return changed + (spills if program.spilled_bytes else "")
    if not any(kind.queue == COLLECTIVES for core in schedule.cores for kind, _ in core.code.transfers.used):
        return ""
    variable = any(step.op in ("all_gather_v", "all_to_all_v") for core in program.cores for step in core)
    return f"{COLLECTIVES_MODELLED}; {VARIABLE_COLLECTIVES}" if variable else COLLECTIVES_MODELLED


def _percent(ratio: float) -> str:
    return f"{100 * (ratio - 1):+.0f}"
