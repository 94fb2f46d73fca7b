import msgspec
import pytest

from neff_bench.simulator.timing import stated_error
from neff_bench.simulator.timing.interval import Interval
from neff_bench.simulator.timing.schedule import schedule
from neff_bench.simulator.timing.stated_error import time_error, total_interval
from tests.simulator.programs import matmul


def stated(program):
    return time_error(program, schedule(program), ())


@pytest.fixture
def interval(monkeypatch):
    def found(like):
        return Interval(0.87, 1.2, 30, ("mlp", "rope"), ("trn2",), 4)

    monkeypatch.setattr(stated_error, "interval", found)


def test_the_interval_and_the_rows_that_it_comes_from_are_named(interval):
    assert stated(matmul()) == (
        "-13 to +20 % on hardware (80 % interval of 30 rows of 2 kernels: NC-v3, LNC 1, Tensor not busy, under 200 us)"
    )


def test_a_chip_without_rows_of_its_own_says_so(interval):
    assert "2 kernels, not measured on trn3: NC-v3" in stated(msgspec.structs.replace(matmul(), target="trn3"))


def test_a_program_before_the_middle_end_has_no_interval_and_says_that_its_bytes_are_not_exact(interval):
    program = msgspec.structs.replace(matmul(), before_middle_end=True)
    assert total_interval(program, schedule(program)) is None
    assert stated(program).endswith("HBM bytes are not exact")
    assert "not exact" not in stated(matmul())


def test_a_program_that_spills_says_how_much(interval):
    program = msgspec.structs.replace(matmul(), before_middle_end=True, spilled_bytes=65536)
    assert "it spills 65,536 bytes: which AWS's compiler spills is not known" in stated(program)
    assert "spills" not in stated(msgspec.structs.replace(program, spilled_bytes=0))


def test_our_own_lowering_is_not_comparable_with_measured_rows():
    program = msgspec.structs.replace(matmul(), model_flops=1)
    assert total_interval(program, schedule(program)) is None
    assert stated(program).startswith("not comparable with measured rows: as we lower the HLO")


def test_a_generation_that_nobody_measured_has_no_interval(monkeypatch):
    monkeypatch.setattr(stated_error, "interval", lambda like: None)
    assert stated(matmul()).startswith("no interval: too few measured rows on trn2")
