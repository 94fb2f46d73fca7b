import dataclasses

import msgspec
import pytest

from neff_bench.simulator.program import Instruction
from neff_bench.simulator.timing.schedule import schedule
from neff_bench.simulator.timing.stated_error import time_error
from tests.simulator.programs import matmul


def stated(program):
    return time_error(program, schedule(program))


@pytest.mark.parametrize(("lnc", "tiles", "said"), [(1, 1, "LNC 1"), (2, 1, "short MLPs"), (2, 1000, "17 MLPs")])
def test_the_error_is_that_of_the_class(lnc, tiles, said):
    assert said in stated(matmul(lnc=lnc, tiles=tiles))


def test_a_program_that_keeps_the_pe_busy_is_of_the_gemm_class():
    program = matmul()
    load, other, product = program.cores[0][:3]
    busy = msgspec.structs.replace(program, cores=((load, other, *[product] * 400),))
    assert "GEMM" in stated(busy)
    activation = Instruction("activation", "scalar", product.writes, {"data": product.writes["dst"]}, {"op": "silu"})
    assert "MLP" in stated(msgspec.structs.replace(busy, cores=((*busy.cores[0], activation),)))


def test_what_was_not_measured_says_so():
    assert "not measured" in stated(msgspec.structs.replace(matmul(), target="trn1"))


@pytest.mark.parametrize(("total_us", "said"), [(499, "53 short MLPs"), (501, "17 MLPs")])
def test_two_cores_are_of_another_class_from_500_us(total_us, said):
    program = matmul(lnc=2)
    timed = dataclasses.replace(schedule(program), total_ns=total_us * 1e3)
    assert said in time_error(program, timed)


@pytest.mark.parametrize(("total_us", "said"), [(74, "24 MLPs"), (76, "38 GEMMs")])
def test_gemms_are_a_class_from_75_us(total_us, said):
    program = matmul()
    load, other, product = program.cores[0][:3]
    busy = msgspec.structs.replace(program, cores=((load, other, *[product] * 400),))
    assert said in time_error(busy, dataclasses.replace(schedule(busy), total_ns=total_us * 1e3))


@pytest.mark.parametrize(("busy", "said"), [(0.74, "24 MLPs"), (0.76, "38 GEMMs")])
def test_a_gemm_keeps_the_pe_busy_for_three_quarters_of_the_kernel(busy, said):
    program = matmul(tiles=1)
    load, other, product = program.cores[0][:3]
    program = msgspec.structs.replace(program, cores=((load, other, *[product] * 400),))
    timed = schedule(program)
    [core] = timed.cores
    matmuls = core.code.flops > 0
    active = float((core.end_ns - core.start_ns - timed.chip.pe_latency_ns)[matmuls].sum())
    longer = dataclasses.replace(core, kernel_end_ns=timed.overheads.preamble_ns + active / busy)
    assert said in time_error(program, dataclasses.replace(timed, cores=(longer,)))


@pytest.mark.parametrize(
    ("target", "lnc", "said"),
    [
        ("trn1", 1, "not measured on trn1: constants of inf2"),
        ("inf2", 1, "-20 to +5 % (4 matmuls of one tile, inf2); larger kernels not measured"),
        ("trn2", 1, "within 15 % (24 MLPs of nki-library, trn2, LNC 1)"),
        ("trn2", 2, "-36 to +17 %, median -3 % (53 short MLPs of nki-library, trn2, LNC 2)"),
        ("trn3", 1, "within 15 % (24 MLPs of nki-library, trn2, LNC 1); overheads of trn3 are those of trn2"),
    ],
)
def test_the_stated_error_names_what_was_measured(target, lnc, said):
    assert stated(msgspec.structs.replace(matmul(lnc=lnc), target=target)) == said


def test_a_program_before_the_middle_end_says_that_its_bytes_are_not_exact():
    program = msgspec.structs.replace(matmul(), before_middle_end=True)
    assert time_error(program, schedule(program)).endswith("HBM bytes are not exact")
    assert "not exact" not in time_error(matmul(), schedule(matmul()))
