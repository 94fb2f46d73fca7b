import pytest

from neff_bench.parsers.formats.opcodes import OPCODES
from neff_bench.simulator.timing.compared import COMPARED, uncompared
from neff_bench.simulator.timing.schedule import schedule
from neff_bench.simulator.timing.stated_error import time_error
from tests.simulator.programs import ProgramBuilder


def program(op, count, engine="vector", target="trn2"):
    p = ProgramBuilder(target=target)
    tile = p.load_of("x", (128, 1024), "float32")
    for _ in range(count):
        p.step(op, tile, (128, 1024), "float32", engine, op="exp")
    return p.program()


@pytest.mark.parametrize(
    ("op", "count", "engine", "target", "named"),
    [
        ("reciprocal", 20, "vector", "trn2", ("RECIPROCAL on Vector",)),
        ("reciprocal", 20, "vector", "trn1", ()),
        ("activation", 20, "scalar", "trn2", ()),
        ("activation", 20, "scalar", "trn3", ("ACTIVATE on Scalar",)),
        ("activation", 1, "scalar", "trn3", ()),
    ],
)
def test_what_holds_an_engine_for_a_tenth_of_the_time_without_a_comparison_is_named(op, count, engine, target, named):
    assert uncompared(schedule(program(op, count, engine, target))) == named


def test_the_row_names_it():
    made = program("reciprocal", 20)
    assert "never compared with hardware: RECIPROCAL on Vector" in time_error(made, schedule(made))
    few = program("activation", 20, "scalar")
    assert "never compared" not in time_error(few, schedule(few))


def test_every_compared_opcode_exists():
    assert all(opcode in OPCODES for known in COMPARED.values() for opcode, _ in known)
