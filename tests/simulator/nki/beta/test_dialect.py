"""The old dialect: kernels in the manner of nki-samples' tutorials, against numpy."""

import sys
from importlib.util import find_spec

import ml_dtypes
import numpy as np
import pytest

from neff_bench.simulator.errors import KernelError, NkiValidationError, NotModelledError
from neff_bench.simulator.nki.beta import isa as nisa
from neff_bench.simulator.nki.beta import language as nl
from neff_bench.simulator.nki.beta.jit import jit
from neff_bench.simulator.nki.beta.precision import highest
from neff_bench.simulator.nki.simulate import simulate

RANDOM = np.random.default_rng(3)
A = RANDOM.standard_normal((256, 1024)).astype(np.float32)
B = RANDOM.standard_normal((256, 1024)).astype(np.float32)


@jit
def add_programs(a, b):
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    rows = nl.program_id(0) * 128 + nl.arange(128)[:, None]
    columns = nl.program_id(1) * 512 + nl.arange(512)[None, :]
    nl.store(out[rows, columns], value=nl.load(a[rows, columns]) + nl.load(b[rows, columns]))
    return out


def test_a_grid_runs_its_programs_one_after_the_other():
    assert np.array_equal(simulate(lambda a, b: add_programs[2, 2](a, b))(A, B), A + B)


def test_a_grid_over_two_cores_spreads_its_programs():
    def launch(a, b):
        return add_programs[nl.spmd_dim(1, nl.nc(2)), 2](a, b)

    assert np.array_equal(simulate(launch)[2](A, B), A + B)


def test_affine_indices_reorder_elements():
    @jit
    def transpose(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        tile = nl.load(x)
        row, i, j = nl.arange(128)[:, None, None], nl.arange(3)[None, :, None], nl.arange(4)[None, None, :]
        turned = nl.ndarray(tile.shape, dtype=x.dtype)
        turned[row, 3 * j + i] = nl.copy(tile[row, i * 4 + j])
        nl.store(out, value=turned)
        return out

    x = A[:128, :12]
    assert np.array_equal(simulate(transpose)(x), x.reshape(128, 3, 4).transpose(0, 2, 1).reshape(128, 12))


def test_a_grid_of_indices_pools_windows():
    @jit
    def pool(x):
        out = nl.ndarray((4, 3, 3), dtype=x.dtype, buffer=nl.shared_hbm)
        i0, i1, i2, i3, i4 = nl.mgrid[0:4, 0:3, 0:2, 0:3, 0:2]
        tile = nl.load(x)
        nl.store(out, value=nl.sum(tile[i0, 2 * i1 + i2, 2 * i3 + i4], axis=[2, 4]) / 4)
        return out

    x = A[:4, :36].reshape(4, 6, 6).copy()
    np.testing.assert_allclose(simulate(pool)(x), x.reshape(4, 3, 2, 3, 2).mean((2, 4)), rtol=1e-5, atol=1e-6)


def test_instructions_return_and_blocks_accumulate():
    @jit
    def scan(x, scale):
        out = nl.ndarray((2, 128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
        total = nl.zeros((2, nl.par_dim(128), 64), dtype=x.dtype)
        column = nl.load(scale)
        for block in nl.affine_range(2):
            tile = nl.load(x[block * 128 : (block + 1) * 128, 0:64])
            grown = nisa.activation(op=nl.exp, data=tile, scale=column)
            steps = nisa.tensor_tensor_scan(grown, tile, initial=0, op0=np.multiply, op1=np.add)
            total[block, 0:128, 0:64] += nisa.tensor_tensor(steps, tile, op=nl.multiply)
            nl.store(out[block], total[block, 0:128, 0:64])
        return out

    x, scale = A[:, :64] * 0.1, B[:128, :1] * 0.1
    state, expected = np.zeros((2, 128)), np.zeros((2, 128, 64))
    blocks = x.reshape(2, 128, 64).astype(np.float64)
    for at in range(64):
        state = np.exp(blocks[..., at] * scale[:, 0]) * state + blocks[..., at]
        expected[..., at] = state * blocks[..., at]
    np.testing.assert_allclose(simulate(scan)(x, scale), expected, rtol=1e-4, atol=1e-5)


def test_matmul_and_transpose_return_psum():
    @jit
    def product(a, b):
        out = nl.ndarray((64, 64), dtype=a.dtype, buffer=nl.shared_hbm)
        left, right = nl.load(a), nl.load(b)
        assert nisa.nc_matmul(left, right).buffer == nl.psum
        top = nisa.tensor_reduce(op=nl.max, data=nisa.nc_matmul(left, right), axis=1)
        scaled = nisa.tensor_scalar(nisa.nc_matmul(left, right), op0=nl.subtract, operand0=top)
        nl.store(out, nisa.tensor_copy(nisa.nc_transpose(scaled)))
        return out

    a, b = A[:128, :64], B[:128, :64]
    expected = a.T @ b
    np.testing.assert_allclose(
        simulate(product)(a, b), (expected - expected.max(1, keepdims=True)).T, rtol=1e-4, atol=1e-4
    )


def test_a_slice_that_ends_outside_is_right_where_nothing_outside_is_read():
    @jit
    def windows(x, first):
        out = nl.ndarray((128, 4), dtype=x.dtype, buffer=nl.shared_hbm)
        tile = nl.load(x)
        wide = tile[:, 8:13]
        nl.store(out, wide[:, first : first + 4])
        return out

    np.testing.assert_array_equal(simulate(windows)(A[:128, :12], 0), A[:128, 8:12])
    with pytest.raises(NkiValidationError, match=r"index 9 to 12 of dimension 1 is outside"):
        simulate(windows)(A[:128, :12], 1)


def test_an_index_outside_is_an_error():
    @jit
    def beyond(x):
        return nl.load(x[nl.arange(128)[:, None], 8 + nl.arange(8)[None, :]])

    with pytest.raises(NkiValidationError, match=r"test_dialect\.py:\d+: index 8 to 15 of dimension 1 is outside"):
        simulate(beyond)(A[:128, :12])


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (lambda x: nl.load(x[nl.arange(128)[:, None], :]), "a slice beside indices of nl.arange or nl.mgrid"),
        (lambda x: nl.load(nl.load(x)), "load: src must be in HBM"),
        (lambda x: [nl.load(x[at : at + 1]) for at in nl.arange(128)], "a loop goes through nl.affine_range or range"),
        (lambda x: nl.load(x[nl.arange(128)[0], 0:12]), "an index is indexed by slices and None, not by 0"),
    ],
)
def test_what_the_compiler_refuses_is_an_error_of_the_kernel(kernel, message):
    with pytest.raises(NkiValidationError, match=rf"test_dialect\.py:\d+: .*{message}"):
        simulate(jit(kernel))(A[:128, :12])


def test_a_name_of_the_dialect_that_is_missing_is_not_modelled():
    with pytest.raises(NotModelledError, match=r"test_dialect\.py:\d+: neuronxcc\.nki\.isa\.builtin_custom_op is not"):
        simulate(jit(lambda x: nisa.builtin_custom_op(x)))(A[:128, :12])


def test_a_name_that_the_dialect_never_had_is_an_error_of_the_kernel():
    with pytest.raises(NkiValidationError, match=r"test_dialect\.py:\d+: neuronxcc\.nki\.language has no 'spam'"):
        simulate(jit(lambda x: nl.spam(x)))(A[:128, :12])
    with pytest.raises(
        NkiValidationError, match=r"test_dialect\.py:\d+: a tile of neuronxcc\.nki has no attribute 'spam'"
    ):
        simulate(jit(lambda x: x.spam))(A[:128, :12])


def test_a_kernel_needs_a_launch():
    with pytest.raises(KernelError, match="add_programs: a kernel is launched on a device"):
        add_programs(A, B)


def test_the_dialect_is_importable_under_its_name(monkeypatch):
    from neff_bench.simulator.nki import install

    for name in [name for name in sys.modules if name.partition(".")[0] in ("nki", "neuronxcc")]:
        monkeypatch.delitem(sys.modules, name)
    install.install()
    import neuronxcc.nki as beta
    from neuronxcc.nki.typing import mutable, tensor

    assert beta.language is nl
    assert beta.jit is jit
    assert tensor[128, 512]
    assert tensor[mutable]
    with pytest.raises(AttributeError, match=r"nki\.typing has no 'spam'"):
        _ = beta.typing.spam
    assert find_spec("neuronxcc.nki").name == "neuronxcc.nki"
    assert find_spec("nki").name == "nki"
    for name in [name for name in sys.modules if name.partition(".")[0] in ("nki", "neuronxcc")]:
        monkeypatch.delitem(sys.modules, name)


@pytest.mark.parametrize(
    ("dtypes", "expected"),
    [
        (("int32", "float16"), "float16"),
        (("float16", "bfloat16"), "float32"),
        (("float8_e4m3", "float8_e5m2"), "bfloat16"),
        (("int8", "uint16"), "int32"),
        (("int32", "uint32"), "float32"),
        (("uint16", "int32"), "int32"),
    ],
)
def test_dtypes_are_promoted_as_documented(dtypes, expected):
    assert highest(dtypes) == highest(dtypes[::-1]) == expected


def test_operators_promote_their_operands():
    def kernel(x, y):
        tile, other = nl.load(x), nl.load(y)
        assert (tile + other).dtype == (other + tile).dtype == "float32"
        assert (nl.copy(tile, dtype=nl.int32) / 3).dtype == "float32"
        assert (nl.copy(tile, dtype=nl.int32) * 3).dtype == "int32"
        out = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.shared_hbm)
        nl.store(out, tile + other)
        return out

    x = np.full((4, 8), 1.0, ml_dtypes.bfloat16)
    y = np.full((4, 8), 2.0**-12, np.float32)
    np.testing.assert_array_equal(simulate(jit(kernel))(x, y), np.float32(1 + 2.0**-12))


def test_host_code_casts_arrays_and_asks_for_limits():
    assert nl.static_cast(np.ones(3), nl.bfloat16).dtype == ml_dtypes.bfloat16
    assert nl.finfo(nl.float16).max == 65504


def test_sizes_that_are_whole_numbers_may_be_floats():
    def halves(x):
        out = nl.ndarray((128, 4), dtype=x.dtype, buffer=nl.shared_hbm)
        tile = nl.load(x).reshape((128, x.shape[1] / 3, 3))
        nl.store(out, value=nisa.tensor_reduce(np.max, tile, axis=2).as_tile())
        return out

    expected = A[:128, :12].reshape(128, 4, 3).max(2)
    assert np.array_equal(simulate(jit(halves))(A[:128, :12]), expected)
    with pytest.raises(NkiValidationError, match=r"a shape is made of whole numbers, not \[128, 2\.4, 5\]"):
        simulate(jit(lambda x: nl.load(x).reshape((128, 12 / 5, 5))))(A[:128, :12])


def test_one_element_as_an_index_takes_its_dimension_away():
    @jit
    def chosen(x, places):
        out = nl.ndarray((16, 8), dtype=x.dtype, buffer=nl.shared_hbm)
        tile = nl.ndarray((16, 8), dtype=x.dtype)
        tile[:, :] = nl.load(x[nl.load(places)[0, 1], :, :])
        nl.store(out, tile)
        return out

    x = RANDOM.standard_normal((3, 16, 8)).astype(np.float32)
    assert np.array_equal(simulate(chosen)(x, np.int32([[0, 2]])), x[2])


def test_one_element_of_each_partition_fills_any_number_of_dimensions():
    @jit
    def spread(x):
        out = nl.ndarray((16, 4, 2), dtype=x.dtype, buffer=nl.shared_hbm)
        tile = nl.ndarray((16, 4, 2), dtype=x.dtype)
        tile[:, :, 0:2] = nl.load(x)[:, 0:1]
        nl.store(out, tile)
        return out

    x = RANDOM.standard_normal((16, 8)).astype(np.float32)
    assert np.array_equal(simulate(spread)(x), np.broadcast_to(x[:, :1, None], (16, 4, 2)))


@pytest.mark.parametrize("repeated", [lambda row: row, lambda row: row.broadcast_to((16, 8))])
def test_a_row_of_large_integers_is_repeated_without_rounding(repeated):
    @jit
    def masked(x, row):
        out = nl.ndarray((16, 8), dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(out, nl.bitwise_and(nl.load(x), repeated(nl.load(row))))
        return out

    x, row = np.full((16, 8), 0xFFFFFFFF, np.uint32), np.arange(0xFFFFFFF0, 0xFFFFFFF8, dtype=np.uint32).reshape(1, 8)
    assert np.array_equal(simulate(masked)(x, row), np.broadcast_to(row, (16, 8)))


def test_arguments_that_a_kernel_collects_reach_it():
    @jit
    def scaled(x, *factors, **named):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(out, nl.load(x) * factors[0] * factors[1] + nl.load(named["bias"]) * named["by"])
        return out

    x, bias = A[:128], B[:128]
    found = simulate(scaled)(x, 2.0, 3.0, bias=bias, by=4.0)
    np.testing.assert_allclose(found, 6 * x + 4 * bias, rtol=1e-6)


def test_the_number_of_a_program_becomes_a_tile():
    @jit
    def numbers(x):
        out = nl.ndarray((2, 16), dtype=nl.int32, buffer=nl.shared_hbm)
        number = nisa.iota(nl.program_id(0), dtype=nl.int32)
        nl.store(out[nl.program_id(0)], nl.transpose(number.broadcast_to((1, 16))))
        return out

    assert np.array_equal(simulate(lambda x: numbers[2](x))(A), np.repeat(np.int32([[0], [1]]), 16, 1))


def test_a_dtype_knows_its_size_and_is_still_its_name():
    seen = []
    simulate(jit(lambda x: seen.append(x.dtype) or x))(A[:128, :12])
    assert (seen[0].itemsize, seen[0].name, seen[0]) == (4, "float32", nl.float32)


def test_tiles_are_compared_element_by_element_and_with_nothing_else():
    @jit
    def equal(x, y):
        out = nl.ndarray((2, *x.shape), dtype=nl.float32, buffer=nl.shared_hbm)
        first, second = nl.load(x), nl.load(y)
        assert first != None and first != "float32"  # noqa: E711 - as kernels write it
        nl.store(out[0], first == second)
        nl.store(out[1], first != 2)
        return out

    x, y = (RANDOM.integers(0, 4, (16, 8)).astype(np.float32) for _ in range(2))
    assert np.array_equal(simulate(equal)(x, y), np.stack([x == y, x != 2]))


def test_an_identity_is_a_constant_that_is_loaded():
    @jit
    def identity(x):
        out = nl.ndarray((128, 128), dtype=nl.bfloat16, buffer=nl.shared_hbm)
        nl.store(out, nl.load(nl.shared_identity_matrix(n=128, dtype=nl.bfloat16)))
        return out

    assert np.array_equal(np.asarray(simulate(identity)(A)).astype(np.float32), np.eye(128))


def test_a_tensor_that_was_given_is_true():
    @jit
    def scaled(x, factor=None):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        tile = nl.load(x)
        nl.store(out, nl.multiply(tile, nl.load(factor)) if factor else tile)
        return out

    x, factor = A[:128], B[:128, :1]
    assert np.array_equal(simulate(scaled)(x), x)
    assert np.array_equal(simulate(scaled)(x, factor), x * factor)
