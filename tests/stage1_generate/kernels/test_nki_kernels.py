"""Our NKI kernels, recorded and executed, against numpy: edge tiles, both core counts, every block path."""

import numpy as np
import pytest

from neff_bench.simulator.execution.execute import execute
from neff_bench.simulator.nki.load import trace_kernel
from neff_bench.simulator.nki.spec import InputSpec, KernelSpec
from neff_bench.simulator.numpy_dtypes import numpy_dtype


def run(entry, inputs, dtype, lnc, target="trn2"):
    """The kernel's output in float32, and its program."""
    rounded = {name: value.astype(numpy_dtype(dtype)) for name, value in inputs.items()}
    spec = KernelSpec(
        entry=f"neff_bench.stage1_generate.kernels.{entry}",
        path=(),
        inputs=tuple(InputSpec(name, value.shape, dtype) for name, value in inputs.items()),
        arguments={},
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
