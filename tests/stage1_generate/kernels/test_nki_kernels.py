"""Our NKI kernels, recorded and executed, against numpy: edge tiles, both core counts, every block path."""

import numpy as np
import pytest

from neff_bench.neffs.kernel_file import importing
from neff_bench.simulator.execution.execute import execute
from neff_bench.simulator.nki.load import trace_kernel
from neff_bench.simulator.nki.spec import InputSpec, KernelSpec
from neff_bench.simulator.numpy_dtypes import numpy_dtype


def run(entry, inputs, dtype, lnc, target="trn2", **arguments):
    """The kernel's output in float32, and its program."""
    rounded = {name: value.astype(numpy_dtype(dtype)) for name, value in inputs.items()}
    spec = KernelSpec(
        entry=f"neff_bench.stage1_generate.kernels.{entry}",
        path=(),
        inputs=tuple(InputSpec(name, value.shape, dtype) for name, value in inputs.items()),
        arguments=arguments,
        outputs=("out",),
    )
    program = trace_kernel(spec, target, lnc)
    return execute(program, rounded)["out"].astype(np.float32), program


def normal(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


def rounded(value, dtype):
    return value.astype(numpy_dtype(dtype)).astype(np.float32)


def relative_error(actual, expected):
    return np.linalg.norm(actual - expected) / np.linalg.norm(expected)


TOLERANCE = {"float32": 1e-5, "bfloat16": 5e-3, "float16": 1e-3}


@pytest.mark.parametrize("lnc", [1, 2])
@pytest.mark.parametrize(
    ("M", "K", "N"),
    [(1, 1, 1), (128, 128, 512), (129, 130, 513), (127, 64, 100), (300, 700, 33), (5, 2048 + 200, 70), (256, 512, 1)],
)
def test_matmul_of_any_shape(M, K, N, lnc):
    lhs, rhs = normal(1, M, K), normal(2, K, N)
    actual, _ = run("matmul_nki:matmul", {"lhs": lhs, "rhs": rhs}, "bfloat16", lnc)
    expected = rounded(lhs, "bfloat16") @ rounded(rhs, "bfloat16")
    assert actual.shape == (M, N)
    assert relative_error(actual, expected) < TOLERANCE["bfloat16"]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_matmul_in_each_dtype_above_one_block_of_k(dtype):
    lhs, rhs = normal(3, 130, 2300), normal(4, 2300, 600)
    actual, _ = run("matmul_nki:matmul", {"lhs": lhs, "rhs": rhs}, dtype, 2)
    assert relative_error(actual, rounded(lhs, dtype) @ rounded(rhs, dtype)) < TOLERANCE[dtype]


def test_matmul_reads_each_operand_once_when_one_block_holds_it():
    M, K, N = 512, 512, 512
    _, program = run("matmul_nki:matmul", {"lhs": normal(5, M, K), "rhs": normal(6, K, N)}, "bfloat16", 1)
    loads = [
        i for core in program.cores for i in core if i.op == "dma_copy" and i.reads["src"].buffer in program.inputs
    ]
    assert sum(int(np.prod(i.reads["src"].shape)) for i in loads) == M * K + K * N


def silu(x):
    return x / (1 + np.exp(-x))


@pytest.mark.parametrize("lnc", [1, 2])
@pytest.mark.parametrize(
    ("b", "s", "h", "i"), [(1, 128, 256, 128), (1, 1, 128, 128), (2, 65, 200, 300), (3, 1, 130, 70), (1, 600, 128, 256)]
)
def test_mlp_of_any_shape(b, s, h, i, lnc):
    inputs = {
        "hidden": normal(1, b, s, h),
        "gate_w": normal(2, h, i) / np.sqrt(h),
        "up_w": normal(3, h, i) / np.sqrt(h),
        "down_w": normal(4, i, h) / np.sqrt(i),
    }
    actual, _ = run("mlp_nki:mlp", inputs, "bfloat16", lnc)
    x, gate, up, down = (rounded(value, "bfloat16") for value in inputs.values())
    assert actual.shape == (b, s, h)
    assert relative_error(actual, (silu(x @ gate) * (x @ up)) @ down) < 8e-3


@pytest.mark.parametrize("lnc", [1, 2])
@pytest.mark.parametrize(("M", "N"), [(1, 1), (130, 5000), (256, 512)])
def test_exp_of_any_shape(M, N, lnc):
    x = normal(7, M, N)
    actual, _ = run("exp_nki:exp", {"x": x}, "float32", lnc)
    np.testing.assert_allclose(actual, np.exp(x), rtol=1e-5)


def loaded(program, name):
    """The elements of an input that each core reads from HBM."""
    index = next(at for at, buffer in enumerate(program.buffers) if buffer.name == name)
    return [
        sum(i.reads["src"].elements for i in core if i.op == "dma_copy" and i.reads["src"].buffer == index)
        for core in program.cores
    ]


@pytest.mark.parametrize(
    ("M", "N", "lhs", "rhs"),
    [(256, 512, [128 * 64] * 2, [64 * 512] * 2), (129, 512, [128 * 64, 64], [64 * 512] * 2), (128, 512, [128 * 64] * 2, [64 * 256] * 2)],
)  # fmt: skip
def test_cores_of_a_matmul_share_rows_where_each_has_a_tile_of_them_and_columns_else(M, N, lhs, rhs):
    _, program = run("matmul_nki:matmul", {"lhs": normal(1, M, 64), "rhs": normal(2, 64, N)}, "bfloat16", 2)
    assert sorted(loaded(program, "lhs")) == sorted(lhs) and loaded(program, "rhs") == rhs


@pytest.mark.parametrize(("dtype", "block"), [("float32", 1024), ("bfloat16", 2048), ("float16", 2048)])
def test_partial_sums_wait_in_sbuf_above_as_many_rows_as_fit_by_the_size_of_an_element(dtype, block):
    for K, adds in ((block, 0), (block + 1, 1), (2 * block + 1, 2)):
        actual, program = run("matmul_nki:matmul", {"lhs": normal(1, 2, K), "rhs": normal(2, K, 3)}, dtype, 1)
        assert sum(i.op == "tensor_tensor" for core in program.cores for i in core) == adds
        assert (
            relative_error(actual, rounded(normal(1, 2, K), dtype) @ rounded(normal(2, K, 3), dtype)) < TOLERANCE[dtype]
        )


@pytest.mark.parametrize("K", [64, 2100])
def test_a_matmul_of_more_than_a_block_of_rows_and_several_tiles_for_one_core(K):
    M, N = 1024 + 130, 530
    lhs, rhs = normal(1, M, K), normal(2, K, N)
    actual, program = run("matmul_nki:matmul", {"lhs": lhs, "rhs": rhs}, "bfloat16", 1)
    assert relative_error(actual, rounded(lhs, "bfloat16") @ rounded(rhs, "bfloat16")) < TOLERANCE["bfloat16"]
    assert loaded(program, "lhs") == [M * K] and loaded(program, "rhs") == [2 * K * N]


@pytest.mark.parametrize("lnc", [1, 2])
@pytest.mark.parametrize(
    ("M", "K", "N", "tiles"), [(64, 64, 64, (64, 64, 64)), (100, 130, 150, (64, 64, 64)), (5, 7, 9, (2, 3, 4)), (130, 100, 600, (128, 128, 512))]
)  # fmt: skip
def test_a_tiled_matmul_reads_each_operand_once_for_each_tile_across(M, K, N, tiles, lnc):
    lhs, rhs = normal(1, M, K), normal(2, K, N)
    sizes = dict(zip(("tile_m", "tile_k", "tile_n"), tiles))
    actual, program = run("tiled_matmul_nki:tiled_matmul", {"lhs": lhs, "rhs": rhs}, "bfloat16", lnc, **sizes)
    assert relative_error(actual, rounded(lhs, "bfloat16") @ rounded(rhs, "bfloat16")) < TOLERANCE["bfloat16"]
    assert sum(loaded(program, "lhs")) == M * K * -(-N // tiles[2])
    assert sum(loaded(program, "rhs")) == K * N * -(-M // tiles[0])
    stored = [
        i for core in program.cores for i in core if i.op == "dma_copy" and i.reads["src"].buffer not in program.inputs
    ]
    assert len(stored) == -(-M // tiles[0]) * -(-N // tiles[2])


def test_an_exponential_moves_at_most_4096_columns_at_a_time():
    _, program = run("exp_nki:exp", {"x": normal(7, 3, 4097)}, "float32", 1)
    assert [i.writes["dst"].columns for core in program.cores for i in core if i.op == "activation"] == [4096, 1]


@pytest.mark.parametrize(
    ("size", "step", "cores", "shares"),
    [
        (256, 128, 2, [(0, 128), (128, 256)]), (129, 128, 2, [(0, 128), (128, 129)]), (128, 128, 2, [(0, 0), (0, 128)]),
        (300, 128, 2, [(0, 128), (128, 300)]), (5, 1, 2, [(0, 2), (2, 5)]), (7, 3, 1, [(0, 7)]),
    ],
)  # fmt: skip
def test_a_core_has_a_share_cut_at_whole_tiles(size, step, cores, shares):
    with importing():
        from neff_bench.stage1_generate.kernels.tiles_nki import core_share
    assert [core_share(size, step, core, cores) for core in range(cores)] == shares


@pytest.mark.parametrize(
    ("rows", "itemsize", "budget", "most", "columns"),
    [(128, 2, 1024, 512, 512), (128, 2, 1023, 512, 384), (129, 2, 1024, 512, 256), (128, 4, 1024, 512, 256), (4096, 4, 1024, 512, 128), (1, 1, 65536, 2048, 2048)],
)  # fmt: skip
def test_a_block_has_as_many_columns_as_its_budget_takes(rows, itemsize, budget, most, columns):
    with importing():
        from neff_bench.stage1_generate.kernels.tiles_nki import budget_columns
    assert budget_columns(rows, itemsize, budget, most) == columns
