"""What a kernel of the user's own is called, and its case."""

import pytest

from neff_bench.neffs.case import Case
from neff_bench.neffs.errors import CaseError
from neff_bench.neffs.intake import (
    LNC_ENVIRONMENT,
    check_own,
    default_lnc,
    kernel_name,
    own_case,
    shapes_in_words,
    variant_of,
)


@pytest.mark.parametrize(
    ("entry", "name"),
    [
        ("folder/my_kernels.py:rmsnorm", "my_kernels.rmsnorm"),
        ("package.my_kernels:rmsnorm", "my_kernels.rmsnorm"),
        ("my_kernels:rmsnorm", "my_kernels.rmsnorm"),
        ("rmsnorm", "rmsnorm"),
        ("my kernels.py:f@g", "my-kernels.f-g"),
        (".hidden.py:f", "hidden.f"),
    ],
)
def test_a_kernel_is_called_by_its_file_and_its_function(entry, name):
    assert kernel_name(entry) == name


def test_a_function_of_the_users_own_is_one_of_nki_or_of_jax():
    assert [check_own(one) for one in ("nki", "xla")] == ["nki", "xla"]
    with pytest.raises(CaseError, match="^implementation 'torch': expected nki, or xla for a jax function$"):
        check_own("torch")


@pytest.mark.parametrize(
    ("said", "target", "lnc"),
    [(None, "trn2", 1), ("2", "trn2", 2), ("1", "trn2", 1), ("2", "trn1", 1), ("x", "trn2", 1)],
)
def test_a_launch_without_a_grid_has_the_lnc_of_the_host_where_the_chip_has_it(monkeypatch, said, target, lnc):
    monkeypatch.delenv(LNC_ENVIRONMENT, raising=False)
    if said:
        monkeypatch.setenv(LNC_ENVIRONMENT, said)
    assert default_lnc(target) == lnc
    assert own_case("k", [], target, None) == Case("k", "nki", (), "float32", target, lnc, variant="")


@pytest.mark.parametrize(
    ("shapes", "words", "variant"),
    [
        ([], None, ""),
        ([(128, 512)], "128x512", "128x512"),
        ([(128, 512), (128, 512), (512,)], "2*128x512 512", "128x512-128x512-512"),
        ([(2,), (3,), (2,)], "2 3 2", "2-3-2"),
    ],
)
def test_equal_neighbours_are_counted_in_words(shapes, words, variant):
    assert shapes_in_words(shapes) == words and variant_of(shapes) == variant


def test_a_long_variant_is_a_hash():
    assert variant_of([(1,)] * 40) == "1" + "-1" * 39 and len(variant_of([(1,)] * 41)) == 8
    assert len(variant_of([(12,), *[(1,)] * 39])) == 80 and len(variant_of([(123,), *[(1,)] * 39])) == 8


def test_a_case_has_the_dtype_of_its_first_input_and_what_tells_it_apart():
    case = own_case("k", [((8, 4), "bfloat16"), ((4,), "int32")], "trn2", 2, "abc")
    assert case == Case("k", "nki", (), "bfloat16", "trn2", 2, variant="8x4-4-abc")
