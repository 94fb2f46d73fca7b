import dataclasses
import hashlib

import numpy as np
import pytest

from neff_bench.neffs.case import Case
from neff_bench.neffs.dtypes import numpy_dtype, values_of
from neff_bench.stage1_generate import kernels
from neff_bench.stage1_generate.errors import BuildError
from neff_bench.stage1_generate.jobs.tensors import (
    DRAWN_ELEMENTS,
    default_tolerance,
    draw,
    references,
    write_array,
    write_rank_inputs,
)
from neff_bench.stage1_generate.kernel import Dims, Tensor


def test_the_same_seed_draws_the_same_inputs():
    tensors = (Tensor("a", (4, 8), "bfloat16"), Tensor("b", (4, 8), "bfloat16"))
    first, again, other = draw(tensors, 42), draw(tensors, 42), draw(tensors, 43)
    assert first["a"].tobytes() == again["a"].tobytes() != other["a"].tobytes()
    assert first["a"].tobytes() != first["b"].tobytes()
    assert first["a"].dtype == numpy_dtype("bfloat16")


def test_scale_constants_and_integers():
    drawn = draw(
        (
            Tensor("normal", (200, 200), "float32", scale=0.1),
            Tensor("ones", (3,), "float16", values="constant"),
            Tensor("index", (1000,), "int32", scale=7, values="integers"),
        ),
        0,
    )
    assert drawn["normal"].std() == pytest.approx(0.1, rel=0.02)
    assert drawn["ones"].tolist() == [1, 1, 1]
    assert set(drawn["index"].tolist()) == set(range(7))


@pytest.mark.parametrize("values", ["normal", "uniform", "constant"])
def test_four_values_are_drawn_for_each_packed_element(values):
    packed, plain = (
        Tensor("x", (5, 9), "float8_e4m3fn_x4", 1.5, values),
        Tensor("x", (5, 36), "float8_e4m3fn", 1.5, values),
    )
    found, expected = draw([packed], 3)["x"], draw([plain], 3)["x"]
    assert found.shape == (5, 9) and found.tobytes() == expected.tobytes()


def test_a_tensor_on_disk_is_raw_little_endian_c_order(tmp_path):
    array = np.arange(6, dtype=np.float32).reshape(2, 3).T
    written = write_array(tmp_path, "inp", "lhs", "float32", array)
    data = (tmp_path / "inp-lhs-000.bin").read_bytes()
    assert np.frombuffer(data, "<f4").tolist() == [0, 3, 1, 4, 2, 5]
    assert (written.shape, written.bytes, written.file) == ((3, 2), 24, "inp-lhs-000.bin")
    assert written.sha256 == hashlib.sha256(data).hexdigest()


def case(kernel, dtype="float32", **dims):
    return Case(kernel, "nki", tuple(dims.items()), dtype, "trn2", 2)


def test_the_mlp_reference_is_a_gated_silu_mlp():
    dims = {"b": 2, "s": 64, "h": 128, "i": 256}
    kernel = kernels.load("mlp")
    arrays = draw(kernel.inputs(Dims(**dims), "float32"), 42)
    ((got,),) = references(kernel, case("mlp", **dims), kernel.outputs(Dims(**dims), "float32"), [arrays])
    x, gate, up, down = (array.astype(np.float64) for array in arrays.values())
    want = np.einsum("bsi,ih->bsh", (x @ gate) / (1 + np.exp(-(x @ gate))) * (x @ up), down)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
    assert got.std() == pytest.approx(0.6, rel=0.1)  # what the absolute tolerances are meant for


def test_a_reference_is_computed_from_the_rounded_inputs_and_rounded_once():
    kernel = kernels.load("matmul")
    dims = Dims(M=8, K=64, N=8)
    arrays = draw(kernel.inputs(dims, "bfloat16"), 42)
    ((got,),) = references(kernel, case("matmul", "bfloat16", **vars(dims)), kernel.outputs(dims, "bfloat16"), [arrays])
    want = arrays["lhs"].astype(np.float32) @ arrays["rhs"].astype(np.float32)
    assert got.tobytes() == want.astype(numpy_dtype("bfloat16")).tobytes()


def test_a_reference_of_the_wrong_shape_is_an_error():
    from dataclasses import replace

    kernel = replace(kernels.load("matmul"), reference=lambda d, t: (t["lhs"],))
    dims = Dims(M=8, K=64, N=8)
    arrays = draw(kernel.inputs(dims, "float32"), 42)
    with pytest.raises(BuildError, match="has shape"):
        references(kernel, case("matmul", **vars(dims)), kernel.outputs(dims, "float32"), [arrays])


def test_a_default_tolerance_follows_the_element_types_and_the_size_of_the_outputs():
    arrays = [np.full(4, 100.0), np.full(4, -50.0), np.zeros(4)]
    assert default_tolerance(["float32", "bfloat16"], arrays) == (2e-2, pytest.approx(2e-2 * 50))
    assert default_tolerance(["int32"], arrays) == (0.0, 0.0)
    assert default_tolerance(["float32"], [np.zeros(4)]) == (1e-3, 1e-3)


def test_a_reference_gets_float32_and_integers_as_they_are():
    from dataclasses import replace

    one = Case("matmul", "nki", (("M", 4), ("K", 4), ("N", 4)), "bfloat16", "trn2", 1)
    kernel, got = kernels.load("matmul"), {}

    def reference(dims, tensors):
        got.update({name: array.dtype for name, array in tensors.items()})
        return kernel.reference(dims, tensors)

    inputs = draw(kernel.inputs(Dims(M=4, K=4, N=4), "bfloat16"), 0) | {"index": np.zeros(4, np.uint8)}
    outputs = kernel.outputs(Dims(M=4, K=4, N=4), "bfloat16")
    references(replace(kernel, reference=reference), one, outputs, [inputs])
    assert got == {"lhs": np.float32, "rhs": np.float32, "index": np.uint8}


def test_a_reference_sees_and_returns_the_values_of_packed_elements():
    dims = {"M": 4, "K": 4, "N": 4}
    kernel = dataclasses.replace(kernels.load("matmul"), reference=lambda d, t: (2 * t["x"],))
    x, out = Tensor("x", (4, 3), "float4_e2m1fn_x4"), Tensor("out", (4, 3), "float8_e5m2_x4")
    arrays = draw([x], 0)
    ((got,),) = references(kernel, case("matmul", **dims), [out], [arrays])
    assert got.dtype == numpy_dtype("float8_e5m2_x4")
    np.testing.assert_array_equal(values_of(got), 2 * values_of(arrays["x"]))
    kernel = dataclasses.replace(kernel, reference=lambda d, t: (t["x"][:, ::4],))
    with pytest.raises(BuildError, match=r"has shape \(4, 3\), the kernel's output \(4, 12\)"):
        references(kernel, case("matmul", **dims), [out], [arrays])


def test_each_rank_draws_values_of_its_own_and_rank_0_those_of_a_single_one():
    tensors = (Tensor("x", (4,), "float32"),)
    drawn = [draw(tensors, 42, rank)["x"] for rank in range(3)]
    assert (drawn[0] == draw(tensors, 42)["x"]).all()
    assert len({array.tobytes() for array in drawn}) == 3


def test_a_reference_of_ranks_gets_and_gives_them_as_the_first_dimension():
    from dataclasses import replace

    kernel = replace(kernels.load("matmul"), reference=lambda d, t: (t["x"] - t["x"].sum(axis=0),))
    several, output = replace(case("matmul", M=1, K=1, N=2), ranks=3), (Tensor("out", (2,), "float32"),)
    inputs = [{"x": np.full(2, rank, np.float32)} for rank in range(3)]
    assert [array.tolist() for (array,) in references(kernel, several, output, inputs)] == [
        [-3, -3],
        [-2, -2],
        [-1, -1],
    ]
    with pytest.raises(BuildError, match=r"shape \(2,\), the kernel's output \(2,\) on each of 3 ranks"):
        references(replace(kernel, reference=lambda d, t: (t["x"][0],)), several, output, inputs)


def test_the_inputs_of_ranks_are_named_as_seen_from_a_run(tmp_path):
    files = [
        [write_array(tmp_path, "inp", name, "float32", np.ones(2, np.float32), rank) for name in ("x", "y")]
        for rank in range(2)
    ]
    name = write_rank_inputs(tmp_path, files)
    assert name == "2rank_inputs.txt"
    assert (tmp_path / name).read_text().splitlines() == [
        "x ../../inp-x-rank0.bin y ../../inp-y-rank0.bin",
        "x ../../inp-x-rank1.bin y ../../inp-y-rank1.bin",
    ]
    assert (tmp_path / "inp-x-rank1.bin").stat().st_size == 8


@pytest.mark.parametrize("values", ["normal", "uniform"])
def test_values_drawn_in_blocks_are_those_of_one_call(values, monkeypatch):
    monkeypatch.setattr("neff_bench.stage1_generate.jobs.tensors.BLOCK_ELEMENTS", 7)
    drawn = draw([Tensor(name, (5, 9), "float16", values=values, scale=0.3) for name in "ab"], seed=3)
    generator = np.random.default_rng(3)
    for name in "ab":
        one = generator.standard_normal if values == "normal" else generator.random
        expected = (one((5, 9), dtype=np.float32) * np.float32(0.3)).astype(np.float16)
        assert drawn[name].tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float8_e4m3"])
def test_a_large_tensor_of_two_bytes_picks_from_the_values_that_were_drawn(dtype, monkeypatch):
    monkeypatch.setattr("neff_bench.stage1_generate.jobs.tensors.BLOCK_ELEMENTS", 5000)
    large, drawn = 300_000, DRAWN_ELEMENTS
    got = draw([Tensor("x", (large,), dtype), Tensor("y", (large,), dtype)], 7)
    whole = got["x"].astype(np.float32)
    np.testing.assert_array_equal(whole[:drawn], draw([Tensor("x", (drawn,), dtype)], 7)["x"].astype(np.float32))
    assert set(whole[drawn:]) <= set(whole[:drawn])
    assert abs(whole[drawn:].mean()) < 0.02 and whole[drawn:].std() == pytest.approx(1, rel=0.02)
    assert abs(np.corrcoef(whole[drawn : 2 * drawn], whole[2 * drawn : 3 * drawn])[0, 1]) < 0.02
    assert not np.array_equal(whole, got["y"].astype(np.float32))


def test_a_large_tensor_of_float32_is_drawn_whole():
    assert len(set(draw([Tensor("x", (100_000,), "float32")], 7)["x"].tolist())) > 99_000
