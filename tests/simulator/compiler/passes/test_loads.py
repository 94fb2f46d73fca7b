"""Loads of what still lies in SBUF, in programs of the current dialect."""

import numpy as np
import pytest

from neff_bench.chips import CHIPS
from neff_bench.simulator.compiler.code.allocation import open_sbuf_bytes
from neff_bench.simulator.compiler.passes.loads import without_loads_in_place
from neff_bench.simulator.execution.execute import execute
from neff_bench.simulator.nki import isa as nisa
from neff_bench.simulator.nki import language as nl
from neff_bench.simulator.nki.spec import InputSpec
from neff_bench.simulator.nki.trace import Call, record
from neff_bench.simulator.numpy_dtypes import numpy_dtype
from tests.simulator.programs import ProgramBuilder

ROOM = open_sbuf_bytes(CHIPS["trn2"])
TILE = 4096
"""Bytes of a partition of the tile that is loaded twice."""


def loads(program):
    return [step for step in program.cores[0] if step.op == "dma_copy" and step.reads["src"].buffer in program.inputs]


def twice(between_bytes, change=None):
    """`x` is loaded, tiles of `between_bytes` of a partition come and go, `x` is loaded again. `change`: is called in between."""
    built = ProgramBuilder()
    x, out = built.input("x", (128, TILE), "uint8"), built.output("out", (128, TILE), "uint8")
    first = built.sbuf((128, TILE), "uint8")
    built.copy(first, x)
    between = built.sbuf((128, between_bytes), "uint8")
    built.do("memset", {"dst": between}, value=1)
    if change:
        change(built, x, first)
    again = built.sbuf((128, TILE), "uint8")
    built.copy(again, x)
    built.copy(out, again)
    return built.program()


@pytest.mark.parametrize(("between_bytes", "left"), [(64 * 1024, 1), (ROOM - TILE, 1), (ROOM - TILE + 1, 2)])
def test_a_load_is_left_out_until_the_tiles_behind_the_first_fill_sbuf(between_bytes, left):
    program = without_loads_in_place(twice(between_bytes))
    assert len(loads(program)) == left
    x = np.arange(128 * TILE, dtype=np.uint8).reshape(128, TILE)
    assert np.array_equal(execute(program, {"x": x})["out"], x)


@pytest.mark.parametrize(("columns", "left"), [(256, 2), (257, 1)])
def test_a_repeated_load_of_32_kib_stays(columns, left):
    built = ProgramBuilder()
    x, out = built.input("x", (128, columns), "uint8"), built.output("out", (128, columns), "uint8")
    for _ in range(2):
        tile = built.sbuf((128, columns), "uint8")
        built.copy(tile, x)
        built.copy(out, tile)
    assert len(loads(without_loads_in_place(built.program()))) == left


def test_a_tile_whose_load_was_left_out_counts_as_placed_anew():
    built = ProgramBuilder()
    x, out = built.input("x", (128, TILE), "uint8"), built.output("out", (128, TILE), "uint8")
    for _ in range(3):
        again = built.sbuf((128, TILE), "uint8")
        built.copy(again, x)
        built.do("memset", {"dst": built.sbuf((128, ROOM // 2), "uint8")}, value=1)
    built.copy(out, again)
    assert len(loads(without_loads_in_place(built.program()))) == 1


def _write_source(built, x, _tile):
    other = built.sbuf((128, TILE), "uint8")
    built.do("memset", {"dst": other}, value=7)
    built.copy(x, other)


def _write_tile(built, _x, tile):
    built.do("memset", {"dst": tile}, value=7)


def _write_half(built, x, _tile):
    built.copy(built.columns(built.sbuf((128, TILE), "uint8"), TILE // 2), built.columns(x, TILE // 2))


@pytest.mark.parametrize("change", [_write_source, _write_tile])
def test_a_load_stays_where_its_source_or_the_first_tile_changes(change):
    program = twice(1024, change)
    assert without_loads_in_place(program) is program


def test_a_load_of_a_part_is_another_load():
    program = twice(1024, _write_half)
    assert len(loads(without_loads_in_place(program))) == 2


def test_a_program_whose_kept_tiles_would_have_no_room_stays_as_it_is():
    built = ProgramBuilder()
    x, out = built.input("x", (128, TILE), "uint8"), built.output("out", (128, TILE), "uint8")
    long = built.sbuf((128, ROOM - 2 * TILE), "uint8")
    built.do("memset", {"dst": long}, value=1)
    for from_hbm in (True, False, True):
        tile, result = (built.sbuf((128, TILE), "uint8") for _ in range(2))
        if from_hbm:
            built.copy(tile, x)
        else:
            built.do("memset", {"dst": tile}, value=1)
        built.do("tensor_copy", {"dst": result}, {"src": tile})
        built.copy(out, result)
    built.do("tensor_copy", {"dst": built.columns(long, 1)}, {"src": built.columns(long, 1)})
    program = built.program()
    assert without_loads_in_place(program) is program


@pytest.mark.parametrize(("dtype", "size_bytes"), [("float32", 4), ("bfloat16", 2)])
def test_a_kernel_that_loads_an_operand_for_each_block_reads_it_once(dtype, size_bytes):
    def blocks(lhs_t, rhs):
        out = nl.ndarray((128, 2048), dtype=nl.float32, buffer=nl.shared_hbm)
        for block in range(4):
            weights = nl.ndarray((128, 128), dtype=nl.float32, buffer=nl.sbuf)
            moving = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)
            product = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)
            result = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)
            columns = nl.ds(512 * block, 512)
            nisa.dma_copy(dst=weights, src=lhs_t)
            nisa.dma_copy(dst=moving, src=rhs[:, columns])
            nisa.nc_matmul(dst=product, stationary=weights, moving=moving)
            nisa.tensor_copy(dst=result, src=product)
            nisa.dma_copy(dst=out[:, columns], src=result)
        return out

    inputs = (InputSpec("lhs_t", (128, 128), dtype), InputSpec("rhs", (128, 2048), "float32"))
    program = record(Call(blocks, "blocks", inputs), "trn2", 1)
    assert (len(loads(program)), program.left_out_bytes) == (1 + 4, 3 * 128 * 128 * size_bytes)
    random = np.random.default_rng(5)
    lhs_t, rhs = (random.standard_normal(given.shape).astype(numpy_dtype(given.dtype)) for given in inputs)
    [out] = execute(program, {"lhs_t": lhs_t, "rhs": rhs}).values()
    assert np.allclose(out, lhs_t.T.astype(np.float32) @ rhs, atol=1e-4)
