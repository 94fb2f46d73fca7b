"""Neighbouring tiles in one instruction, as the traces of attention show it, and every result as before."""

import numpy as np
import pytest

from neff_bench.simulator.compiler.program.capacity import memory_peak
from neff_bench.simulator.nki.beta import isa as nisa
from neff_bench.simulator.nki.beta import language as nl
from neff_bench.simulator.nki.beta.jit import jit
from neff_bench.simulator.nki.simulate import simulate
from tests.simulator.nki.beta.kernels import recorded

RANDOM = np.random.default_rng(5)


def turned(x):
    """Each 128 columns of x, turned on the PE, next to each other."""
    tiles = x.shape[1] // 128
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    whole = nl.load(x)
    kept = nl.ndarray((nl.par_dim(128), tiles, 128), dtype=x.dtype, buffer=nl.sbuf)
    for tile in nl.affine_range(tiles):
        kept[:, tile, :] = nisa.tensor_copy(nisa.nc_transpose(whole[:, nl.ds(128 * tile, 128)]))
    for tile in nl.affine_range(tiles):
        nl.store(out[:, nl.ds(128 * tile, 128)], kept[:, tile, :])
    return out


def rows_of(x):
    """The largest value of each row, from each 512 columns of the scores x.T @ x; in blocks of 128 rows."""
    length = x.shape[1]
    out = nl.ndarray((length, 1), dtype=x.dtype, buffer=nl.shared_hbm)
    whole = nl.load(x)
    for block in nl.affine_range(length // 128):
        scores = nl.ndarray((nl.par_dim(128), length), dtype=nl.float32, buffer=nl.sbuf)
        parts = nl.ndarray((nl.par_dim(128), length // 512), dtype=nl.float32, buffer=nl.sbuf)
        for part in nl.affine_range(length // 512):
            columns = nl.ds(512 * part, 512)
            product = nisa.nc_matmul(whole[:, nl.ds(128 * block, 128)], whole[:, columns])
            scores[:, columns] = nisa.tensor_copy(product, dtype=nl.float32)
        for part in nl.affine_range(length // 512):
            parts[:, part] = nisa.tensor_reduce(np.max, scores[:, nl.ds(512 * part, 512)], axis=1)
        nl.store(out[nl.ds(128 * block, 128), :], nisa.tensor_reduce(np.max, parts, axis=1))
    return out


def sizes(program, op, operand):
    """How many columns the instructions of one operation have."""
    return [step.writes[operand].columns for step in program.cores[0] if step.op == op]


@pytest.mark.parametrize(
    ("columns", "dtype", "expected"),
    [(512, "float32", [512]), (1024, "float32", [512, 512]), (512, "bfloat16", [512]), (1024, "bfloat16", [128] * 8)],
)
def test_copies_of_transposes_become_one_for_each_bank_unless_that_has_more_than_512_elements(columns, dtype, expected):
    program = recorded(turned, (128, columns), dtype=dtype, middle_end=True)
    assert sizes(program, "tensor_copy", "dst") == expected
    assert sizes(recorded(turned, (128, columns), dtype=dtype), "tensor_copy", "dst") == [128] * (columns // 128)


def scaled(x, row):
    """Each 128 rows of x times one row."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    line = nl.load(row)
    for tile in nl.affine_range(x.shape[0] // 128):
        rows = nl.ds(128 * tile, 128)
        spread = line.broadcast_to((128, x.shape[1]))
        nl.store(out[rows, :], nisa.tensor_tensor(nl.load(x[rows, :]), spread, op=nl.multiply))
    return out


def test_a_sum_of_products_is_copied_before_vector_adds_to_it():
    def summed(x):
        out = nl.ndarray((128, 128), dtype=x.dtype, buffer=nl.shared_hbm)
        total = nl.zeros((128, 128), dtype=nl.float32, buffer=nl.psum)
        tiles = [nl.load(x[nl.ds(128 * part, 128), :]) for part in range(2)]
        for tile in tiles:
            total += nisa.nc_matmul(tile, tile)
        nl.store(out, nisa.tensor_tensor(nisa.tensor_copy(total), tiles[0], op=nl.add))
        return out

    program = recorded(summed, (256, 128), middle_end=True)
    assert sizes(program, "tensor_copy", "dst") == [128]


def test_dmas_of_neighbouring_tiles_become_one_of_512_kib():
    def copied(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        for tile in nl.affine_range(4):
            rows = nl.ds(128 * tile, 128)
            nl.store(out[rows, :], nl.load(x[rows, :]))
        return out

    for columns, expected in ((64, [4 * 64] * 2), (512, [1024] * 4), (1024, [1024] * 8)):
        program = recorded(copied, (512, columns), middle_end=True)
        moved = [step.writes["dst"].elements // 128 for step in program.cores[0] if step.op == "dma_copy"]
        assert moved == expected
        x = RANDOM.standard_normal((512, columns)).astype(np.float32)
        assert np.array_equal(simulate(jit(copied))(x), x)


def test_an_instruction_takes_eight_tiles_at_most():
    def inverted(x):
        tiles = x.shape[1]
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        whole, made = nl.load(x), nl.ndarray((nl.par_dim(128), tiles), dtype=x.dtype, buffer=nl.sbuf)
        for tile in nl.affine_range(tiles):
            made[:, tile] = nisa.reciprocal(whole[:, tile])
        nl.store(out, made)
        return out

    assert sizes(recorded(inverted, (128, 20), middle_end=True), "reciprocal", "dst") == [8, 8, 4]


def test_dmas_that_move_each_element_by_itself_stay_apart():
    def turned_by_dma(x):
        out = nl.ndarray((x.shape[0], 64), dtype=x.dtype, buffer=nl.shared_hbm)
        rows, columns = nl.arange(64)[:, None], nl.arange(128)[None, :]
        for tile in nl.affine_range(x.shape[0] // 128):
            made = nl.load_transpose2d(x[nl.ds(128 * tile, 128), :])
            nl.store(out[128 * tile + columns, rows], made)
        return out

    program = recorded(turned_by_dma, (512, 64), middle_end=True)
    stores = [
        step for step in program.cores[0] if step.op == "dma_copy" and step.writes["dst"].buffer in program.outputs
    ]
    assert len(stores) == 4


def test_instructions_take_as_many_tiles_as_make_512_columns_of_those_that_dmas_put_side_by_side():
    def doubled(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        for tile in nl.affine_range(16):
            columns = nl.ds(128 * tile, 128)
            loaded = nl.load(x[:, columns])
            nl.store(out[:, columns], nisa.tensor_tensor(loaded, loaded, nl.add))
        return out

    program = recorded(doubled, (128, 2048), middle_end=True)
    assert sizes(program, "tensor_tensor", "dst") == [512] * 4
    assert [step.writes["dst"].elements for step in program.cores[0] if step.op == "dma_copy"] == [128 * 1024] * 4
    x = RANDOM.standard_normal((128, 2048)).astype(np.float32)
    assert np.array_equal(simulate(jit(doubled))(x), x + x)


def test_tiles_that_depend_on_each_other_stay_apart():
    def chained(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        tile = nl.load(x)
        for _ in nl.sequential_range(4):
            tile = nisa.reciprocal(tile)
        nl.store(out, tile)
        return out

    program = recorded(chained, (128, 4), middle_end=True)
    assert sizes(program, "reciprocal", "dst") == [4] * 4


def test_a_tile_of_psum_that_nothing_wrote_is_copied_as_the_kernel_says():
    def unwritten(x):
        out = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.shared_hbm)
        tile = nisa.tensor_copy(nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.psum))
        nl.store(out, nisa.activation(op=nl.exp, data=tile))
        return out

    assert sizes(recorded(unwritten, (128, 64), middle_end=True), "activation", "dst") == [64]


def test_activations_that_reduce_stay_apart():
    """As `flash_paged_attention` of aws-neuron/upstreaming-to-vllm sums the exponentials of each part of a row."""

    def sums(x):
        out = nl.ndarray((128, 2), dtype=x.dtype, buffer=nl.shared_hbm)
        whole = nl.load(x)
        shift = nl.multiply(nl.max(whole, axis=1, keepdims=True), -1)
        parts = nl.ndarray((nl.par_dim(128), 2), dtype=nl.float32)
        values = nl.ndarray((nl.par_dim(128), 128), dtype=nl.float32)
        for part in nl.affine_range(2):
            columns = nl.ds(64 * part, 64)
            values[:, columns] = nisa.activation_reduce(
                np.exp, whole[:, columns], bias=shift, reduce_op=nl.add, reduce_res=parts[:, part]
            )
        nl.store(out, parts)
        return out

    x = RANDOM.standard_normal((128, 128)).astype(np.float32)
    expected = np.exp(x - x.max(axis=1, keepdims=True)).reshape(128, 2, 64).sum(axis=2)
    assert np.allclose(simulate(jit(sums))(x), expected, rtol=1e-5)
    assert sizes(recorded(sums, (128, 128), middle_end=True), "activation", "dst") == [64, 64]


def test_results_of_what_is_read_in_psum_are_those_of_numpy():
    x, row = RANDOM.standard_normal((256, 512), np.float32), RANDOM.standard_normal((1, 512), np.float32)
    np.testing.assert_array_equal(simulate(jit(scaled))(x, row), x * row)


@pytest.mark.parametrize("length", [512, 1024])
def test_results_are_those_of_numpy(length):
    x = RANDOM.standard_normal((128, length)).astype(np.float32)
    expected = np.concatenate([x[:, at : at + 128].T for at in range(0, length, 128)], axis=1)
    assert np.array_equal(simulate(jit(turned))(x), expected)
    assert np.allclose(simulate(jit(rows_of))(x), (x.T @ x).max(axis=1, keepdims=True), rtol=1e-5)


def test_what_a_merged_load_waits_for_does_not_bring_all_that_lies_between_with_it():
    """Four small loads become one, whose tiles are set to zero before. Each stands before images that need half of SBUF together."""

    def scaled(images, scales):
        out = nl.ndarray(images.shape, dtype=images.dtype, buffer=nl.shared_hbm)
        for group in nl.affine_range(4):
            scale = nl.zeros((nl.par_dim(128), 2), dtype=nl.float32, buffer=nl.sbuf)
            scale[:, :] = nl.load(scales[nl.ds(128 * group, 128), :])
            for number in nl.affine_range(4):
                rows = nl.ds(128 * (4 * group + number), 128)
                image = nl.zeros((nl.par_dim(128), 8192), dtype=nl.float32, buffer=nl.sbuf)
                image[:, :] = nl.load(images[rows, :])
                nl.store(out[rows, :], nl.multiply(image, scale[:, 0:1]))
        return out

    program = recorded(scaled, (2048, 8192), (512, 2), target="trn1", middle_end=True)
    small = [step for step in program.cores[0] if step.op == "dma_copy" and step.writes["dst"].elements <= 1024]
    [used] = [peak.used_bytes for peak in memory_peak(program) if peak.memory == "sbuf"]
    assert len(small) == 1 and used < 4 * 8192 * 4


def test_tiles_of_indices_are_loaded_together_and_gather_the_same_rows():
    def gathered(x, rows):
        out = nl.ndarray((128, 4, 8), dtype=x.dtype, buffer=nl.shared_hbm)
        at, columns = nl.arange(128)[:, None], nl.arange(8)[None, :]
        for number in nl.affine_range(4):
            index = nl.load(rows[at, number + nl.arange(1)[None, :]])
            nl.store(out[:, number, :], nl.load(x[index, columns]))
        return out

    x = RANDOM.standard_normal((64, 8)).astype(np.float32)
    rows = RANDOM.integers(0, 64, (128, 4)).astype(np.int32)
    program = recorded(gathered, (64, 8), (128, 4), middle_end=True, dtypes=("float32", "int32"))
    loads = [
        step for step in program.cores[0] if step.op == "dma_copy" and step.reads["src"].buffer == program.inputs[1]
    ]
    assert [step.writes["dst"].elements for step in loads] == [128 * 4]
    assert np.array_equal(simulate(jit(gathered))(x, rows), x[rows])
