"""Graphs that jax writes, lowered and executed, against jax itself in float32."""

import math

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

from neff_bench.simulator.compiler.program.capacity import memory_peak
from neff_bench.simulator.errors import CompileError
from neff_bench.simulator.execution.execute import execute
from neff_bench.simulator.hlo.lower import lower_hlo
from neff_bench.stage1_generate.kernels.matmul_xla import matmul
from neff_bench.stage1_generate.kernels.mlp_xla import mlp
from neff_bench.stage1_generate.toolchains.xla import trace

TOLERANCE = {"float32": 2e-5, "bfloat16": 2e-2, "float16": 3e-3}


def lowered(function, shapes, dtype="float32", lnc=2, target="trn2"):
    return lower_hlo(trace(function, [(shape, dtype) for shape in shapes]), target, lnc)


def check(function, shapes, dtype="float32", lnc=2):
    random = np.random.default_rng(0)
    numpy_dtype = np.dtype(getattr(ml_dtypes, dtype, None) or dtype)
    inputs = [(random.standard_normal(s) * (s[-2] ** -0.5 if len(s) > 1 else 1)).astype(numpy_dtype) for s in shapes]
    program = lowered(function, shapes, dtype, lnc)
    outputs = execute(program, {f"input{n}": x.reshape(x.shape or (1,)) for n, x in enumerate(inputs)})
    expected = function(*[jnp.asarray(x.astype(np.float32)) for x in inputs])
    expected = expected if isinstance(expected, tuple) else (expected,)
    assert len(outputs) == len(expected)
    for n, reference in enumerate(expected):
        found = outputs[f"output{n}"].astype(np.float32).reshape(reference.shape)
        error = np.abs(found - reference).max() / np.abs(reference).max()
        assert error < TOLERANCE[dtype]
    return program


def hbm_bytes(program, side):
    total = 0
    for instruction in (i for core in program.cores for i in core):
        for access in getattr(instruction, side).values():
            if program.buffers[access.buffer].memory == "hbm" and instruction.op == "dma_copy":
                total += math.prod(access.shape) * {"bfloat16": 2, "float32": 4}[access.dtype]
    return total


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("lnc", [1, 2])
@pytest.mark.parametrize("shape", [(128, 256, 512), (129, 130, 513), (1, 3, 1), (300, 96, 40)])
def test_matmul(shape, lnc, dtype):
    m, k, n = shape
    program = check(matmul, [(m, k), (k, n)], dtype, lnc)
    assert program.model_flops == 2 * m * k * n


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("lnc", [1, 2])
def test_mlp(lnc, dtype):
    check(mlp, [(1, 128, 256), (256, 512), (256, 512), (512, 256)], dtype, lnc)
    check(mlp, [(2, 77, 140), (140, 190), (140, 190), (190, 140)], dtype, lnc)


def test_mlp_of_few_rows_shares_heavy_weights_by_columns_between_the_cores():
    shapes = [(1, 16, 1024), (1024, 1024), (1024, 1024), (1024, 1024)]
    program = check(mlp, shapes, "bfloat16")
    assert any(i.op == "core_barrier" for i in program.cores[0])
    weights = 3 * 1024 * 1024 * 2
    assert weights < hbm_bytes(program, "reads") < 1.1 * weights


def test_a_contraction_longer_than_sbuf_holds():
    check(matmul, [(40, 17000), (17000, 130)])


def attention(q, k, v):
    scores = jnp.einsum("bqd,bkd->bqk", q, k) * q.shape[-1] ** -0.5
    scores = jnp.where(jnp.arange(q.shape[1])[:, None] >= jnp.arange(k.shape[1])[None, :], scores, -1e4)
    return jnp.einsum("bqk,bkd->bqd", jax.nn.softmax(scores, -1), v)


def block(x, w, a, b):
    h = x + x @ w
    return h + jax.nn.silu(h * jax.lax.rsqrt(jnp.mean(h * h, -1, keepdims=True) + 1e-6) @ a) @ b


GRAPHS = {
    "softmax": (lambda x: jax.nn.softmax(x, -1), [(200, 300)]),
    "softmax of a long row": (lambda x: jax.nn.softmax(x, -1), [(3, 5000)]),
    "softmax of a row that SBUF does not hold": (lambda x: jax.nn.softmax(x, -1), [(2, 60_000)]),
    "softmax of a product": (lambda x, w: jax.nn.softmax(x @ w, -1), [(64, 128), (128, 1024)]),
    "rms norm": (lambda x, w: x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True)) * w, [(2, 90, 256), (256,)]),
    "attention": (attention, [(2, 130, 64)] * 3),
    "transformer block": (block, [(260, 128), (128, 128), (128, 256), (256, 128)]),
    "gelu with bias": (lambda x, w, b: jax.nn.gelu(x @ w + b), [(130, 256), (256, 700), (700,)]),
    "erf": (lambda x, w: jax.nn.gelu(x @ w, approximate=False), [(64, 128), (128, 256)]),
    "weights transposed": (lambda x, w: x @ w.T, [(130, 256), (300, 256)]),
    "rows transposed": (lambda x, w: x.T @ w, [(256, 130), (256, 300)]),
    "heads": (lambda x, w: jnp.einsum("bsh,hnd->bnsd", x, w), [(2, 64, 128), (128, 4, 32)]),
    "product of a product": (lambda x, a, b: x @ (a @ b), [(130, 70), (70, 200), (200, 90)]),
    "transpose": (lambda x: x.T + 1, [(130, 70)]),
    "permutation": (lambda x: jnp.transpose(x, (1, 0, 2)) * 2, [(5, 6, 7)]),
    "sum over rows": (lambda x: x.sum(0), [(130, 70)]),
    "sum of all": (lambda x: x.sum(), [(130, 70)]),
    "two results": (lambda x, w: (x @ w, jnp.tanh(x @ w)), [(130, 70), (70, 200)]),
    "an input as result": (lambda x: x, [(130, 70)]),
    "vectors": (lambda x, y: x * y + 1, [(1000,), (1000,)]),
    "a scalar input": (lambda x, s: x * s, [(130, 70), ()]),
    "select": (lambda x, y: jnp.where(x > y, x, y * 2), [(130, 70), (130, 70)]),
    "clip": (lambda x: jnp.clip(x, -0.1, 0.05), [(130, 70)]),
    "slices": (
        lambda x: jax.lax.slice(x, (2, 0), (100, 70), (3, 2)) + jax.lax.slice(x, (2, 1), (100, 70), (3, 2)),
        [(130, 70)],
    ),
    "concatenation": (lambda x, y: jnp.concatenate([x, y * 2, x[:, :5]], axis=1), [(130, 70), (130, 33)]),
    "concatenation of rows": (lambda x, w: jnp.concatenate([x, x @ w], axis=0) + 1, [(130, 70), (70, 70)]),
    "rotation": (lambda x: jnp.concatenate([-x[..., 32:], x[..., :32]], -1) * x, [(2, 5, 64)]),
    "signs": (lambda x: -jnp.abs(x) + jnp.square(x) - jnp.maximum(x, 0) / 3, [(130, 70)]),
    "exp of a small matrix": (jnp.exp, [(5, 5)]),
}


@pytest.mark.parametrize("lnc", [1, 2])
@pytest.mark.parametrize("name", GRAPHS)
def test_graph(name, lnc):
    check(*GRAPHS[name], lnc=lnc)


def test_each_operand_of_a_product_that_fits_is_read_once_per_core():
    program = lowered(matmul, [(512, 512), (512, 1024)], "bfloat16")
    identity = 2 * 128 * 128
    assert hbm_bytes(program, "reads") == 2 * (512 * 512 + 2 * 512 * 1024 + identity)
    assert hbm_bytes(program, "writes") == 2 * 512 * 1024


@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        (mlp, [(1, 512, 2048), (2048, 4096), (2048, 4096), (4096, 2048)]),
        (matmul, [(2048, 4096), (4096, 1024)]),
        (matmul, [(128, 20000), (20000, 128)]),
    ],
)
def test_chip_memory_is_respected(function, shapes):
    for peak in memory_peak(lowered(function, shapes, "bfloat16")):
        assert 0 < peak.used_bytes <= peak.capacity_bytes


def test_each_instruction_names_its_hlo_instruction():
    program = lowered(lambda a, b: jnp.tanh(a @ b), [(128, 128), (128, 128)])
    names = {i.op: program.sources[i.source] for i in program.cores[0]}
    assert names["nc_matmul"].endswith("dot(%a.1, %b.1)") and names["activation"].startswith("%tanh")
    assert all(text == "" or text.startswith("%") for text in program.sources)
    assert {buffer.source for buffer in program.buffers} == {0}


def test_transposes_multiply_with_an_identity_that_each_core_loads_once():
    program = lowered(matmul, [(256, 512), (512, 512)], "bfloat16")
    (weight,) = [n for n, buffer in enumerate(program.buffers) if buffer.kind == "constant"]
    for core in program.cores:
        assert sum(access.buffer == weight for i in core for access in i.reads.values()) == 1
        transposes = [i for i in core if i.attributes.get("is_transpose")]
        assert len(transposes) == 4 and len({i.reads["moving"].buffer for i in transposes}) == 1
        # 8 transposes of 256 bytes fit into a bank of 2 KiB: they leave it together.
        assert sum(i.op == "tensor_copy" and i.engine == "scalar" for i in core) == 2


def test_only_what_public_profiles_show_is_called_exact():
    shapes = [(128, 128), (128, 512)]
    assert lowered(matmul, shapes, "float16", 1, "inf2").lowered_as_known
    assert not lowered(matmul, shapes, "float16", 1, "trn2").lowered_as_known
    assert not lowered(matmul, shapes, "float32", 1, "inf2").lowered_as_known
    assert not lowered(matmul, [(256, 128), (128, 512)], "float16", 1, "inf2").lowered_as_known
    assert not lowered(lambda a, b: jnp.tanh(a @ b), shapes, "float16", 1, "inf2").lowered_as_known


@pytest.mark.parametrize(
    ("function", "shapes", "text"),
    [
        (lambda x: jnp.sort(x), [(8, 8)], "HLO sort"),
        (lambda x: jnp.cumprod(x), [(8,)], "HLO "),
        (lambda x: jnp.prod(x, axis=1), [(8, 8)], "HLO reduce .* multiply"),
    ],
)
def test_what_is_not_modelled_is_named(function, shapes, text):
    with pytest.raises(CompileError, match=text):
        lowered(function, shapes)


def test_bytes_that_are_no_module_are_named():
    with pytest.raises(CompileError, match="not an HLO module"):
        lower_hlo(b"\xff\xff", "trn2", 2)
