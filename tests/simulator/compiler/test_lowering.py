import msgspec
import pytest

from neff_bench.chips import CHIPS
from neff_bench.parsers.formats.opcodes import OPCODES
from neff_bench.simulator.compiler.lowering import lower, lowering
from tests.simulator.programs import matmul

CHIP = CHIPS["trn2"]


def product(dtype="bfloat16"):
    program = matmul(dtype=dtype)
    return program.cores[0][2], program


def load_cycles(instruction, program):
    return lower(instruction, program, CHIP).steps[0].pe_ns * CHIP.pe_clock_ghz


def test_weights_side_by_side_load_four_columns_a_cycle():
    assert load_cycles(*product()) == pytest.approx(32)


def test_weights_that_lie_apart_load_one_column_a_cycle():
    instruction, program = product()
    apart = msgspec.structs.replace(instruction.reads["stationary"], pattern=((128, 128), (64, 2), (2, 32)))
    reads = {**instruction.reads, "stationary": apart}
    assert load_cycles(msgspec.structs.replace(instruction, reads=reads), program) == pytest.approx(64)


def test_float32_weights_load_one_column_a_cycle_in_each_of_two_passes():
    assert load_cycles(*product("float32")) == pytest.approx(2 * 128)


def test_a_product_holds_the_pe_for_the_longer_of_load_and_stream():
    instruction, program = product()
    short = msgspec.structs.replace(instruction.reads["moving"], pattern=((512, 128), (1, 4)))
    apart = msgspec.structs.replace(instruction.reads["stationary"], pattern=((128, 128), (2, 64)))
    slow = msgspec.structs.replace(instruction, reads={"stationary": apart, "moving": short})
    fast = msgspec.structs.replace(instruction, reads={**instruction.reads, "moving": short})
    assert lower(fast, program, CHIP).busy_ns * CHIP.pe_clock_ghz == pytest.approx(64 + 6)
    assert lower(slow, program, CHIP).busy_ns * CHIP.pe_clock_ghz == pytest.approx(64 + 6)
    wide = msgspec.structs.replace(apart, pattern=((256, 128), (2, 128)))
    slow = msgspec.structs.replace(slow, reads={"stationary": wide, "moving": short})
    assert lower(slow, program, CHIP).busy_ns * CHIP.pe_clock_ghz == pytest.approx(128)


def test_operations_of_the_same_shapes_are_lowered_once():
    program = matmul(tiles=2)
    once = lowering(program, CHIP)
    first, second = (once(program.cores[0][i]) for i in (2, 7))
    assert first is second
    assert [step.opcode for step in first.steps] == [OPCODES["LDWEIGHTS"], OPCODES["MATMUL"]]
    other = msgspec.structs.replace(program.cores[0][2], attributes={"is_transpose": True})
    assert once(other) is not first
