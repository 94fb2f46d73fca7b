import msgspec
import pytest

from neff_bench.simulator.timing import stated_error
from neff_bench.simulator.timing.compared import Uncompared
from neff_bench.simulator.timing.interval import Interval
from neff_bench.simulator.timing.likeness import Likeness
from neff_bench.simulator.timing.schedule import schedule
from neff_bench.simulator.timing.stated_error import _known, time_error, total_interval
from tests.simulator.programs import matmul

NONE = Uncompared((), 0.0)


def stated(program):
    return time_error(program, schedule(program), NONE)


@pytest.fixture
def interval(monkeypatch):
    def found(like, kernel=""):
        return Interval(0.87, 1.2, 30, 4, 9, (11, 1 if like.compiled else 2), ("trn2",))

    monkeypatch.setattr(stated_error, "interval", found)


def test_the_interval_and_the_rows_that_it_comes_from_are_named(interval):
    assert stated(matmul()) == (
        "-13 to +20 % on hardware: 8 of 10 kernels of a new kind lie in this range (evidence: 30 measured rows of 4 kernels, "
        "9 of them simulated before anybody compared them; 11 of 2 kernels are like this one: NC-v3, LNC 1, current dialect)"
    )
    compiled = msgspec.structs.replace(matmul(), keeps_weights=True)
    like = Likeness(3, 1, False, True, 0.0)
    assert _known(stated_error.interval(like), like, "trn2").endswith("current dialect, the Tensor Engine binds)")
    assert "11 of 1 kernel are like this one: NC-v3, LNC 1, old dialect or XLA)" in stated(compiled)


def test_where_no_row_is_like_it_that_is_said(monkeypatch):
    monkeypatch.setattr(stated_error, "interval", lambda *_: Interval(0.8, 1.3, 30, 4, 9, (0, 0), ("trn2",)))
    assert "anybody compared them; none is like this one: NC-v3" in stated(matmul())


def test_a_kernel_of_the_library_has_the_rows_of_its_own_named(monkeypatch):
    names = []
    monkeypatch.setattr(stated_error, "library_kernels", lambda: {"mlp_tkg"})
    monkeypatch.setattr(
        stated_error,
        "interval",
        lambda _, kernel: names.append(kernel) or Interval(0.9, 1.1, 43, 1, 0, (43, 1), ("trn2",), kernel),
    )
    program = msgspec.structs.replace(matmul(), sources=("", "nkilib/core/mlp/mlp_tkg/mlp_tkg.py:1"))
    assert stated(program) == (
        "-10 to +10 % on hardware: the range of 43 measured rows of nki-library's mlp_tkg (NC-v3, LNC 1)"
    )
    assert names == ["mlp_tkg"]


def test_a_chip_without_rows_of_its_own_says_so(interval):
    assert "NC-v4, LNC 1, current dialect, not measured on trn3)" in stated(
        msgspec.structs.replace(matmul(), target="trn3")
    )


def test_operations_that_were_never_compared_are_named_and_widen_the_interval():
    program, timed = matmul(), schedule(matmul())
    unknown = Uncompared(("iota on GpSimd", "rng on Vector"), 0.5)
    assert time_error(program, timed, unknown).endswith("never compared with hardware: iota on GpSimd, rng on Vector")
    narrow, wide = total_interval(program, timed, NONE), total_interval(program, timed, unknown)
    assert wide.low < narrow.low and wide.high > narrow.high


def test_a_program_before_the_middle_end_has_no_interval_and_says_that_its_counts_and_bytes_are_not_exact(interval):
    program = msgspec.structs.replace(matmul(), before_middle_end=True)
    assert total_interval(program, schedule(program), NONE) is None
    assert stated(program).endswith("counts and HBM bytes are not exact")
    assert "not exact" not in stated(matmul())


def test_a_program_that_spills_says_how_much(interval):
    program = msgspec.structs.replace(matmul(), before_middle_end=True, spilled_bytes=65536)
    assert "it spills 65,536 bytes, and which ones" in stated(program)
    assert "spills" not in stated(msgspec.structs.replace(program, spilled_bytes=0))


def test_our_own_lowering_is_not_comparable_with_measured_rows():
    program = msgspec.structs.replace(matmul(), model_flops=1)
    assert total_interval(program, schedule(program), NONE) is None
    assert stated(program).startswith("no range: AWS may compile this HLO")


def test_a_generation_that_nobody_measured_has_no_interval(monkeypatch):
    monkeypatch.setattr(stated_error, "interval", lambda *_: None)
    assert stated(matmul()).startswith("no range: no row was measured on trn2")


def test_loads_that_are_left_out_are_told(interval):
    program = msgspec.structs.replace(matmul(), left_out_bytes=65_536)
    assert "; 65,536 bytes that still lie in SBUF are not loaded again (AWS's compiler" in stated(program)
    assert "not loaded again" not in stated(matmul())
    assert total_interval(program, schedule(program), NONE) is not None
