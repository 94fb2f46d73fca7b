"""Says what the model and two trivial models say about a measured row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from neff_bench.chips import CHIPS
from neff_bench.simulator.chips import chip_for, what_if
from neff_bench.simulator.program import ENGINES, Program
from neff_bench.simulator.timing.counters import summarise
from neff_bench.simulator.timing.schedule import schedule
from neff_bench.simulator.timing.stated_error import not_comparable
from neff_bench.simulator.timing.timeline import timeline_of

ROOFLINE_CONSTANT_US = 15.0
"""What a kernel costs beside its roofline: about the runtime's preamble and postamble on trn2."""

_PASSES = {"float32": 4.0}
"""How many times slower than bfloat16 a product of this dtype is."""


@dataclass(frozen=True)
class Modelled:
    """Times in us. `active_us`: by engine, and "dma". roofline_us: max(compute, HBM) + a constant. busiest_us: the largest of
    active_us. comparable: the program is of a kind that has intervals. summary: all that the model says."""

    total_us: float
    active_us: Mapping[str, float]
    roofline_us: float
    comparable: bool
    summary: Mapping[str, Any]

    @property
    def execution_us(self) -> float:
        """The device latency of one launch."""
        return float(self.summary["simulator_execution_time"]) * 1e6

    @property
    def busiest_us(self) -> float:
        """The time of the engine that is active longest."""
        return max(self.active_us.values())


def modelled(program: Program, changes: Sequence[str] = ()) -> Modelled:
    """Return the model's row of a recorded program. `changes`: `name=value` or `name=2x` of constants. Raises SimulatorError for an unknown one."""
    timed = schedule(program, reduce(what_if, changes, chip_for(program.target)))
    summary = summarise(program, timed, timeline_of(timed))
    active = {name: summary[f"{name}_engine_active_time"] * 1e6 for name in ENGINES}
    active["dma"] = summary["dma_active_time"] * 1e6
    comparable = not not_comparable(program, timed)
    return Modelled(summary["total_time"] * 1e6, active, _roofline_us(program, summary), comparable, summary)


def _roofline_us(program: Program, summary: Mapping[str, Any]) -> float:
    chip = CHIPS[program.target]
    dtype = program.buffers[program.inputs[0]].dtype if program.inputs else "bfloat16"
    # A float32 product counts its FLOPs twice.
    passes = _PASSES.get(dtype, 1.0) / (2 if dtype == "float32" else 1)
    compute = summary["hardware_flops"] * passes / (chip.peak_flops * program.sharers)
    memory = (summary["hbm_read_bytes"] + summary["hbm_write_bytes"]) / chip.hbm_bandwidth_reported
    return max(compute, memory) * 1e6 + ROOFLINE_CONSTANT_US
