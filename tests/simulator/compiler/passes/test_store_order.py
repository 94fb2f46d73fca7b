"""Stores behind loads, in kernels that skip the middle end."""

import msgspec
import numpy as np
import pytest

from neff_bench.chips import CHIPS
from neff_bench.simulator.compiler.code.allocation import open_sbuf_bytes
from neff_bench.simulator.compiler.code.lowering import lower
from neff_bench.simulator.compiler.passes.store_order import with_stores_in_turn
from neff_bench.simulator.costs.triggers import IN_TURN
from neff_bench.simulator.execution.execute import execute
from neff_bench.simulator.timing.schedule import schedule
from tests.simulator.programs import ProgramBuilder

TILES, COLUMNS = 32, 512
X = np.arange(TILES * 128 * COLUMNS, dtype=np.float32).reshape(TILES * 128, COLUMNS)


def rows(access, tile):
    """The rows of a tile."""
    return msgspec.structs.replace(access, offset=tile * 128 * COLUMNS, pattern=((COLUMNS, 128), (1, COLUMNS)))


def negated(tiles=TILES, columns_beside=1, reads_back=False):
    """Each tile is loaded, negated and stored. `columns_beside`: bytes of a partition that one more tile takes."""
    built = ProgramBuilder()
    x, out = built.input("x", X.shape, "float32"), built.output("out", X.shape, "float32")
    beside = built.sbuf((128, columns_beside), "uint8")
    built.do("memset", {"dst": beside}, value=0)
    for tile in range(tiles):
        loaded, done = built.sbuf((128, COLUMNS), "float32"), built.sbuf((128, COLUMNS), "float32")
        built.copy(loaded, rows(x, tile))
        built.do("tensor_scalar", {"dst": done}, {"data": loaded}, op0="multiply", operand0=-1.0)
        built.copy(rows(out, tile), done)
    if reads_back:
        built.copy(loaded, rows(out, 0))
    return built.program()


def stored(program):
    """Tiles by the order of their stores."""
    return [
        step.writes["dst"].offset // (128 * COLUMNS)
        for step in program.cores[0]
        if step.op == "dma_copy" and program.buffers[step.writes["dst"].buffer].memory == "hbm"
    ]


def test_the_latest_tile_that_is_there_when_all_is_loaded_is_stored_first():
    order = stored(with_stores_in_turn(negated()))
    assert sorted(order) == list(range(TILES))
    assert TILES - 8 < order[0] < TILES - 1
    assert order[-4:] == [3, 2, 1, 0]


def test_no_store_is_under_way_while_loads_are():
    program = with_stores_in_turn(negated())
    [core] = schedule(program).cores
    transfers = core.code.transfers
    starts = core.runs.start_ns.reshape(len(transfers), -1)
    first_store = min(starts[at].min() for at, one in enumerate(transfers) if one.hbm_write)
    last_load = max(starts[at].max() for at, one in enumerate(transfers) if one.hbm_read)
    assert first_store > last_load


def test_results_stay_what_they_were():
    assert np.array_equal(execute(with_stores_in_turn(negated()), {"x": X})["out"], -X)


def test_a_store_in_turn_is_ordered_as_loads_are():
    program = with_stores_in_turn(negated())
    store = program.cores[0][-1]
    assert store.attributes[IN_TURN]
    assert lower(store, program, CHIPS["trn2"]).loads


@pytest.mark.parametrize(
    "program",
    [
        negated(tiles=1),
        negated(columns_beside=open_sbuf_bytes(CHIPS["trn2"]) - 2 * TILES * COLUMNS * 4 + 1),
        negated(reads_back=True),
    ],
    ids=["one store", "no room for all tiles", "a store is read"],
)
def test_other_programs_stay_as_they_are(program):
    assert with_stores_in_turn(program) is program
