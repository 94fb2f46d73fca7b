import ml_dtypes
import numpy as np
import pytest

from simulator.errors import ExecutionError
from simulator.program import Access

RNG = np.random.default_rng(1)
TABLE = RNG.standard_normal((32, 8)).astype(np.float32)
ROWS = np.array([[3], [31], [0], [7], [7]], np.int32)


def test_copy_converts_through_float32(builder):
    b = builder()
    b.copy(b.output("y", (32, 8), "bfloat16"), b.input("x", (32, 8), "float32"))
    np.testing.assert_array_equal(b.run(x=TABLE)["y"], TABLE.astype(ml_dtypes.bfloat16))


def test_copy_between_equal_dtypes_keeps_nan_payloads(builder):
    bits = np.array([[0x7F800001, 0xFFC12345]], np.uint32)
    b = builder()
    b.copy(b.output("y", (1, 2), "float32"), b.input("x", (1, 2), "float32"))
    np.testing.assert_array_equal(b.run(x=bits.view(np.float32))["y"].view(np.uint32), bits)


def test_copy_transposes_by_access_pattern(builder):
    b = builder()
    x = b.input("x", (32, 8), "float32")
    b.copy(b.output("y", (8, 32), "float32"), Access(x.buffer, 0, ((1, 8), (8, 32)), "float32"))
    np.testing.assert_array_equal(b.run(x=TABLE)["y"], TABLE.T)


def test_accumulating_copy_adds_to_what_is_there(builder):
    b = builder()
    y = b.output("y", (32, 8), "float32")
    b.do("memset", {"dst": y}, value=2.0)
    b.copy(y, b.input("x", (32, 8), "float32"), dst_rmw_op="add")
    np.testing.assert_array_equal(b.run(x=TABLE)["y"], TABLE + 2)


def gather(builder, dynamic, rows, dtype="float32", **attributes):
    b = builder()
    index = b.load("i", rows)
    source = dynamic(b.input("x", TABLE.shape, "float32"), 8, index, pattern=((0, len(rows)), (1, 8)))
    tile = b.sbuf((len(rows), 8), dtype)
    b.do("memset", {"dst": tile}, value=-5.0)
    b.copy(tile, source, **attributes)
    b.copy(b.output("y", tile.shape, dtype), tile)
    return b.run(x=TABLE, i=rows)["y"]


def test_gather_reads_a_row_for_each_partition(builder, dynamic):
    np.testing.assert_array_equal(gather(builder, dynamic, ROWS), TABLE[ROWS[:, 0]])


def test_gather_converts(builder, dynamic):
    out = gather(builder, dynamic, ROWS, "bfloat16")
    np.testing.assert_array_equal(out, TABLE[ROWS[:, 0]].astype(ml_dtypes.bfloat16))


@pytest.mark.parametrize("bad", [32, -1])
def test_gather_outside_is_an_error(builder, dynamic, bad):
    rows = np.array([[3], [bad]], np.int32)
    with pytest.raises(ExecutionError, match=f"src index reaches element {bad * 8}, outside its buffer"):
        gather(builder, dynamic, rows)


def test_gather_outside_can_be_skipped(builder, dynamic):
    out = gather(builder, dynamic, np.array([[3], [32], [4], [-1]], np.int32), oob_mode="skip")
    np.testing.assert_array_equal(out[[0, 2]], TABLE[[3, 4]])
    assert (out[[1, 3]] == -5).all()


def test_scatter_writes_a_row_for_each_partition(builder, dynamic):
    rows = np.array([[5], [2], [30]], np.int32)
    data = RNG.standard_normal((3, 8)).astype(np.float32)
    b = builder()
    index, tile = b.load("i", rows), b.load("d", data)
    y = b.output("y", TABLE.shape, "float32")
    b.do("memset", {"dst": y}, value=0)
    b.copy(dynamic(y, 8, index, pattern=((0, 3), (1, 8))), tile)
    expected = np.zeros_like(TABLE)
    expected[rows[:, 0]] = data
    np.testing.assert_array_equal(b.run(i=rows, d=data)["y"], expected)
