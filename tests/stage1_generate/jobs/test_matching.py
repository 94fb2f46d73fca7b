"""Which tensor of a NEFF is which of the kernel's."""

import pytest

from neff_bench.parsers.neff import TensorInfo
from neff_bench.stage1_generate.errors import BuildError
from neff_bench.stage1_generate.jobs.matching import match
from neff_bench.stage1_generate.kernel import Tensor

ASKED = (Tensor("lhs", (2, 4), "float32"), Tensor("rhs", (4, 8), "float32"))
CACHE = (Tensor("acc", (2, 4), "float32"), Tensor("x", (2, 4), "float32"))


def found(*names_and_bytes):
    return [TensorInfo(name, (), "float32", size_bytes) for name, size_bytes in names_and_bytes]


def test_names_that_the_compiler_kept_are_matched_whatever_the_order():
    pairs, note = match("input", ASKED, found(("rhs", 128), ("lhs", 32)))
    assert list(pairs.items()) == [("rhs", "rhs"), ("lhs", "lhs")]
    assert note is None


@pytest.mark.parametrize("names", [("x", "acc.must_alias_input"), ("acc.must_alias_input", "x")])
def test_an_input_that_the_kernel_writes_into_is_matched_by_its_name_in_the_kernel(names):
    pairs, note = match("input", CACHE, found(*((name, 32) for name in names)))
    assert pairs == {"acc": "acc.must_alias_input", "x": "x"}
    assert note is None


def test_names_that_the_compiler_changed_and_told_are_matched_by_what_it_told():
    said = ("out.3", "acc.must_alias_input")
    assert match("output", CACHE, found(("acc", 32), ("out.3", 32)), said)[0] == {"x": "acc", "acc": "out.3"}


def test_names_that_it_changed_are_matched_by_size_where_that_leaves_one_way_and_the_bundle_says_so():
    pairs, note = match("input", ASKED, found(("input0", 128), ("input1", 32)))
    assert pairs == {"rhs": "input0", "lhs": "input1"}
    assert "paired by size and type: input1 is lhs, input0 is rhs" in note


def test_names_that_it_changed_are_not_matched_by_position():
    with pytest.raises(
        BuildError, match="calls its inputs input0, input1, the kernel acc, x, and sizes and types do not tell"
    ):
        match("input", CACHE, found(("input0", 32), ("input1", 32)))


@pytest.mark.parametrize(
    ("tensors", "says"),
    [
        ((("lhs", 32),), "the NEFF has 1 inputs, the kernel 2"),
        ((("lhs", 32), ("right", 64)), "input right has 64 bytes of float32 in the NEFF, 128 of float32 by"),
        ((("--neff", 32), ("b", 128)), "unsafe as a file name or on a command line"),
        ((("../x", 32), ("b", 128)), "unsafe as a file name or on a command line"),
        ((("lhs", 32), ("lhs.must_alias_input", 32)), "two inputs of one name"),
    ],
)
def test_what_does_not_fit_is_refused(tensors, says):
    with pytest.raises(BuildError) as error:
        match("input", ASKED, found(*tensors))
    assert says in str(error.value)
