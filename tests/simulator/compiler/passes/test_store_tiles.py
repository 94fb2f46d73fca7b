"""Rows that are stored one after the other."""

import numpy as np
import pytest

from neff_bench.simulator.compiler.passes.store_tiles import rows_in_one_tile
from neff_bench.simulator.execution.execute import execute
from tests.simulator.programs import ProgramBuilder


def stored(rows=1, columns=128, kept=False):
    """Four times the same line: a tile is set to its number and stored. kept: each is read again at the end."""
    built = ProgramBuilder()
    outs = [built.output(f"out{number}", (rows, columns), "float32") for number in range(4)]
    tiles = [built.sbuf((rows, columns), "float32") for _ in outs]
    for number, (tile, out) in enumerate(zip(tiles, outs)):
        built.do("memset", {"dst": tile}, value=number)
        built.copy(out, tile)
    if kept:
        for tile, out in zip(tiles, outs):
            built.copy(out, tile)
    return built.program()


def tiles(program):
    return {step.reads["src"].buffer for step in program.cores[0] if step.op == "dma_copy"}


def test_rows_that_are_done_with_one_after_the_other_lie_in_one_tile():
    program = rows_in_one_tile(stored())
    assert len(tiles(program)) == 1
    outputs = execute(program, {})
    assert [int(np.asarray(outputs[f"out{number}"])[0, 0]) for number in range(4)] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "program", [stored(kept=True), stored(rows=2), stored(columns=1025)], ids=["kept", "two rows", "more than a packet"]
)
def test_other_tiles_stay_where_they_are(program):
    assert rows_in_one_tile(program) is program
