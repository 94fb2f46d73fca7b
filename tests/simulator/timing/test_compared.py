import pytest

from neff_bench.simulator.costs.comparisons import comparisons
from neff_bench.simulator.costs.table import TABLES
from neff_bench.simulator.timing.compared import held_ns, uncompared
from neff_bench.simulator.timing.counters import simulator_keys
from neff_bench.simulator.timing.schedule import schedule
from tests.simulator.programs import ProgramBuilder


def program(op, count, engine="vector", target="trn2", dtype="float32", columns=1024):
    p = ProgramBuilder(target=target)
    tile = p.load_of("x", (128, columns), dtype)
    for _ in range(count):
        p.step(op, tile, (128, columns), dtype, engine, {"data2": tile} if op == "tensor_tensor" else None, op="add")
    return p.program()


def products(count, **attributes):
    p = ProgramBuilder()
    tile = p.load_of("x", (128, 512), "float8_e4m3")
    for _ in range(count):
        p.do("nc_matmul", {"dst": p.psum((128, 256))}, {"stationary": p.columns(tile, 256), "moving": tile}, "tensor", **attributes)  # fmt: skip
    return p.program()


@pytest.mark.parametrize(
    ("made", "named"),
    [
        (program("reciprocal", 20), ("reciprocal on Vector",)),
        (program("reciprocal", 1, columns=512), ("reciprocal on Vector",)),
        (program("reciprocal", 1, columns=192), ()),
        (program("reciprocal", 20, target="trn1"), ()),
        (program("activation", 20, "scalar"), ()),
        (program("activation", 20, "scalar", "trn3"), ("activation on Scalar (sbuf)",)),
        (program("activation", 1, "scalar", "trn3"), ()),
        (program("tensor_tensor", 30), ()),
        (program("tensor_tensor", 60, dtype="bfloat16"), ()),
        (products(100), ()),
        (products(100, perf_mode="double_row"), ("nc_matmul on Tensor (double_row)",)),
    ],
)
def test_what_holds_an_engine_for_a_tenth_of_the_time_without_a_comparison_is_named(made, named):
    assert uncompared(made, schedule(made)) == named


def test_dmas_are_named_by_what_they_move():
    p = ProgramBuilder()
    source = p.input("x", (128, 8192), "bfloat16")
    tile = p.sbuf((128, 8192), "bfloat16")
    p.do("dma_transpose", {"dst": tile}, {"src": source}, "sync", dge_mode="hwdge")
    made = p.program()
    assert uncompared(made, schedule(made)) == ("dma_transpose (hardware descriptors)",)


def test_the_profile_names_it():
    made = program("reciprocal", 20)
    keys = simulator_keys(made, schedule(made))
    assert "never compared with hardware: reciprocal on Vector" in keys["simulator_time_error"]
    assert keys["simulator_uncompared_operations"] == "reciprocal on Vector"
    few = program("activation", 20, "scalar")
    keys = simulator_keys(few, schedule(few))
    assert "never compared" not in keys["simulator_time_error"]
    assert keys["simulator_uncompared_operations"] == ""


def test_held_times_are_those_of_the_operations():
    made = program("reciprocal", 10)
    held = {row.operation: ns for row, ns in held_ns(made, schedule(made), 0).items()}
    assert held["reciprocal"] == pytest.approx(10 * (8 * 1024 / 0.96 + 65))
    assert set(held) == {"reciprocal", "dma_copy"}


def test_every_comparison_is_of_a_row_that_is_there():
    known = {(generation, row.key) for generation, rows in TABLES.items() for row in rows}
    assert set(comparisons()) <= known
    assert len(comparisons()) > 30
