import ml_dtypes
import numpy as np
import pytest

RNG = np.random.default_rng(21)
FLOAT32_MIN = np.float32(-3.4028235e38)


def normal(*shape, dtype=np.float32):
    return RNG.standard_normal(shape).astype(dtype)


def affine(partitions, pattern, offset, multiplier):
    """The documented loops, written out."""
    rows = []
    for channel in range(partitions):
        values = [offset + channel * multiplier]
        for step, size in pattern:
            values = [value + i * step for value in values for i in range(size)]
        rows.append(values)
    return np.array(rows)


@pytest.mark.parametrize("dtype", ["int32", "float32", "uint16", "bfloat16"])
def test_iota_counts_along_pattern_and_partitions(apply, dtype):
    pattern = [[100, 2], [-3, 4], [1, 5]]
    out = apply(
        "iota", {"dst": ((7, 2, 4, 5), dtype)}, engine="gpsimd", pattern=pattern, offset=12, channel_multiplier=20
    )
    expected = affine(7, pattern, 12, 20).reshape(7, 2, 4, 5)
    expected = expected.astype(ml_dtypes.bfloat16) if dtype == "bfloat16" else expected.astype(dtype)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize(
    ("op", "compare"),
    [("equal", np.equal), ("greater_equal", np.greater_equal), ("less", np.less), ("not_equal", np.not_equal)],
)
def test_affine_select_masks_by_position(apply, op, compare):
    data = normal(16, 24)
    out = apply(
        "affine_select",
        {"dst": ((16, 24), "float32")},
        {"on_true_tile": data},
        "gpsimd",
        pattern=[[-1, 24]],
        offset=3,
        channel_multiplier=1,
        on_false_value=-1e9,
        cmp_op=op,
    )
    expected = np.where(compare(affine(16, [[-1, 24]], 3, 1), 0), data, np.float32(-1e9))
    np.testing.assert_array_equal(out, expected)


def test_range_select_keeps_what_lies_between_the_bounds(apply):
    data = normal(8, 32)
    low = RNG.integers(40, 60, (8, 1)).astype(np.float32)
    high = RNG.integers(45, 75, (8, 1)).astype(np.float32)
    out = apply(
        "range_select",
        {"dst": ((8, 32), "float32"), "reduce_res": ((8, 1), "float32")},
        {"on_true_tile": data, "bound0": low, "bound1": high},
        comp_op0="greater_equal",
        comp_op1="less",
        reduce_op="maximum",
        range_start=40,
        on_false_value=float(FLOAT32_MIN),
    )
    position = 40 + np.arange(32)
    expected = np.where((position >= low) & (position < high), data, FLOAT32_MIN)
    selected, largest = out.values()
    np.testing.assert_array_equal(selected, expected)
    np.testing.assert_array_equal(largest[:, 0], expected.max(axis=1))


def test_range_select_fills_with_the_least_float_and_reads_only_the_bounds_it_needs(apply):
    out = apply(
        "range_select",
        {"dst": ((4, 8), "bfloat16")},
        {"on_true_tile": normal(4, 8), "bound0": np.zeros((6, 1), np.float32), "bound1": np.zeros((6, 1), np.float32)},
        comp_op0="less",
        comp_op1="less",
    )
    assert (out == ml_dtypes.bfloat16(-np.inf)).all()


def test_range_select_accumulates_over_tiles(builder):
    b = builder()
    data = normal(4, 16)
    tile, result = b.load("x", data), b.sbuf((4, 1), "float32")
    zero = np.zeros((4, 1), np.float32)
    bound = b.load("zero", zero)
    for number, command in enumerate(("reset_reduce", "reduce")):
        piece = b.sbuf((4, 8), "float32")
        b.do("tensor_copy", {"dst": piece}, {"src": half(tile, number)})
        b.do(
            "range_select",
            {"dst": b.sbuf((4, 8), "float32")} | ({"reduce_res": result} if number else {}),
            {"on_true_tile": piece, "bound0": bound, "bound1": bound},
            comp_op0="greater_equal",
            comp_op1="greater_equal",
            reduce_op="maximum",
            reduce_cmd=command,
        )
    b.copy(b.output("y", (4, 1), "float32"), result)
    np.testing.assert_array_equal(b.run(x=data, zero=zero)["y"][:, 0], data.max(axis=1))


def half(tile, number):
    from neff_bench.simulator.program import Access

    return Access(tile.buffer, 8 * number, ((16, 4), (1, 8)), tile.dtype)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("vector", [False, True])
def test_select_reduce(apply, reverse, vector):
    data, predicate = normal(8, 16), RNG.integers(0, 3, (8, 16)).astype(np.uint8)
    other = normal(8, 1) if vector else np.float32(-2.5)
    out = apply(
        "select_reduce",
        {"dst": ((8, 16), "float32"), "reduce_res": ((8, 1), "float32")},
        {"on_true": data, "predicate": predicate} | ({"on_false": other} if vector else {}),
        reduce_cmd="reset_reduce",
        reduce_op="maximum",
        reverse_pred=reverse,
        **({} if vector else {"on_false": -2.5}),
    )
    expected = np.where((predicate != 0) ^ reverse, data, other)
    selected, largest = out.values()
    np.testing.assert_array_equal(selected, expected)
    np.testing.assert_array_equal(largest[:, 0], expected.max(axis=1))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16, np.int32])
def test_predicated_copy_leaves_the_rest(apply, reverse, dtype):
    before, data = (10 * normal(8, 16)).astype(dtype), (10 * normal(8, 16)).astype(dtype)
    predicate = RNG.integers(0, 2, (8, 16)).astype(np.uint32)
    out = apply("tensor_copy_predicated", {"dst": before}, {"src": data, "predicate": predicate}, reverse_pred=reverse)
    np.testing.assert_array_equal(out, np.where((predicate != 0) ^ reverse, data, before))


def test_predicated_copy_of_a_constant(apply):
    before, predicate = normal(4, 6), RNG.integers(0, 2, (4, 6)).astype(np.uint8)
    out = apply("tensor_copy_predicated", {"dst": before}, {"predicate": predicate}, src=7.0)
    np.testing.assert_array_equal(out, np.where(predicate, np.float32(7), before))


@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_sequence_bounds(apply, dtype):
    ids = np.array([[0, 0, 1, 1, 1, 4, 9, 9, 0, 2]], dtype)
    out = apply("sequence_bounds", {"dst": ((1, 2, 10), np.dtype(dtype).name)}, {"segment_ids": ids}, engine="gpsimd")
    np.testing.assert_array_equal(out[0], [[10, 10, 2, 2, 2, 5, 6, 6, 10, 9], [-1, -1, 5, 5, 5, 6, 8, 8, -1, 10]])
