"""What a DMA's engine does for it: the trigger, and before it the address that an index in SBUF decides."""

import numpy as np

from neff_bench.parsers.formats.opcodes import NAMES
from neff_bench.simulator.chips import chip_for
from neff_bench.simulator.compiler.code.assembler import assemble
from neff_bench.simulator.compiler.code.lowering import lower
from neff_bench.simulator.program import Access, Buffer, Dynamic, Instruction, Program
from neff_bench.simulator.timing.schedule import schedule

CHIP = chip_for("trn2")
WEIGHTS, TILE, INDEX = range(3)
WHOLE_TILE = Access(TILE, 0, ((64, 128), (1, 64)), "bfloat16")


def program(index_elements=1):
    """A kernel that writes an index and loads the rows that it names."""
    buffers = (
        Buffer("weights", "hbm", (8, 128, 64), "bfloat16", "input"),
        Buffer("tile", "sbuf", (128, 64), "bfloat16", "internal", 0),
        Buffer("index", "sbuf", (128, 1), "int32", "internal", 0),
    )
    index = Access(INDEX, 0, ((1, index_elements), (1, 1)), "int32")
    rows = Access(WEIGHTS, 0, ((64, 128), (1, 64)), "bfloat16", (Dynamic(128 * 64, index),))
    code = (
        Instruction("memset", "vector", {"dst": index}, {}, {"value": 3}),
        Instruction("dma_copy", "sync", {"dst": WHOLE_TILE}, {"src": rows}, {}),
    )
    return Program("t", "trn2", 1, buffers, (0,), (), (code,))


def opcodes(found):
    return [NAMES[step.opcode] for step in lower(found.cores[0][1], found, CHIP).steps]


def test_gpsimd_computes_an_address_before_it_triggers():
    assert opcodes(program()) == ["TENSOR_LOAD", *["REGISTER_ALU"] * 3, "REGISTER_MOVE", "DMA_DIRECT2D"]


def test_rows_with_indices_of_their_own_are_gathered_without_it():
    assert opcodes(program(index_elements=128)) == ["DMA_DIRECT2D"]


def test_a_dma_with_an_address_holds_gpsimd_as_long_as_in_the_trace():
    # moe_tkg v6b of KevGomes1403/nki-moe-megakernel @f1fe87a: DMAs with an address follow each other in 1208 to 1268 ns.
    assert 1208 < lower(program().cores[0][1], program(), CHIP).busy_ns < 1268


def test_the_address_waits_for_its_index_and_the_trigger_alone_moves_data():
    found = program()
    (core,), (code,) = schedule(found).cores, assemble(found)
    load = [NAMES[opcode] for opcode in code.opcode].index("TENSOR_LOAD")
    assert code.waits[code.wait_start[load] : code.wait_start[load + 1]].tolist() == [0]
    assert core.start_ns[load] >= core.done_ns[0]
    assert np.flatnonzero(code.transfer >= 0).tolist() == [load + 5]
