import dataclasses

import msgspec
import pytest

from neff_bench.simulator.timing.likeness import likeness
from neff_bench.simulator.timing.schedule import schedule
from tests.simulator.programs import matmul


@pytest.mark.parametrize(
    ("target", "engines"), [("trn1", "NC-v2"), ("inf2", "NC-v2"), ("trn2", "NC-v3"), ("trn3", "NC-v3")]
)
def test_the_generation_of_the_engines(target, engines):
    assert likeness(schedule(msgspec.structs.replace(matmul(), target=target))).engines == engines


def test_the_cores():
    assert likeness(schedule(matmul(lnc=2))).lnc == 2


@pytest.mark.parametrize(("total_us", "long"), [(199, False), (201, True)])
def test_kernels_are_long_from_200_us(total_us, long):
    assert likeness(dataclasses.replace(schedule(matmul()), total_ns=total_us * 1e3)).long is long


@pytest.mark.parametrize(("busy", "binds"), [(0.74, False), (0.76, True)])
def test_the_tensor_engine_is_busy_from_three_quarters_of_the_kernel(busy, binds):
    load, other, product = matmul().cores[0][:3]
    program = msgspec.structs.replace(matmul(), cores=((load, other, *[product] * 400),))
    timed = schedule(program)
    [core] = timed.cores
    active = float((core.end_ns - core.start_ns - timed.chip.pe_latency_ns)[core.code.flops > 0].sum())
    longer = dataclasses.replace(core, kernel_end_ns=timed.overheads.preamble_ns + active / busy)
    assert likeness(dataclasses.replace(timed, cores=(longer,))).tensor_busy is binds
