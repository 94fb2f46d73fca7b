import pytest

from neff_bench.neffs.case import Case, content_key
from neff_bench.neffs.errors import CaseError

MLP = Case("mlp", "nkilib", (("b", 1), ("s", 128), ("h", 1024), ("i", 512)), "bfloat16", "trn2", 2)


def test_the_name_is_readable():
    assert MLP.name == "mlp_nkilib_b1_s128_h1024_i512_bfloat16_trn2_lnc2"
    assert MLP.dim("h") == 1024


@pytest.mark.parametrize(
    "change",
    [
        {"implementation": "nki"},
        {"dims": (("b", 1), ("s", 128), ("h", 1024), ("i", 256))},
        {"dtype": "float16"},
        {"target": "trn3"},
        {"lnc": 1},
        {"flags": ("-O1",)},
        {"seed": 7},
        {"ranks": 4},
    ],
)
def test_every_field_changes_the_name_and_the_key(change):
    from dataclasses import replace

    other = replace(MLP, **change)
    assert other.name != MLP.name
    assert content_key(other, {}) != content_key(MLP, {})


def test_the_key_follows_what_the_result_depends_on():
    assert content_key(MLP, {"compiler": "1"}) != content_key(MLP, {"compiler": "2"})
    assert content_key(MLP, {"a": "1", "b": "2"}) == content_key(MLP, {"b": "2", "a": "1"})


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"target": "trn9"}, "unknown target 'trn9'"),
        ({"target": "trn1", "lnc": 2}, "lnc 2 does not exist on trn1 (allowed: 1)"),
        ({"ranks": 65}, "65 ranks at lnc 2 do not fit on a server of trn2 (1 to 64)"),
        ({"ranks": 0}, "(1 to 64)"),
        ({"ranks": 2, "implementation": "xla"}, "only nki or nkilib or framework kernels communicate here"),
        ({"kernel": "../mlp"}, "cannot be the name"),
        ({"kernel": "--mlp"}, "cannot be the name"),
    ],
)
def test_an_impossible_case_is_refused(fields, says):
    from dataclasses import replace

    with pytest.raises(CaseError) as error:
        replace(MLP, **fields)
    assert says in str(error.value)
