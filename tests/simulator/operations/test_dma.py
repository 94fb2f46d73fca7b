import ml_dtypes
import numpy as np
import pytest

from neff_bench.simulator.errors import ExecutionError
from neff_bench.simulator.program import Access

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


@pytest.mark.parametrize(("shape", "axes"), [((16, 24), (1, 0)), ((4, 3, 8), (2, 1, 0)), ((4, 3, 2, 8), (3, 1, 2, 0))])
@pytest.mark.parametrize("named", [True, False])
def test_dma_transpose(builder, shape, axes, named):
    data = RNG.standard_normal(shape).astype(ml_dtypes.bfloat16)
    b = builder()
    tile = b.sbuf(tuple(shape[axis] for axis in axes), "bfloat16")
    attributes = {"axes": list(axes)} if named else {}
    b.do("dma_transpose", {"dst": tile}, {"src": b.input("x", shape, "bfloat16")}, "sync", **attributes)
    b.copy(b.output("y", tile.shape, "bfloat16"), tile)
    np.testing.assert_array_equal(b.run(x=data)["y"], data.transpose(axes))


def test_dma_transpose_gathers_rows_by_a_table_read_column_by_column(builder, dynamic):
    data = RNG.standard_normal((40, 8)).astype(ml_dtypes.bfloat16)
    table = RNG.integers(0, 40, (16, 3)).astype(np.uint32)
    b = builder()
    source = dynamic(b.input("x", data.shape, "bfloat16"), 8, b.load("i", table), pattern=((0, 48), (1, 8)))
    tile = b.sbuf((8, 48), "bfloat16")
    b.do("dma_transpose", {"dst": tile}, {"src": source}, "gpsimd", axes=[1, 0])
    b.copy(b.output("y", (8, 48), "bfloat16"), tile)
    np.testing.assert_array_equal(b.run(x=data, i=table)["y"], data[table.T.flatten()].T)


def test_dma_compute_sums_scaled_sources(builder):
    x, y = TABLE, RNG.standard_normal(TABLE.shape).astype(ml_dtypes.bfloat16)
    b = builder()
    sources = {"src0": b.input("x", x.shape, "float32"), "src1": b.input("y", y.shape, "bfloat16")}
    b.do("dma_compute", {"dst": b.output("z", x.shape, "float32")}, sources, "gpsimd", reduce_op="add", scales=[1, 2])
    np.testing.assert_allclose(b.run(x=x, y=y)["z"], x + 2 * y.astype(np.float32), rtol=1e-6)


def scatter_add(builder, dynamic, rows):
    data = RNG.standard_normal((len(rows), 8)).astype(np.float32)
    b = builder()
    y = b.output("y", TABLE.shape, "float32")
    b.copy(y, b.input("x", TABLE.shape, "float32"))
    target = dynamic(y, 8, b.load("i", rows), pattern=((0, len(rows)), (1, 8)))
    b.do("dma_compute", {"dst": target}, {"src0": target, "src1": b.load("d", data)}, "gpsimd", reduce_op="add")
    expected = TABLE.copy()
    expected[rows[:, 0]] += data
    return b.run(x=TABLE, i=rows, d=data)["y"], expected


def test_dma_compute_adds_to_gathered_rows(builder, dynamic):
    out, expected = scatter_add(builder, dynamic, np.array([[4], [1], [31]], np.int32))
    np.testing.assert_array_equal(out, expected)


def test_dma_compute_refuses_rows_that_repeat(builder, dynamic):
    with pytest.raises(ExecutionError, match="indices of dst repeat"):
        scatter_add(builder, dynamic, np.array([[4], [1], [4]], np.int32))


def test_a_negative_index_is_outside_even_where_the_offset_would_bring_it_back(builder, dynamic):
    rows = np.array([[0], [-1]], np.int32)
    b = builder()
    source = dynamic(b.input("x", TABLE.shape, "float32"), 8, b.load("i", rows), offset=16, pattern=((0, 2), (1, 8)))
    tile = b.sbuf((2, 8), "float32")
    b.do("memset", {"dst": tile}, value=-5.0)
    b.copy(tile, source, oob_mode="skip")
    b.copy(b.output("y", tile.shape, "float32"), tile)
    out = b.run(x=TABLE, i=rows)["y"]
    np.testing.assert_array_equal(out[0], TABLE[2])
    assert (out[1] == -5).all()


@pytest.mark.parametrize("row", [-1000000, 31, 100])
def test_a_whole_transfer_outside_can_be_skipped(builder, dynamic, row):
    rows = np.array([[row]], np.int32)
    b = builder()
    y = b.output("y", TABLE.shape, "float32")
    b.do("memset", {"dst": y}, value=-5.0)
    target = dynamic(y, 8, b.load("i", rows), pattern=((8, 1), (1, 8)))
    b.copy(target, b.input("x", (1, 8), "float32"), oob_mode="skip")
    out = b.run(x=TABLE[:1], i=rows)["y"]
    expected = np.full_like(TABLE, -5)
    if row == 31:
        expected[row] = TABLE[0]
    np.testing.assert_array_equal(out, expected)


def test_copy_into_tfloat32_rounds(builder):
    b = builder()
    tile = b.sbuf((1, 2), "tfloat32")
    b.copy(tile, b.input("x", (1, 2), "float32"))
    b.copy(b.output("y", (1, 2), "float32"), Access(tile.buffer, 0, tile.pattern, "float32"))
    x = np.array([[1 + 2**-10, 1 + 2**-12]], np.float32)
    np.testing.assert_array_equal(b.run(x=x)["y"], [[1 + 2**-10, 1]])
