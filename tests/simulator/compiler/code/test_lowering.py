import msgspec
import pytest

from neff_bench.chips import CHIPS
from neff_bench.parsers.formats.opcodes import OPCODES
from neff_bench.simulator.compiler.code.lowering import lower, lowering
from neff_bench.simulator.program import Instruction
from tests.simulator.programs import matmul

CHIP = CHIPS["trn2"]


def product(dtype="bfloat16"):
    program = matmul(dtype=dtype)
    return program.cores[0][2], program


def load_cycles(instruction, program):
    return lower(instruction, program, CHIP).steps[0].pe_ns * CHIP.pe_clock_ghz


def test_weights_side_by_side_load_four_columns_a_cycle():
    assert load_cycles(*product()) == pytest.approx(32)


def test_weights_of_two_bytes_that_lie_apart_load_16_columns_in_9_cycles():
    instruction, program = product()
    apart = msgspec.structs.replace(instruction.reads["stationary"], pattern=((128, 128), (64, 2), (2, 32)))
    reads = {**instruction.reads, "stationary": apart}
    assert load_cycles(msgspec.structs.replace(instruction, reads=reads), program) == pytest.approx(64 * 9 / 16)


def test_float32_weights_load_one_column_a_cycle_in_each_of_two_passes():
    assert load_cycles(*product("float32")) == pytest.approx(2 * 128)


@pytest.mark.parametrize(
    ("attributes", "instructions", "cycles"),
    [
        ({}, 2, 4 * 512),
        ({"is_stationary_onezero": True}, 1, 2 * 512),
        ({"is_moving_onezero": True}, 2, 2 * 512),
        ({"is_stationary_onezero": True, "is_moving_onezero": True}, 1, 512),
    ],
)
def test_a_float32_operand_of_ones_and_zeros_halves_the_time_of_a_product(attributes, instructions, cycles):
    instruction, program = product("float32")
    lowered = lower(msgspec.structs.replace(instruction, attributes=attributes), program, CHIP)
    assert [step.opcode for step in lowered.steps].count(OPCODES["MATMUL"]) == instructions
    assert sum(step.pe_ns for step in lowered.steps[1::2]) * CHIP.pe_clock_ghz == pytest.approx(cycles, rel=0.02)


def test_ones_and_zeros_of_other_dtypes_halve_nothing():
    instruction, program = product("bfloat16")
    marked = msgspec.structs.replace(instruction, attributes={"is_stationary_onezero": True, "is_moving_onezero": True})
    assert lower(marked, program, CHIP) == lower(instruction, program, CHIP)


@pytest.mark.parametrize(("target", "instructions"), [("trn1", 2), ("inf2", 2), ("trn2", 1), ("trn3", 1)])
def test_a_float32_transpose_is_a_product_where_the_pe_has_no_mode_for_it(target, instructions):
    """NeuronCore-v2 loads a float32 matrix as weights in two instructions."""
    product_of, program = product("float32")
    data = product_of.reads["stationary"]
    square = {"dst": msgspec.structs.replace(product_of.writes["dst"], pattern=((512, 128), (1, 128)))}
    identity = msgspec.structs.replace(product_of.reads["moving"], pattern=((512, 128), (1, 128)))
    marks = {"is_transpose": True, "is_moving_onezero": True}
    by_product = Instruction("nc_matmul", "tensor", square, {"stationary": data, "moving": identity}, marks)
    by_itself = Instruction("nc_transpose", "tensor", square, {"data": data}, {})
    for step in (by_product, by_itself):
        lowered = lower(step, program, CHIPS[target])
        turned = [part for part in lowered.steps if part.opcode == OPCODES["MATMUL"]]
        assert [part.transpose for part in turned] == [True] * instructions


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
    assert lower(slow, program, CHIP).busy_ns * CHIP.pe_clock_ghz == pytest.approx(72 + 6)


def test_operations_of_the_same_shapes_are_lowered_once():
    program = matmul(tiles=2)
    once = lowering(program, CHIP)
    first, second = (once(program.cores[0][i]) for i in (2, 7))
    assert first is second
    assert [step.opcode for step in first.steps] == [OPCODES["LDWEIGHTS"], OPCODES["MATMUL"]]
    other = msgspec.structs.replace(program.cores[0][2], attributes={"is_transpose": True})
    assert once(other) is not first
