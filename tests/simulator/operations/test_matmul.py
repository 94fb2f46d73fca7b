import ml_dtypes
import numpy as np
import pytest

from neff_bench.simulator.errors import ExecutionError
from neff_bench.simulator.program import Access

RNG = np.random.default_rng(11)


def normal(*shape, dtype=np.float32):
    return RNG.standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3])
def test_product_is_stationary_transposed_times_moving(apply, dtype):
    s, m = normal(96, 64, dtype=dtype), normal(96, 200, dtype=dtype)
    out = apply("nc_matmul", {"dst": ((64, 200), "float32")}, {"stationary": s, "moving": m}, "tensor")
    np.testing.assert_allclose(out, s.astype(np.float64).T @ m.astype(np.float64), rtol=1e-4, atol=1e-4)


def test_operands_may_have_different_dtypes(apply):
    s, m = normal(32, 16, dtype=ml_dtypes.float8_e5m2), normal(32, 8, dtype=ml_dtypes.bfloat16)
    out = apply("nc_matmul", {"dst": ((16, 8), "float32")}, {"stationary": s, "moving": m}, "tensor")
    np.testing.assert_allclose(out, s.astype(np.float64).T @ m.astype(np.float64), rtol=1e-5, atol=1e-5)


def test_double_row_contracts_the_first_free_dimension_too(apply):
    s, m = normal(128, 2, 24, dtype=ml_dtypes.float8_e4m3), normal(128, 2, 40, dtype=ml_dtypes.float8_e4m3)
    out = apply(
        "nc_matmul", {"dst": ((24, 40), "float32")}, {"stationary": s, "moving": m}, "tensor", perf_mode="double_row"
    )
    expected = np.einsum("kjm,kjn->mn", s.astype(np.float64), m.astype(np.float64))
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-4)


def test_contraction_sizes_must_agree(apply):
    with pytest.raises(ExecutionError, match="contraction sizes differ: stationary 32, moving 16"):
        apply(
            "nc_matmul",
            {"dst": ((8, 8), "float32")},
            {"stationary": normal(32, 8), "moving": normal(16, 8)},
            "tensor",
        )


def products(builder, flags, between=None):
    """A product a flag into one tile; `between` acts on the tile after the first."""
    b = builder()
    s, m = normal(16, 8), normal(16, 12)
    stationary, moving = b.load("s", s), b.load("m", m)
    tile = b.psum((8, 12))
    for number, flag in enumerate(flags):
        attributes = {} if flag is None else {"accumulate": flag}
        b.do("nc_matmul", {"dst": tile}, {"stationary": stationary, "moving": moving}, "tensor", **attributes)
        if number == 0 and between:
            between(b, tile)
    b.copy(b.output("y", (8, 12), "float32"), tile)
    return b.run(s=s, m=m)["y"] / (s.T @ m)


@pytest.mark.parametrize(
    ("flags", "times"),
    [
        ((None,), 1),
        ((None, None, None), 3),
        ((False, True, True), 3),
        ((False, True, False), 1),
        ((None, False), 1),
    ],
)
def test_accumulation_follows_the_flag_or_the_first_write(builder, flags, times):
    np.testing.assert_allclose(products(builder, flags), times, rtol=1e-5)


def test_a_write_by_another_engine_makes_the_next_product_overwrite(builder):
    def clear(b, tile):
        b.do("memset", {"dst": tile}, value=100)

    np.testing.assert_allclose(products(builder, (None, None), clear), 1, rtol=1e-5)


def test_accumulating_onto_a_part_that_no_product_wrote_overwrites_only_it(builder):
    b = builder()
    s, m = np.ones((4, 2), np.float32), np.ones((4, 6), np.float32)
    stationary, moving = b.load("s", s), b.load("m", m)
    tile = b.psum((2, 6))
    left = Access(tile.buffer, 0, ((6, 2), (1, 3)), "float32")
    narrow = Access(moving.buffer, 0, ((6, 4), (1, 3)), "float32")
    b.do("nc_matmul", {"dst": left}, {"stationary": stationary, "moving": narrow}, "tensor")
    b.do("nc_matmul", {"dst": tile}, {"stationary": stationary, "moving": moving}, "tensor")
    b.copy(b.output("y", (2, 6), "float32"), tile)
    np.testing.assert_array_equal(b.run(s=s, m=m)["y"], [[8, 8, 8, 4, 4, 4]] * 2)


def test_accumulate_onto_unwritten_memory_shows_as_nan(builder):
    assert np.isnan(products(builder, (True,))).all()


def test_a_bfloat16_destination_rounds_each_sum(apply):
    s, m = normal(64, 8), normal(64, 16)
    out = apply("nc_matmul", {"dst": ((8, 16), "bfloat16")}, {"stationary": s, "moving": m}, "tensor")
    np.testing.assert_array_equal(out, (s.T @ m).astype(ml_dtypes.bfloat16))


SPECIAL = np.array([[1.5, np.nan, np.inf], [-np.inf, 0.0, -0.0]], np.float32)


@pytest.mark.parametrize("engine", ["tensor", "vector"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_transpose_moves_bits(apply, engine, dtype):
    data = SPECIAL.astype(dtype) if dtype == "float32" else SPECIAL.astype(ml_dtypes.bfloat16)
    out = apply("nc_transpose", {"dst": ((3, 2), dtype)}, {"data": data}, engine)
    word = f"u{data.dtype.itemsize}"
    np.testing.assert_array_equal(out.view(word), np.ascontiguousarray(data.T).view(word))


def test_transpose_on_the_tensor_engine_moves_integers(apply):
    data = RNG.integers(-(2**31), 2**31, (6, 4)).astype(np.int32)
    out = apply("nc_transpose", {"dst": ((4, 6), "int32")}, {"data": data}, "tensor")
    np.testing.assert_array_equal(out, data.T)


def test_transpose_of_float8_on_the_tensor_engine_fills_the_low_half_of_16_bits(apply):
    data = normal(4, 6, dtype=ml_dtypes.float8_e4m3)
    out = apply("nc_transpose", {"dst": ((6, 4), "bfloat16")}, {"data": data}, "tensor")
    np.testing.assert_array_equal(out.view(np.uint16), data.T.copy().view(np.uint8))


def test_transpose_flattens_free_dimensions(apply):
    data = normal(8, 2, 3)
    out = apply("nc_transpose", {"dst": ((6, 8), "float32")}, {"data": data}, "tensor")
    np.testing.assert_array_equal(out, data.reshape(8, 6).T)


def test_transpose_mode_moves_bits(apply):
    data, identity = SPECIAL, np.eye(2, dtype=np.float32)
    out = apply(
        "nc_matmul",
        {"dst": ((3, 2), "float32")},
        {"stationary": data, "moving": identity},
        "tensor",
        is_transpose=True,
    )
    np.testing.assert_array_equal(out, data.T)


def test_transpose_mode_without_identity_is_refused(apply):
    with pytest.raises(ExecutionError, match="is_transpose needs an identity"):
        apply(
            "nc_matmul",
            {"dst": ((3, 2), "float32")},
            {"stationary": normal(2, 3), "moving": normal(2, 2)},
            "tensor",
            is_transpose=True,
        )


@pytest.mark.parametrize("count", [1, 8, 9, 20])
def test_any_number_of_products_accumulates(builder, count):
    b = builder()
    s, m = normal(count, 128, 16), normal(count, 128, 24)
    tile = b.psum((16, 24))
    for i in range(count):
        b.do(
            "nc_matmul", {"dst": tile}, {"stationary": b.load(f"s{i}", s[i]), "moving": b.load(f"m{i}", m[i])}, "tensor"
        )
    b.copy(b.output("y", (16, 24), "float32"), tile)
    inputs = {f"s{i}": s[i] for i in range(count)} | {f"m{i}": m[i] for i in range(count)}
    expected = np.einsum("ckm,ckn->mn", s.astype(np.float64), m.astype(np.float64))
    np.testing.assert_allclose(b.run(**inputs)["y"], expected, rtol=1e-4, atol=1e-3)


def test_products_into_two_halves_of_a_tile_take_turns(builder):
    b = builder()
    s, m = normal(32, 8), normal(2, 32, 6)
    stationary, moving = b.load("s", s), [b.load(f"m{i}", m[i]) for i in range(2)]
    tile = b.psum((8, 12))
    halves = [Access(tile.buffer, 6 * i, ((12, 8), (1, 6)), "float32") for i in range(2)]
    for i in (0, 1, 0, 1, 1):
        b.do("nc_matmul", {"dst": halves[i]}, {"stationary": stationary, "moving": moving[i]}, "tensor")
    b.copy(b.output("y", (8, 12), "float32"), tile)
    expected = np.concatenate([2 * s.T @ m[0], 3 * s.T @ m[1]], axis=1)
    np.testing.assert_allclose(b.run(s=s, m0=m[0], m1=m[1])["y"], expected, rtol=1e-4, atol=1e-4)


def test_a_product_uses_its_operands_as_they_were(builder):
    b = builder()
    s, m = normal(32, 8), normal(32, 6)
    stationary, moving = b.load("s", s), b.load("m", m)
    tile = b.psum((8, 6))
    for _ in range(2):
        b.do("nc_matmul", {"dst": tile}, {"stationary": stationary, "moving": moving}, "tensor")
        b.do("memset", {"dst": stationary}, value=0)
    b.copy(b.output("y", (8, 6), "float32"), tile)
    np.testing.assert_allclose(b.run(s=s, m=m)["y"], s.T @ m, rtol=1e-5, atol=1e-5)


def test_a_tile_that_is_read_keeps_accumulating(builder):
    b = builder()
    s, m = normal(32, 8), normal(32, 6)
    stationary, moving = b.load("s", s), b.load("m", m)
    tile = b.psum((8, 6))
    for i in range(3):
        b.do("nc_matmul", {"dst": tile}, {"stationary": stationary, "moving": moving}, "tensor")
        b.copy(b.output(f"y{i}", (8, 6), "float32"), tile)
    out = b.run(s=s, m=m)
    for i in range(3):
        np.testing.assert_allclose(out[f"y{i}"], (i + 1) * (s.T @ m), rtol=1e-4, atol=1e-5)
