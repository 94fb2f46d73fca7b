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
