"""What must hold for every declared kernel."""

import dataclasses
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


def test_rows_are_divided_by_their_own_norm_which_may_be_zero_and_by_the_scale():
    kernel, d = kernels.load("rmsnorm_quant"), Dims(b=1, s=2, h=4)
    rows = np.array([[[0.0] * 4, [2.0, 2.0, -2.0, 2.0]]])
    scale = np.arange(128.0).reshape(128, 1) + 0.5  # each has the same; the first one counts
    (got,) = kernel.reference(
        d, {"hidden": rows, "ln_w": np.array([1.0, 3.0, 1.0, 999.0]), "input_dequant_scale": scale}
    )
    np.testing.assert_allclose(got[0], [[0.0] * 4, [2.0, 6.0, -2.0, 240.0]], rtol=1e-6)
    (got,) = kernel.reference(d, {"hidden": np.full((1, 1, 4), 1e-3), "ln_w": np.ones(4), "input_dequant_scale": scale})
    np.testing.assert_allclose(
        got, np.full((1, 1, 4), 2**0.5), rtol=1e-6
    )  # as large as what keeps it from a division by zero


@pytest.mark.parametrize("name", SMALL)
def test_an_implementation_has_a_route_and_an_entry_of_it(name):
    for how, implementation in kernels.load(name).implementations.items():
        entry = implementation.entry
        module, _, function = (entry if isinstance(entry, str) else entry(Dims(**SMALL[name]))).partition(":")
        assert implementation.route == {"xla": "xla", "neuronxcc": "isa"}.get(how, "nki")
        assert "." in module and function.isidentifier()
        assert implementation.needs == ((how,) if how in ("nkilib", "neuronxcc") else ())


def test_outputs_of_references_have_the_declared_shapes():
    """`references` checks the shapes; the projection has two layouts, of few tokens and of many."""
    for s in (5, 100):
        dims = {"b": 2, "s": s, "n": 4, "d": 16, "h": 32}
        kernel, t = arrays_of("output_projection", dims)
        [out] = kernel.outputs(Dims(**dims), "bfloat16")
        assert kernel.reference(Dims(**dims), t)[0].shape == out.shape == ((2 * s, 32) if s == 5 else (2, s, 32))


FP8 = {"float8_e4m3": (0.13, 0.05), "float8_e5m2": (0.26, 0.1)}
ATTENTION = {"bfloat16": (2e-2, 1e-2), "float16": (5e-3, 2e-3)}
DECLARED = {
    # FLOPs, bytes of inputs and outputs at two bytes each, tolerances that are the kernel's own
    "matmul": (2 * 3 * 4 * 5, 2 * (12 + 20 + 15), FP8),
    "tiled_matmul": (2 * 3 * 4 * 5, 2 * (12 + 20 + 15), FP8),
    "exp": (0, 2 * (15 + 15), {"float32": (1e-3, 1e-3), "bfloat16": (2e-2, 1e-2), "float16": (5e-3, 5e-3)}),
    "mlp": (6 * 2 * 3 * 128 * 6, 2 * (2 * 3 * 128 * 2 + 3 * 128 * 6), {}),
    "qkv": (2 * 2 * 3 * 128 * 8 * 16, 2 * (2 * 3 * 128 + 128 * 128 + 2 * 3 * 128), {}),
    "output_projection": (2 * 2 * 3 * 4 * 16 * 32, 2 * (2 * 3 * 4 * 16 + 4 * 16 * 32 + 2 * 3 * 32), {}),
    "rmsnorm_quant": (0, 2 * (2 * 3 * 32 + 32) + 4 * 128 + 2 * 3 * 32, {"bfloat16": (0.13, 0.5), "float16": (0.13, 0.5)}),
    "attention_cte": (2 * 4 * 16 * 5 * 6, 2 * (4 * 5 * 16 + 2 * 2 * 5 * 16 + 4 * 5 * 16), ATTENTION),
    "attention_tkg": (4 * 2 * 4 * 2 * 9 * 16, 2 * (16 * 16 + 2 * 64 + 2 * 2 * 9 * 16 + 2 * 4 * 16 * 2) + 9 * 2 * 4 * 2,
                      {"bfloat16": (2e-2, 4e-3), "float16": (5e-3, 1e-3)}),
}  # fmt: skip


@pytest.mark.parametrize("name", SMALL)
def test_flops_bytes_and_tolerances_are_those_of_the_mathematics(name):
    kernel, d = kernels.load(name), Dims(**SMALL[name])
    flops, size, tolerance = DECLARED[name]
    assert kernel.model_flops(d) == flops and kernel.min_hbm_bytes(d, "bfloat16") == size
    assert {dtype: kernel.tolerance[dtype] for dtype in tolerance} == tolerance
    assert kernel.check_dims(d) is None
    replaced = dataclasses.replace(kernel, outputs=None)
    assert replaced.min_hbm_bytes(d, "bfloat16") is None


@pytest.mark.parametrize(
    ("name", "key", "scale"),
    [
        ("matmul", "rhs", 4**-0.5), ("matmul", "lhs", 1.0), ("mlp", "gate_w", 128**-0.5), ("mlp", "up_w", 128**-0.5),
        ("mlp", "down_w", 6**-0.5), ("qkv", "fused_qkv_weights", 128**-0.5), ("output_projection", "weight", 64**-0.5),
        ("attention_tkg", "q", 16**-0.5), ("rmsnorm_quant", "input_dequant_scale", 6 / 240),
    ],
)  # fmt: skip
def test_inputs_are_scaled_so_that_outputs_are_near_one(name, key, scale):
    [found] = [one for one in kernels.load(name).inputs(Dims(**SMALL[name]), "bfloat16") if one.name == key]
    assert found.scale == pytest.approx(scale)


@pytest.mark.parametrize(
    ("name", "implementation", "changes", "lnc", "said"),
    [
        ("mlp", "nkilib", {}, 1, None), ("mlp", "nkilib", {"h": 129}, 1, "nki-library's mlp needs h to be a multiple of 128 (h is 129)"),
        ("qkv", "nkilib", {}, 1, None), ("qkv", "nkilib", {"h": 24576}, 1, None),
        ("qkv", "nkilib", {"h": 24704}, 1, "nki-library's qkv needs h to be a multiple of 128, at most 24576 (h is 24704)"),
        ("qkv", "nkilib", {"h": 64}, 1, "nki-library's qkv needs h to be a multiple of 128, at most 24576 (h is 64)"),
        ("qkv", "nkilib", {"n": 252}, 1, None), ("qkv", "nkilib", {"n": 253}, 1, "nki-library's qkv needs (n + 2 kv) d to be at most 4096 (it is 4112)"),
        ("output_projection", "nkilib", {"d": 128, "h": 512}, 1, None), ("output_projection", "nkilib", {"d": 129, "h": 512}, 1, "nki-library's output projection needs d to be at most 128 (d is 129)"),
        ("output_projection", "nkilib", {"h": 1024}, 2, None),
        ("output_projection", "nkilib", {"h": 512}, 2, "nki-library's output_projection_tkg needs h to be a multiple of 1024 at LNC 2 (h is 512)"),
        ("output_projection", "nkilib", {"s": 65, "h": 7}, 1, None), ("output_projection", "nkilib", {"s": 64, "h": 1536}, 1, None),
        ("output_projection", "nkilib", {"s": 65, "h": 7}, 2, "nki-library's output_projection_cte needs h to be a multiple of the LNC 2 (h is 7)"),
    ],
)  # fmt: skip
def test_what_nki_library_does_not_take_is_refused_in_words(name, implementation, changes, lnc, said):
    refuses = kernels.load(name).implementations[implementation].refuses
    assert refuses(Dims(**{**SMALL[name], **changes}), lnc) == said


@pytest.mark.parametrize(
    ("name", "changes", "said"),
    [
        ("attention_cte", {"b": 5}, "b must be a multiple of kv, found b 5 and kv 2"),
        ("attention_tkg", {"p": 2}, "p must be more than s, found p 2 and s 2"), ("attention_tkg", {"p": 3}, None),
        ("tiled_matmul", {"tile_m": 128, "tile_k": 128, "tile_n": 512}, None),
        ("tiled_matmul", {"tile_m": 129}, "tile_m is 129; one matmul instruction takes at most 128"),
        ("tiled_matmul", {"tile_k": 129}, "tile_k is 129; one matmul instruction takes at most 128"),
        ("tiled_matmul", {"tile_n": 513}, "tile_n is 513; one matmul instruction takes at most 512"),
    ],
)  # fmt: skip
def test_dimensions_that_make_no_sense_are_named(name, changes, said):
    assert kernels.load(name).check_dims(Dims(**{**SMALL[name], **changes})) == said


@pytest.mark.parametrize(
    ("name", "changes", "path"),
    [
        ("mlp", {"b": 2, "s": 48}, "TKG"), ("mlp", {"b": 1, "s": 97}, "CTE"), ("qkv", {"s": 96}, "TKG"), ("qkv", {"s": 97}, "CTE"),
        ("output_projection", {"s": 64}, "TKG"), ("output_projection", {"s": 65}, "CTE"), ("attention_cte", {}, "CTE"),
        ("attention_tkg", {}, "TKG"), ("rmsnorm_quant", {}, None),
    ],
)  # fmt: skip
def test_the_number_of_tokens_chooses_the_code_path(name, changes, path):
    d = Dims(**{**SMALL[name], **changes})
    implementation = kernels.load(name).implementations["nkilib"]
    assert implementation.path(d) == path
    if name == "output_projection":
        assert ("_tkg" in implementation.entry(d)) == (path == "TKG")


@pytest.mark.parametrize(
    ("name", "implementation", "arguments"),
    [
        ("attention_cte", "nkilib", {"scale": 0.25, "causal_mask": True, "tp_q": True, "tp_k": False, "tp_out": False}),
        ("mlp", "neuronxcc", {"fused_rmsnorm": False, "eps": 1e-6, "kernel_name": "MLP"}),
        ("tiled_matmul", "nki", {"tile_m": 2, "tile_k": 3, "tile_n": 2}), ("mlp", "nki", {}),
    ],
)  # fmt: skip
def test_further_arguments_follow_from_the_dimensions(name, implementation, arguments):
    assert kernels.load(name).implementations[implementation].arguments(Dims(**SMALL[name])) == arguments


def test_dimensions_that_may_be_left_out():
    found = {name: dict(kernels.load(name).defaults) for name in SMALL}
    assert {name: one for name, one in found.items() if one} == {
        "qkv": {"kv": 1, "d": 128}, "attention_cte": {"d": 128}, "attention_tkg": {"s": 1, "d": 128},
        "tiled_matmul": {"tile_m": 64, "tile_k": 64, "tile_n": 64},
    }  # fmt: skip


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
