"""Memsets that are left out: all that they wrote is written again before anybody reads it."""

import msgspec
import numpy as np
import pytest

from neff_bench.simulator.compiler.back_end import back_end
from neff_bench.simulator.compiler.passes.overwritten import without_overwritten
from neff_bench.simulator.execution.execute import execute
from tests.simulator.programs import ProgramBuilder

X = np.arange(128 * 64, dtype=np.float32).reshape(128, 64)


def part(access, rows, first, last):
    """The first rows of a view, and of these some columns."""
    return msgspec.structs.replace(access, offset=first, pattern=((64, rows), (1, last - first)))


def zeroed(columns, reader_first=False):
    """A tile of 64 columns is set to zero, then `x` is loaded into the first columns of it, two loads side by side."""
    built = ProgramBuilder()
    x, out = built.input("x", X.shape, "float32"), built.output("out", X.shape, "float32")
    tile = built.sbuf(X.shape, "float32")
    built.do("memset", {"dst": tile}, value=0)
    if reader_first:
        built.copy(out, tile)
    for first in (0, 32):
        last = min(first + 32, columns)
        built.copy(part(tile, 128, first, last), part(x, 128, first, last))
    built.copy(out, tile)
    return built.program()


def memsets(program):
    return sum(step.op == "memset" for step in without_overwritten(program.buffers, program.cores[0]))


def test_a_memset_goes_where_loads_fill_its_tile():
    program = zeroed(64)
    assert memsets(program) == 0
    assert np.array_equal(execute(back_end(program), {"x": X})["out"], X)


def test_a_memset_stays_where_a_column_is_left():
    program = zeroed(63)
    assert memsets(program) == 1
    assert np.array_equal(execute(back_end(program), {"x": X})["out"], X * (np.arange(64) < 63))


def test_a_memset_stays_that_is_read_before_the_loads():
    assert memsets(zeroed(64, reader_first=True)) == 1


@pytest.mark.parametrize(("rows", "left"), [(128, 0), (64, 1)])
def test_loads_of_some_partitions_leave_the_others(rows, left):
    built = ProgramBuilder()
    x, out = built.input("x", X.shape, "float32"), built.output("out", X.shape, "float32")
    tile = built.sbuf(X.shape, "float32")
    built.do("memset", {"dst": tile}, value=0)
    built.copy(part(tile, rows, 0, 64), part(x, rows, 0, 64))
    built.copy(out, tile)
    assert memsets(built.program()) == left
