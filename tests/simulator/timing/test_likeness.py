import dataclasses

import msgspec
import pytest

from neff_bench.simulator.timing.likeness import likeness
from neff_bench.simulator.timing.schedule import schedule
from tests.simulator.programs import matmul


def like(program, share=0.0):
    return likeness(program, schedule(program), share)


@pytest.mark.parametrize(("target", "generation"), [("trn1", 2), ("inf2", 2), ("trn2", 3), ("trn3", 4)])
def test_the_generation_of_the_engines(target, generation):
    assert like(msgspec.structs.replace(matmul(), target=target)).generation == generation


def test_the_cores():
    assert like(matmul(lnc=2)).lnc == 2


def test_an_idle_core_is_none():
    program = matmul()
    assert like(msgspec.structs.replace(program, lnc=2, cores=(*program.cores, ()))).lnc == 1


def test_the_old_dialect_and_hlo_go_through_a_compiler():
    assert not like(matmul()).compiled
    assert like(msgspec.structs.replace(matmul(), keeps_weights=True)).compiled
    assert like(msgspec.structs.replace(matmul(), model_flops=1)).compiled


@pytest.mark.parametrize(("share", "quarters"), [(0.0, 0.0), (0.01, 0.25), (0.25, 0.25), (0.26, 0.5), (1.0, 1.0)])
def test_the_share_of_uncompared_operations_is_rounded_up_to_quarters(share, quarters):
    assert like(matmul(), share).uncompared == quarters


@pytest.mark.parametrize(("busy", "binds"), [(0.74, False), (0.76, True)])
def test_the_tensor_engine_is_busy_from_three_quarters_of_the_kernel(busy, binds):
    load, other, product = matmul().cores[0][:3]
    program = msgspec.structs.replace(matmul(), cores=((load, other, *[product] * 400),))
    timed = schedule(program)
    [core] = timed.cores
    active = float((core.end_ns - core.start_ns - timed.chip.pe_latency_ns)[core.code.flops > 0].sum())
    longer = dataclasses.replace(core, kernel_end_ns=timed.overheads.preamble_ns + active / busy)
    assert likeness(program, dataclasses.replace(timed, cores=(longer,)), 0.0).tensor_busy is binds
