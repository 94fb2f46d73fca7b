import msgspec
import pytest

from neff_bench.simulator.timing import stated_error
from neff_bench.simulator.timing.interval import Interval
from neff_bench.simulator.timing.schedule import schedule
from neff_bench.simulator.timing.stated_error import time_error, total_interval
from tests.simulator.programs import matmul


def stated(program):
    return time_error(program, schedule(program), ())


@pytest.fixture(autouse=True)
def interval(monkeypatch):
    monkeypatch.setattr(
        stated_error,
        "interval",
        lambda known: Interval(0.87 if known else 0.5, 1.2 if known else 3.0, 30, 4, frozenset({"trn2"})),
    )


def test_the_range_and_the_rows_that_it_comes_from_are_named():
    assert stated(matmul()) == (
        "-13 to +20 % on hardware: 8 of 10 new kernels lie in this range (30 measured rows of 4 repositories)"
    )


def test_a_chip_without_a_measured_row_says_so():
    assert stated(msgspec.structs.replace(matmul(), target="trn3")).endswith("; none was measured on trn3")


def test_operations_that_were_never_compared_are_named():
    program, timed = matmul(), schedule(matmul())
    said = time_error(program, timed, ("iota on GpSimd", "rng on Vector"))
    assert said.endswith("never compared with hardware: iota on GpSimd, rng on Vector")


def test_a_program_before_the_middle_end_has_a_wide_range_and_says_that_its_counts_and_bytes_are_not_exact():
    program = msgspec.structs.replace(matmul(), before_middle_end=True)
    assert total_interval(program, schedule(program))[:2] == (0.5, 3.0)
    assert stated(program).startswith(
        "-50 to +200 % on hardware, the farthest of 30 measured rows of 4 repositories: AWS"
    )
    assert stated(program).endswith("counts and HBM bytes are not exact")
    named = msgspec.structs.replace(program, what_changes="loads that the kernel repeats")
    assert "AWS's compiler may change loads that the kernel repeats; how is not known:" in stated(named)
    assert "not exact" not in stated(matmul())


def test_a_program_that_spills_says_how_much():
    program = msgspec.structs.replace(matmul(), before_middle_end=True, spilled_bytes=65536)
    assert "it spills 65,536 bytes, and which ones" in stated(program)
    assert "spills" not in stated(msgspec.structs.replace(program, spilled_bytes=0))


def test_our_own_lowering_has_a_wide_range_too():
    program = msgspec.structs.replace(matmul(), model_flops=1)
    assert total_interval(program, schedule(program)).high == 3.0
    assert "4 repositories: the simulator's own compiler made it" in stated(program)


def test_loads_that_are_left_out_are_told():
    program = msgspec.structs.replace(matmul(), left_out_bytes=65_536)
    assert "; the simulator leaves out loads of 65,536 bytes that still lie in SBUF, as AWS's compiler" in stated(
        program
    )
    assert "leaves out loads" not in stated(matmul())
    assert total_interval(program, schedule(program)).low == 0.87


@pytest.mark.parametrize(
    ("op", "more"), [("all_gather", ""), ("all_gather_v", "; how much its ranks send is known in the run alone")]
)
def test_a_program_that_communicates_says_that_collectives_were_never_compared(op, more, monkeypatch):
    monkeypatch.setattr(stated_error, "COLLECTIVES", schedule(matmul()).cores[0].code.transfers.used[0][0].queue)
    [core] = matmul().cores
    program = msgspec.structs.replace(matmul(), cores=((msgspec.structs.replace(core[0], op=op), *core[1:]),))
    said = stated_error.not_comparable(program, schedule(matmul()))
    assert said.startswith("the model of collectives was never compared with hardware" + more) and (
        more or ";" not in said
    )
