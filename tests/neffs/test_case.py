import hashlib
from dataclasses import replace

import pytest

from neff_bench.errors import WrongCall
from neff_bench.neffs.case import Case, check_name, check_only, content_key, matches
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
        {"ranks": 2},
        {"variant": "8x4"},
    ],
)
def test_every_field_changes_the_name_and_the_key(change):
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
    with pytest.raises(CaseError) as error:
        replace(MLP, **fields)
    assert says in str(error.value)


def test_a_name_has_every_part_in_its_order():
    one = replace(MLP, dims=(("M", 2),), variant="8x4", ranks=2, flags=("-O1", "-x"), seed=41)
    digest = hashlib.sha256(b"-O1\0-x").hexdigest()[:8]
    assert one.name == f"mlp_nkilib_M2_8x4_bfloat16_trn2_lnc2_ranks2_flags{digest}_seed41"


def test_the_largest_number_of_ranks_is_that_of_a_server():
    assert replace(MLP, ranks=64).ranks == 64 and replace(MLP, lnc=1, ranks=128).ranks == 128
    for implementation in ("nki", "nkilib", "framework"):
        assert replace(MLP, implementation=implementation, ranks=2).ranks == 2
    assert replace(MLP, implementation="xla", ranks=1).ranks == 1


def test_a_name_has_200_characters_at_most():
    assert check_name("a" * 200) == "a" * 200 and check_name("_.+-") == "_.+-"
    for name in ("a" * 201, "", ".a", "-a", "+a", "a b", "a\n", "ä"):
        with pytest.raises(CaseError, match="cannot be the name of a bundle"):
            check_name(name)


def test_one_glob_for_one_name_is_enough():
    assert matches(["mlp_a", "mlp"], ["other", "mlp"]) and matches(["x", "mlp_a"], ["mlp_*"])
    assert not matches(["mlp_a", "mlp"], ["other", "MLP"]) and not matches([], ["*"]) and not matches(["a"], [])


def test_a_glob_that_matches_no_case_is_refused_with_the_nearest_name():
    names = [("mlp_a", "mlp"), ("softmax_a", "softmax")]
    check_only(["mlp", "softmax_*"], names, "2 cases")
    check_only([], names, "2 cases")
    with pytest.raises(WrongCall, match=r"^--only sofmax: matches none of the cases.*softmax.*; there is 2 cases$"):
        check_only(["mlp", "sofmax"], names, "2 cases")
