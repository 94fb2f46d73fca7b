"""A NEFF that is not what its case says is told with both values."""

from dataclasses import replace

import pytest

from neff_bench.neffs.agreement import disagreement, same_type
from neff_bench.neffs.bundle import Manifest, TensorFile
from neff_bench.neffs.case import Case
from neff_bench.parsers.neff import Neff, TensorInfo

ACC, X = TensorInfo("acc.must_alias_input", (2, 4), "float32", 32), TensorInfo("x", (2, 4), "bfloat16", 16)
NEFF = Neff(
    path="file.neff", bytes=1, package_version=2, version="2.0", name="", uuid="", hash="", feature_bits=0, target="trn2",
    architecture="sunda", lnc=1, ranks=None, compiler_version=None, inputs=(ACC, X), outputs=(replace(ACC, name="acc"),),
    engines={}, queues=(), members=(), hlo_mac_count=None, simulated=False,
)  # fmt: skip


def declared(tensor):
    return TensorFile(tensor.name, tensor.shape, tensor.dtype, tensor.bytes, None, None)


MANIFEST = Manifest(
    case=Case("k", "nki", (), "float32", "trn2", 1), key="", status="built", toolchain="neuron", created="",
    inputs=(declared(ACC), declared(X)), outputs=(declared(replace(ACC, name="acc")),),
)  # fmt: skip


def test_a_neff_that_is_what_its_case_says_is_taken():
    assert disagreement(MANIFEST, NEFF) is None
    for changes in ({"target": "any", "ranks": 1}, {"target": None, "ranks": 0}, {"target": "trn1/trn2"}):
        assert disagreement(MANIFEST, replace(NEFF, **changes)) is None
    unknown = (ACC, replace(X, bytes=None, shape=(), dtype="void16"))
    assert disagreement(MANIFEST, replace(NEFF, inputs=unknown)) is None
    of_four = replace(MANIFEST, case=replace(MANIFEST.case, ranks=4))
    assert disagreement(of_four, replace(NEFF, ranks=4)) is None


def test_what_comes_first_is_told_and_all_is_looked_at():
    wrong = replace(NEFF, target="trn1", lnc=2, ranks=4, inputs=(ACC,), outputs=())
    said = []
    for good in ({"target": "trn2"}, {"lnc": 1}, {"ranks": 1}, {"inputs": NEFF.inputs}, {"outputs": NEFF.outputs}):
        said.append(disagreement(MANIFEST, wrong))
        wrong = replace(wrong, **good)
    assert [one.split(",")[0] for one in said] == [
        "the NEFF is for trn1", "the NEFF has LNC 2", "the NEFF is for 4 ranks", "the NEFF has 1 inputs", "the NEFF has 0 outputs",
    ]  # fmt: skip
    assert disagreement(MANIFEST, wrong) is None


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"target": "trn1/inf2"}, "the NEFF is for trn1/inf2, its case for trn2"),
        ({"lnc": 2}, "the NEFF has LNC 2, its case LNC 1"),
        ({"ranks": 4}, "the NEFF is for 4 ranks, its case for 1"),
        ({"inputs": (X, ACC)}, "the NEFF has the inputs x, acc.must_alias_input; its case acc.must_alias_input, x"),
        ({"inputs": (ACC,)}, "the NEFF has 1 inputs, its case 2"),
        ({"inputs": (ACC, replace(X, bytes=32))}, "input x has 32 bytes in the NEFF, 16 by its declaration"),
        ({"inputs": (ACC, replace(X, shape=(4, 2)))}, "input x has the shape 4x2 in the NEFF, 2x4 by its declaration"),
        ({"inputs": (ACC, replace(X, shape=(8,)))}, "input x has the shape 8 in the NEFF, 2x4 by its declaration"),
        ({"inputs": (ACC, replace(X, dtype="float16"))}, "input x is float16 in the NEFF, bfloat16 by its declaration"),
        ({"outputs": (replace(X, name="acc"),)}, "output acc has 16 bytes in the NEFF, 32 by its declaration"),
    ],
)
def test_what_differs_is_told_with_both_values(changes, says):
    assert disagreement(MANIFEST, replace(NEFF, **changes)) == says


@pytest.mark.parametrize(
    ("declared", "in_neff", "same"),
    [
        ("float8_e4m3", "uint8", True),
        ("float8_e4m3fn_x4", "uint32", True),
        ("float8_e4m3", "void8", True),
        ("float8_e4m3", "uint16", False),
        ("bfloat16", "uint16", False),
        ("int32", "uint32", False),
        ("float32", "float32", True),
        ("float8_e4m3", "int8", True),
        ("float8_e4m3", "float8_e5m2", False),
        ("float4_e2m1fn_x4", "uint16", True),
        ("float4_e2m1fn_x4", "uint8", False),
        ("tfloat32", "float32", True),
        ("float32", "tfloat32", False),
        ("uint8", "bool", True),
        ("int8", "bool", False),
    ],
)
def test_a_neff_may_name_an_integer_or_an_unknown_type_where_numpy_has_none(declared, in_neff, same):
    assert same_type(declared, in_neff) is same


def test_a_scalar_is_declared_without_a_shape_and_has_one_element_in_a_neff():
    scalar = TensorInfo("s", (1,), "float32", 4)
    manifest = replace(MANIFEST, inputs=(declared(replace(scalar, shape=())),))
    assert disagreement(manifest, replace(NEFF, inputs=(scalar,))) is None
    wrong = disagreement(manifest, replace(NEFF, inputs=(replace(scalar, shape=(2,)),)))
    assert wrong == "input s has the shape 2 in the NEFF, of a scalar by its declaration"


@pytest.mark.parametrize(
    ("inputs", "outputs", "writes"),
    [
        ((X,), (ACC,), False),
        ((X,), (X,), True),
        ((ACC,), (), True),
        ((X,), (replace(X, name="x.must_alias_input"),), True),
        ((), (X,), False),
    ],
)
def test_a_kernel_that_returns_an_input_or_aliases_one_writes_into_it(inputs, outputs, writes):
    manifest = replace(MANIFEST, inputs=tuple(map(declared, inputs)), outputs=tuple(map(declared, outputs)))
    assert manifest.writes_inputs == writes
