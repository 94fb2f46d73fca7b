"""Results in place and accumulation in PSUM: which instructions a kernel makes, and what it computes."""

import numpy as np
import pytest

from neff_bench.parsers.formats.opcodes import OPCODES
from neff_bench.simulator.compiler.code.assembler import assemble
from neff_bench.simulator.errors import NkiValidationError
from neff_bench.simulator.nki.beta import isa as nisa
from neff_bench.simulator.nki.beta import language as nl
from neff_bench.simulator.nki.beta.jit import jit
from neff_bench.simulator.nki.simulate import simulate
from tests.simulator.nki.beta.kernels import operations, recorded

RANDOM = np.random.default_rng(5)
X = RANDOM.standard_normal((128, 64)).astype(np.float32)
Y = RANDOM.standard_normal((128, 64)).astype(np.float32)


def result(like):
    return nl.ndarray(like.shape, dtype=like.dtype, buffer=nl.shared_hbm)


def test_an_assigned_result_is_written_by_the_instruction_itself():
    def twice(x):
        out, tile = result(x), nl.ndarray(x.shape, dtype=x.dtype)
        tile[...] = nl.load(x)
        tile[:, 0:32] = nl.add(tile[:, 0:32], tile[:, 0:32])
        nl.store(out, tile)
        return out

    assert operations(recorded(twice, (128, 64))) == ["dma_copy", "tensor_tensor", "dma_copy"]
    assert np.array_equal(simulate(jit(twice))(X), np.hstack([2 * X[:, :32], X[:, 32:]]))


def test_a_result_that_is_read_later_keeps_its_own_tile():
    def both(x):
        out, tile = result(x), nl.ndarray(x.shape, dtype=x.dtype)
        double = nl.add(nl.load(x), 1.0)
        tile[...] = double
        tile[...] = nl.multiply(tile, 3.0)
        nl.store(out, nl.add(tile, double))
        return out

    np.testing.assert_allclose(simulate(jit(both))(X), 4 * (X + 1), rtol=1e-6)
    assert operations(recorded(both, (128, 64))).count("tensor_copy") == 1


def test_an_operand_that_overlaps_the_place_is_not_overwritten_while_it_is_read():
    def shifted(x):
        out, tile = result(x), nl.ndarray(x.shape, dtype=x.dtype)
        tile[...] = nl.load(x)
        tile[:, 1:64] = nl.add(tile[:, 0:63], 1.0)
        nl.store(out, tile)
        return out

    assert np.array_equal(simulate(jit(shifted))(X), np.hstack([X[:, :1], X[:, :63] + np.float32(1)]))
    assert "tensor_copy" in operations(recorded(shifted, (128, 64)))


def test_a_narrower_place_is_rounded_once():
    def cast(x):
        out = nl.ndarray(x.shape, dtype=nl.bfloat16, buffer=nl.shared_hbm)
        tile = nl.ndarray(x.shape, dtype=nl.bfloat16)
        tile[...] = nl.multiply(nl.load(x), 2.0)
        nl.store(out, tile)
        return out

    assert operations(recorded(cast, (128, 64))) == ["dma_copy", "tensor_scalar", "dma_copy"]


def test_products_accumulate_on_the_tensor_engine():
    def product(a, b):
        out = nl.ndarray((64, 64), dtype=a.dtype, buffer=nl.shared_hbm)
        left, right = nl.load(a), nl.load(b)
        total = nl.zeros((64, 64), nl.float32, buffer=nl.psum)
        for half in nl.affine_range(2):
            rows = nl.ds(64 * half, 64)
            total += nisa.nc_matmul(left[rows, :], right[rows, :])
        nl.store(out, nl.copy(total))
        return out

    program = recorded(product, (128, 64), (128, 64), target="trn1")
    assert operations(program) == ["dma_copy", "dma_copy", "nc_matmul", "nc_matmul", "tensor_copy", "dma_copy"]
    flags = [step.attributes["accumulate"] for step in program.cores[0] if step.op == "nc_matmul"]
    assert flags == [False, True]
    np.testing.assert_allclose(simulate(jit(product))(X, Y), X.T @ Y, rtol=1e-4, atol=1e-4)


def test_an_operation_in_place_on_indexed_elements_copies_nothing():
    def product(a, b):
        out = nl.ndarray((64, 64), dtype=a.dtype, buffer=nl.shared_hbm)
        left, right = nl.load(a), nl.load(b)
        total = nl.zeros((64, 64), nl.float32, buffer=nl.psum)
        for _ in nl.affine_range(2):
            total[nl.arange(64)[:, None], nl.arange(64)[None, :]] += nisa.nc_matmul(left, right)
        result = nl.copy(total)
        result[nl.arange(64)[:, None], nl.arange(64)[None, :]] *= 0.5
        nl.store(out, result)
        return out

    assert operations(recorded(product, (128, 64), (128, 64))) == [
        "dma_copy", "dma_copy", "nc_matmul", "nc_matmul", "tensor_copy", "tensor_scalar", "dma_copy",
    ]  # fmt: skip
    np.testing.assert_allclose(simulate(jit(product))(X, Y), X.T @ Y, rtol=1e-4, atol=1e-4)


def test_zeros_that_no_product_covers_are_zero():
    def partly(a, b):
        out = nl.ndarray((64, 64), dtype=a.dtype, buffer=nl.shared_hbm)
        total = nl.zeros((64, 64), nl.float32, buffer=nl.psum)
        total[:, 0:32] += nisa.nc_matmul(nl.load(a), nl.load(b[:, 0:32]))
        nl.store(out, nl.copy(total))
        return out

    expected = np.hstack([X.T @ Y[:, :32], np.zeros((64, 32), np.float32)])
    np.testing.assert_allclose(simulate(jit(partly))(X, Y), expected, rtol=1e-4, atol=1e-4)


def test_a_product_is_added_to_what_another_instruction_wrote():
    def biased(a, b):
        out = nl.ndarray((64, 64), dtype=a.dtype, buffer=nl.shared_hbm)
        total = nl.ndarray((64, 64), nl.float32, buffer=nl.psum)
        total[...] = 3.0
        total += nisa.nc_matmul(nl.load(a), nl.load(b))
        nl.store(out, nl.copy(total))
        return out

    np.testing.assert_allclose(simulate(jit(biased))(X, Y), X.T @ Y + 3, rtol=1e-4, atol=1e-4)


def test_a_product_is_added_to_the_product_that_made_the_tile():
    def product(a, b):
        out = nl.ndarray((64, 64), dtype=a.dtype, buffer=nl.shared_hbm)
        left, right = nl.load(a), nl.load(b)
        total = nisa.nc_matmul(left, right)
        total += nisa.nc_matmul(right, right)
        nl.store(out, nl.copy(total))
        return out

    np.testing.assert_allclose(simulate(jit(product))(X, Y), X.T @ Y + Y.T @ Y, rtol=1e-4, atol=1e-4)
    assert operations(recorded(product, (128, 64), (128, 64))).count("tensor_tensor") == 0


def test_a_product_is_added_to_zeros_that_another_engine_wrote_in_part():
    def product(a, b):
        out = nl.ndarray((64, 64), dtype=a.dtype, buffer=nl.shared_hbm)
        left, right = nl.load(a), nl.load(b)
        total = nl.zeros((64, 64), nl.float32, buffer=nl.psum)
        total[:, 8:64] = nl.multiply(left[0:64, 8:64], 2.0)
        total += nisa.nc_matmul(left, right)
        nl.store(out, nl.copy(total))
        return out

    expected = X.T @ Y
    expected[:, 8:] += 2 * X[:64, 8:]
    np.testing.assert_allclose(simulate(jit(product))(X, Y), expected, rtol=1e-4, atol=1e-4)


def test_a_product_kept_by_name_is_added_by_vector():
    def kept(a, b):
        out = nl.ndarray((64, 64), dtype=a.dtype, buffer=nl.shared_hbm)
        total = nl.zeros((64, 64), nl.float32, buffer=nl.psum)
        one = nisa.nc_matmul(nl.load(a), nl.load(b))
        total += one
        nl.store(out, nl.add(nl.copy(total), nl.copy(one)))
        return out

    np.testing.assert_allclose(simulate(jit(kept))(X, Y), 2 * (X.T @ Y), rtol=1e-4, atol=1e-4)


def test_a_copy_of_the_wrong_size_is_an_error():
    def too_small(x):
        tile = nl.load(x)
        nisa.dma_copy(dst=tile[:, 0:32], src=x)

    with pytest.raises(NkiValidationError, match="dma_copy: 8192 elements into 4096"):
        simulate(jit(too_small))(X)


def test_a_reduction_drops_its_axes_and_one_element_is_broadcast():
    def pooled(x):
        out = nl.ndarray((128, 8, 4), dtype=x.dtype, buffer=nl.shared_hbm)
        tile = nl.load(x).reshape((128, 8, 2, 4))
        most = nisa.tensor_reduce(nl.max, tile, axis=2)
        bias = nisa.tensor_reduce(nl.max, tile, axis=(1, 2, 3))
        assert most.shape == (128, 8, 4)
        nl.store(out, nisa.tensor_tensor(most, bias, op=nl.add))
        return out

    expected = X.reshape(128, 8, 2, 4).max(2) + X.max(1)[:, None, None]
    np.testing.assert_allclose(simulate(jit(pooled))(X), expected, rtol=1e-6)


def test_one_element_a_partition_goes_with_any_rank():
    def scaled(x):
        out = result(x)
        tile = nl.load(x)
        most = nl.max(tile, axis=1)[:, None]
        assert most.shape == (128, 1, 1)
        nl.store(out, nl.multiply(tile, most))
        return out

    assert np.array_equal(simulate(jit(scaled))(X), X * X.max(1, keepdims=True))


def test_a_transposed_load_is_cast():
    def turned(x):
        out = nl.ndarray((64, 128), dtype=nl.bfloat16, buffer=nl.shared_hbm)
        nl.store(out, nl.load_transpose2d(x, dtype=nl.bfloat16))
        return out

    np.testing.assert_allclose(np.float32(simulate(jit(turned))(X)), X.T, rtol=1e-2)


@pytest.mark.parametrize(("dtype", "copies"), [("float32", 1), ("bfloat16", 1), ("int16", 2)])
def test_a_row_becomes_all_rows_of_its_place_by_one_product_and_one_copy(dtype, copies):
    """The PE takes no integers: short ones are copied to float32 first."""

    def spread(row):
        out = nl.ndarray((128, 256), dtype=row.dtype, buffer=nl.shared_hbm)
        tile = nl.ndarray((128, 256), dtype=row.dtype, buffer=nl.sbuf)
        tile[...] = nl.load(row).broadcast_to((128, 256))
        nl.store(out, tile)
        return out

    found = operations(recorded(spread, (1, 256), dtype=dtype))
    assert (found.count("nc_matmul"), found.count("tensor_copy")) == (1, copies)
    row = np.arange(256).reshape(1, 256).astype(dtype if dtype != "bfloat16" else np.float32)
    assert np.array_equal(simulate(jit(spread))(row), np.tile(row, (128, 1)))


def test_the_tensor_engine_takes_a_product_that_no_tile_was_given_for():
    """As `flash_attn_bwd` of nki-samples multiplies with a new transposition: it is copied to SBUF."""

    def gram(x):
        out = nl.ndarray((128, 128), dtype=x.dtype, buffer=nl.shared_hbm)
        turned = nisa.nc_transpose(nl.load(x))
        nl.store(out, nisa.nc_matmul(turned, turned))
        return out

    assert operations(recorded(gram, (128, 64))).count("tensor_copy") >= 2
    np.testing.assert_allclose(simulate(jit(gram))(X), X @ X.T, rtol=1e-5, atol=1e-5)


def test_the_tensor_engine_takes_no_tile_that_the_kernel_put_in_psum():
    @jit
    def product(x):
        out = nl.ndarray((64, 64), dtype=x.dtype, buffer=nl.shared_hbm)
        tile = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.psum)
        tile[...] = nl.load(x)
        nl.store(out, nisa.nc_matmul(tile, tile))
        return out

    with pytest.raises(NkiValidationError, match="stationary and moving must be in SBUF"):
        simulate(product)(X)


def test_a_small_product_that_no_tile_was_given_for_is_transposed_where_it_lies():
    def turned(x):
        out = nl.ndarray((32, 32), dtype=x.dtype, buffer=nl.shared_hbm)
        part = nl.load(x[:, 0:32])
        nl.store(out, nisa.nc_transpose(nisa.nc_matmul(part, part)))
        return out

    found = recorded(turned, (128, 64))
    transposition = next(step for step in found.cores[0] if step.op == "nc_transpose")
    assert (transposition.engine, operations(found).count("tensor_copy")) == ("vector", 1)


@pytest.mark.parametrize(("target", "matmuls"), [("trn1", 1), ("trn2", 2)])
def test_a_row_of_float32_becomes_all_rows_by_two_matmuls_where_the_profiles_have_two(target, matmuls):
    def spread(row):
        out = nl.ndarray((128, 512), dtype=row.dtype, buffer=nl.shared_hbm)
        nl.store(out, nl.load(row).broadcast_to((128, 512)))
        return out

    [code] = assemble(recorded(spread, (1, 512), target=target))
    assert np.count_nonzero(code.opcode == OPCODES["MATMUL"]) == matmuls


def test_vector_transposes_squares_of_a_large_tile():
    x = RANDOM.standard_normal((128, 80)).astype(np.float32)

    def turned(x):
        out = nl.ndarray((80, 128), dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(out, nisa.nc_transpose(nl.load(x), engine=nisa.vector_engine))
        return out

    squares = [step for step in recorded(turned, (128, 80)).cores[0] if step.op == "nc_transpose"]
    assert [step.engine for step in squares] == ["vector"] * 12
    assert np.array_equal(simulate(jit(turned))(x), x.T)


@pytest.mark.parametrize("written", ["function", "instruction", "in place"])
def test_an_operand_of_one_row_is_repeated_by_the_tensor_engine(written):
    """Each partition of an engine reads its own operand."""

    def scaled(x, row):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        tile, line = nl.load(x), nl.load(row)
        if written == "function":
            tile = nl.multiply(tile, line)
        elif written == "instruction":
            tile = nisa.tensor_tensor(tile, line, op=np.multiply)
        else:
            tile *= line
        nl.store(out, tile)
        return out

    program = recorded(scaled, (128, 256), (1, 256))
    [product] = [step for step in program.cores[0] if step.op == "tensor_tensor"]
    assert operations(program).count("nc_matmul") == 1
    assert all(access.pattern[0][0] for access in product.reads.values())
    x, row = np.float32(np.arange(128 * 256).reshape(128, 256)), np.float32(np.arange(256).reshape(1, 256))
    assert np.array_equal(simulate(jit(scaled))(x, row), x * row)
