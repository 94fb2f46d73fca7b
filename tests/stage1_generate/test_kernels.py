"""What must hold for every declared kernel."""

import subprocess
import sys

import numpy as np
import pytest

from neff_bench.neffs.case import IMPLEMENTATIONS, Case
from neff_bench.stage1_generate import kernels
from neff_bench.stage1_generate.jobs.tensors import draw, references
from neff_bench.stage1_generate.kernel import Dims

SMALL = {
    "matmul": {"M": 3, "K": 4, "N": 5},
    "tiled_matmul": {"M": 3, "K": 4, "N": 5, "tile_m": 2, "tile_k": 3, "tile_n": 2},
    "exp": {"M": 3, "N": 5},
    "mlp": {"b": 2, "s": 3, "h": 128, "i": 6},
    "qkv": {"b": 2, "s": 3, "h": 128, "n": 4, "kv": 2, "d": 16},
    "output_projection": {"b": 2, "s": 3, "n": 4, "d": 16, "h": 32},
    "rmsnorm_quant": {"b": 2, "s": 3, "h": 32},
    "attention_cte": {"b": 4, "kv": 2, "s": 5, "d": 16},
    "attention_tkg": {"b": 2, "n": 4, "s": 2, "p": 9, "d": 16},
}


def test_every_kernel_has_a_small_case_here():
    assert set(SMALL) == set(kernels.names())


@pytest.mark.parametrize("name", SMALL)
def test_a_declaration_is_consistent(name):
    kernel = kernels.load(name)
    d = Dims(**SMALL[name])
    assert kernel.name == name
    assert tuple(SMALL[name]) == kernel.dims
    assert set(kernel.implementations) <= set(IMPLEMENTATIONS)
    assert set(kernel.tolerance) >= set(kernel.dtypes)
    for implementation_name, implementation in kernel.implementations.items():
        inputs = kernel.inputs_of(implementation_name, d, kernel.dtypes[0])
        if implementation.parameters is not None:
            assert len(implementation.parameters) == len(inputs)
        assert {tensor.name for tensor in inputs} >= {tensor.name for tensor in kernel.inputs(d, kernel.dtypes[0])}


@pytest.mark.parametrize("name", SMALL)
def test_a_reference_fits_its_declaration_and_is_not_all_zeros(name):
    kernel = kernels.load(name)
    d = Dims(**SMALL[name])
    for dtype in kernel.dtypes:
        case = Case(name, "nki", tuple(SMALL[name].items()), dtype, "trn2", 2)
        for output in references(kernel, case, kernel.outputs(d, dtype), [draw(kernel.inputs(d, dtype), 42)])[0]:
            values = output.astype(np.float32)
            assert np.isfinite(values).all() and values.any()


def arrays_of(name, dims, dtype="bfloat16"):
    kernel = kernels.load(name)
    inputs = draw(kernel.inputs(Dims(**dims), dtype), 42)
    return kernel, {key: array.astype(np.float64) for key, array in inputs.items()}


@pytest.mark.parametrize("s", [5, 100])
def test_both_layouts_of_the_output_projection_are_the_same_product(s):
    dims = {"b": 2, "s": s, "n": 4, "d": 16, "h": 32}
    kernel, t = arrays_of("output_projection", dims)
    (got,) = kernel.reference(Dims(**dims), t)
    weight = t["weight"].reshape(4, 16, 32)
    letters = "dbns" if s == 5 else "bnds"
    want = np.einsum(f"{letters},ndh->bsh", t["attention"], weight)
    np.testing.assert_allclose(got.reshape(want.shape), want)
    assert kernel.implementations["nkilib"].path(Dims(**dims)) == ("TKG" if s == 5 else "CTE")


def test_attention_for_prefill_is_causal_and_shares_keys_between_heads():
    dims = SMALL["attention_cte"]
    kernel, t = arrays_of("attention_cte", dims)
    (got,) = kernel.reference(Dims(**dims), t)
    np.testing.assert_allclose(got[:, 0], t["v"][[0, 0, 1, 1], 0], rtol=1e-6)
    score = t["q"][3, -1] @ t["k"][1] / 4
    weight = np.exp(score) / np.exp(score).sum()
    np.testing.assert_allclose(got[3, -1], weight @ t["v"][1], rtol=1e-5)


def test_attention_for_decode_puts_the_new_tokens_at_the_end_of_the_cache():
    dims = SMALL["attention_tkg"]
    kernel, t = arrays_of("attention_tkg", dims)
    (got,) = kernel.reference(Dims(**dims), t)
    b, n, s = 1, 2, 1
    keys = np.concatenate([t["k_prior"][b, 0][:, :-2], t["k_active"].reshape(16, 2, 2)[:, b]], axis=1)
    values = np.concatenate([t["v_prior"][b, 0][:-2], t["v_active"][b, 0]])
    score = t["q"].reshape(16, 2, 4, 2)[:, b, n, s] @ keys
    np.testing.assert_allclose(got[b, n, :, s], np.exp(score) / np.exp(score).sum() @ values, rtol=1e-6)


def test_quantised_rows_have_the_norm_that_the_scale_says():
    kernel, t = arrays_of("rmsnorm_quant", {"b": 2, "s": 3, "h": 4096})
    (got,) = kernel.reference(Dims(b=2, s=3, h=4096), t)
    assert np.abs(got).max() <= 240
    np.testing.assert_allclose(np.sqrt((got**2).mean(axis=-1)), 240 / 6, rtol=1e-2)


NKILIB_CASES = """
defaults: {target: trn2, lnc: [1, 2], dtype: bfloat16, implementation: nkilib}
cases:
  - {kernel: mlp, b: 1, s: [4, 128], h: 1024, i: 512}
  - {kernel: qkv, b: 1, s: [4, 128], h: 1024, n: 4}
  - {kernel: output_projection, b: 1, s: [4, 256], n: 4, d: 128, h: 1024}
  - {kernel: rmsnorm_quant, b: 1, s: 128, h: 1024}
  - {kernel: attention_cte, b: 4, kv: 1, s: 512}
  - {kernel: attention_tkg, b: 4, n: 2, s: [1, 5], p: 512}
"""


def test_every_kernel_of_nki_library_builds_unmodified(generate, shapes_file, nki_library):
    shapes = shapes_file(NKILIB_CASES)
    done = generate("--shapes", shapes, "--toolchain", "sim", "--nkilib", nki_library)
    assert done.returncode == 0, done.stderr


def test_flops_and_bytes_of_the_mlp():
    kernel, d = kernels.load("mlp"), Dims(b=1, s=128, h=1024, i=512)
    assert kernel.model_flops(d) == 6 * 128 * 1024 * 512
    assert kernel.min_hbm_bytes(d, "bfloat16") == 2 * (2 * 128 * 1024 + 3 * 1024 * 512)


@pytest.mark.parametrize(("s", "path"), [(96, "TKG"), (97, "CTE")])
def test_nkilib_takes_its_token_path_up_to_96_tokens(s, path):
    assert kernels.load("mlp").implementations["nkilib"].path(Dims(b=1, s=s, h=1024, i=512)) == path


def test_declarations_do_not_load_numpy():
    code = "import sys; from stage1_generate import kernels; [kernels.load(n) for n in kernels.names()]"
    assert subprocess.run([sys.executable, "-c", f"{code}; sys.exit('numpy' in sys.modules)"]).returncode == 0
