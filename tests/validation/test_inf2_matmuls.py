"""torch.matmul 128x128xN as AWS's compiler made it for inf2, beside our lowering of the same HLO."""

import json
from pathlib import Path

import pytest

from neff_bench.simulator.hlo.lower import lower_hlo
from neff_bench.simulator.timing.counters import summarise
from neff_bench.simulator.timing.schedule import schedule
from neff_bench.simulator.timing.timeline import timeline_of
from neff_bench.stage1_generate.kernels.matmul_xla import matmul
from neff_bench.stage1_generate.toolchains.xla import trace

TABLE = json.loads(Path(__file__).with_name("inf2_matmuls.json").read_bytes())
MEASURED = [dict(zip(TABLE["columns"], row, strict=True)) for row in TABLE["rows"]]
SHOWN = [profile for n, profile in enumerate(MEASURED) if n % 29 == 0 or profile["N"] in (136, 512, 800, 1000, 2048)]
"""The widest, the four that come with the project's measurements, and some between: each costs a tenth of a second."""


def simulated(columns, first_execution=False):
    program = lower_hlo(trace(matmul, [((128, 128), "float16"), ((128, columns), "float16")]), "inf2", 1)
    timed = schedule(program, first_execution=first_execution)
    return summarise(program, timed, timeline_of(timed))


@pytest.mark.parametrize("measured", SHOWN, ids=lambda profile: f"128x128x{profile['N']}")
def test_every_counter_is_that_of_the_profile(measured):
    found = simulated(measured["N"])
    assert {name: found[name] for name in TABLE["columns"][2:]} == {
        name: measured[name] for name in TABLE["columns"][2:]
    }


def test_a_first_execution_takes_what_it_took():
    times = [profile["first_execution_ns"] for profile in MEASURED]
    first, later = simulated(512, first_execution=True), simulated(512)
    assert min(times) < first["total_time"] * 1e9 < max(times)
    assert later["total_time"] < 20e-6
