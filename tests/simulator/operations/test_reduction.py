import ml_dtypes
import numpy as np
import pytest

from neff_bench.simulator.errors import ExecutionError, NkiValidationError
from neff_bench.simulator.nki import isa as nisa
from neff_bench.simulator.nki import language as nl
from neff_bench.simulator.program import Access
from neff_bench.simulator.recording.recorder import recording

RNG = np.random.default_rng(9)
DATA = RNG.standard_normal((8, 3, 4, 5)).astype(np.float32)


@pytest.mark.parametrize(
    ("op", "formula"),
    [("add", np.sum), ("maximum", np.max), ("minimum", np.min), ("multiply", np.prod)],
)
@pytest.mark.parametrize(("axis", "shape"), [((3,), (8, 3, 4)), ((2, 3), (8, 3)), ((1, 2, 3), (8, 1)), (3, (8, 3, 4))])
def test_reduces_trailing_dimensions(apply, op, formula, axis, shape):
    out = apply(
        "tensor_reduce",
        {"dst": (shape, "float32")},
        {"data": DATA},
        op=op,
        axis=list(axis) if isinstance(axis, tuple) else axis,
    )
    np.testing.assert_allclose(out, formula(DATA, axis=axis).reshape(shape), rtol=1e-4, atol=1e-6)


def test_subtract_takes_the_rest_from_the_first(apply):
    out = apply("tensor_reduce", {"dst": ((8, 3, 4), "float32")}, {"data": DATA}, op="subtract", axis=[3])
    np.testing.assert_allclose(out, DATA[..., 0] - DATA[..., 1:].sum(axis=-1), rtol=1e-4, atol=1e-5)


def test_negate(apply):
    out = apply("tensor_reduce", {"dst": ((8, 3, 4), "float32")}, {"data": DATA}, op="maximum", axis=[3], negate=True)
    np.testing.assert_array_equal(out, -DATA.max(axis=3))


def test_sums_in_float32_and_rounds_once(apply):
    data = RNG.standard_normal((4, 64)).astype(ml_dtypes.bfloat16)
    out = apply("tensor_reduce", {"dst": ((4, 1), "bfloat16")}, {"data": data}, op="add", axis=[1])
    np.testing.assert_array_equal(out[:, 0], data.astype(np.float64).sum(axis=1).astype(ml_dtypes.bfloat16))


def test_bit_reductions_see_patterns(apply):
    data = RNG.integers(0, 2**32, (4, 6), dtype=np.uint32)
    out = apply("tensor_reduce", {"dst": ((4, 1), "uint32")}, {"data": data}, op="bitwise_or", axis=[1])
    np.testing.assert_array_equal(out[:, 0], np.bitwise_or.reduce(data, axis=1))


@pytest.mark.parametrize("axis", [[0], [1], [1, 3], []])
def test_axes_that_are_not_the_last_free_dimensions_are_refused(apply, axis):
    with pytest.raises(ExecutionError, match=r"does not name the last free dimensions of data \[8, 3, 4, 5\]"):
        apply("tensor_reduce", {"dst": ((8, 20), "float32")}, {"data": DATA}, op="add", axis=axis)


@pytest.mark.parametrize(
    ("op", "formula"),
    [("add", np.sum), ("maximum", np.max), ("abs_max", lambda a, axis: abs(a).max(axis)), ("average", np.mean)],
)
def test_reduces_over_partitions(apply, op, formula):
    data = DATA.reshape(8, 60)
    out = apply("tensor_partition_reduce", {"dst": ((1, 60), "float32")}, {"data": data}, "gpsimd", op=op)
    np.testing.assert_allclose(out[0], formula(data, axis=0), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("op", "formula"), [("add", np.sum), ("maximum", np.max), ("multiply", np.prod)])
def test_tensor_scalar_reduce(apply, op, formula):
    data = DATA.reshape(8, 60)
    out = apply(
        "tensor_scalar_reduce",
        {"dst": ((8, 60), "float32"), "reduce_res": ((8, 1), "float32")},
        {"data": data},
        op0="multiply",
        operand0=1.25,
        reduce_op=op,
        reduce_res_negate=True,
    )
    values, reduced = out.values()
    np.testing.assert_array_equal(values, data * np.float32(1.25))
    np.testing.assert_allclose(-reduced[:, 0], formula(values.astype(np.float64), axis=1), rtol=1e-4, atol=1e-6)


def test_tensor_scalar_reduce_continues_from_a_loaded_value(apply):
    data, start = np.abs(DATA.reshape(8, 60)), RNG.standard_normal((8, 1)).astype(np.float32)
    out = apply(
        "tensor_scalar_reduce",
        {"dst": ((8, 60), "float32"), "reduce_res": ((8, 1), "float32")},
        {"data": data, "reduce_init": start},
        op0="abs",
        operand0=0.0,
        reduce_op="add",
        reduce_cmd="load_reduce",
    )
    np.testing.assert_allclose(list(out.values())[1], start + data.sum(axis=1, keepdims=True), rtol=1e-5)


@pytest.mark.parametrize("size", [1, 7, 12])
def test_bn_stats_of_even_and_odd_elements(apply, size):
    data = 3 + DATA.reshape(8, 60)[:, :size]
    out = apply("bn_stats", {"dst": ((8, 6), "float32")}, {"data": data})
    for row in range(8):
        even, odd = data[row, 0::2], data[row, 1::2]
        expected = [len(even), even.mean(), even.var() * len(even)]
        expected += [len(odd), odd.mean(), odd.var() * len(odd)] if len(odd) else [0, 0, 0]
        np.testing.assert_allclose(out[row], expected, rtol=1e-5, atol=1e-6)


def test_bn_aggr_of_several_bn_stats_is_mean_and_variance(builder):
    b = builder()
    data = 2 + DATA.reshape(8, 60)
    tile, stats, result = b.load("x", data), b.sbuf((8, 12), "float32"), b.sbuf((8, 2), "float32")
    for number, (start, size) in enumerate(((0, 41), (41, 19))):
        piece = Access(tile.buffer, start, ((60, 8), (1, size)), "float32")
        b.do("bn_stats", {"dst": Access(stats.buffer, 6 * number, ((12, 8), (1, 6)), "float32")}, {"data": piece})
    b.do("bn_aggr", {"dst": result}, {"data": stats})
    b.copy(b.output("y", (8, 2), "float32"), result)
    out = b.run(x=data)["y"]
    np.testing.assert_allclose(out[:, 0], data.mean(axis=1), rtol=1e-5)
    np.testing.assert_allclose(out[:, 1], data.var(axis=1), rtol=1e-4)


def test_bn_aggr_needs_triples(apply):
    with pytest.raises(ExecutionError, match="5 elements a partition are not"):
        apply("bn_aggr", {"dst": ((8, 2), "float32")}, {"data": DATA.reshape(8, 60)[:, :5]})


@pytest.mark.parametrize("axis", [0, [0, 1], 2, -3, [], None, "free", 1.0])
def test_a_wrong_axis_is_refused_in_words(axis):
    with recording("trn2"):
        dst, data = (nl.ndarray((128, width), "float32") for width in (1, 64))
        with pytest.raises(NkiValidationError, match=r"tensor_reduce: axis .* of tensor@sbuf\[128, 64\]:float32"):
            nisa.tensor_reduce(dst, "add", data, axis)


def test_axis_4_is_the_last_one_of_a_smaller_tile():
    """It is the last dimension of an instruction; attention_tkg of nki-library reduces [P, F, F] over it."""
    with recording("trn2") as now:
        dst, data = nl.ndarray((128, 8), "float32"), nl.ndarray((128, 8, 4), "float32")
        nisa.tensor_reduce(dst, "max", data, [4], keepdims=False)
        assert now.instructions[-1].attributes["axis"] == [2]


def test_an_axis_may_be_a_number_of_numpy():
    with recording("trn2") as now:
        dst, data = (nl.ndarray((128, width), "float32") for width in (1, 64))
        nisa.tensor_reduce(dst, "add", data, np.int64(1))
        assert now.instructions[-1].attributes["axis"] == [1]
