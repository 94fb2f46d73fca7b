"""How the tensors of a kernel and of its NEFF are matched; the rest of the worker is tested with the builder."""

import pytest

from neff_bench.parsers.neff import TensorInfo
from neff_bench.stage1_generate.errors import BuildError
from neff_bench.stage1_generate.jobs.worker import _match
from neff_bench.stage1_generate.kernel import Tensor

ASKED = (Tensor("lhs", (2, 4), "float32"), Tensor("rhs", (4, 8), "float32"))


def found(*names_and_bytes):
    return [TensorInfo(name, (), "float32", size_bytes) for name, size_bytes in names_and_bytes]


def test_names_that_the_compiler_kept_are_matched_whatever_the_order():
    assert list(_match("input", ASKED, found(("rhs", 128), ("lhs", 32))).items()) == [("rhs", "rhs"), ("lhs", "lhs")]


def test_names_that_it_changed_are_matched_by_position():
    assert _match("input", ASKED, found(("input0", 32), ("input1", None))) == {"lhs": "input0", "rhs": "input1"}


@pytest.mark.parametrize(
    ("tensors", "says"),
    [
        ((("lhs", 32),), "the NEFF has 1 inputs, the kernel 2"),
        ((("lhs", 32), ("rhs", 64)), "input rhs has 64 bytes in the NEFF, 128 by the kernel's declaration"),
        ((("a", 128), ("b", 32)), "input a has 128 bytes in the NEFF, 32"),
        ((("--neff", 32), ("b", 128)), "unsafe as a file name or on a command line"),
        ((("../x", 32), ("b", 128)), "unsafe as a file name or on a command line"),
    ],
)
def test_what_does_not_fit_is_refused(tensors, says):
    with pytest.raises(BuildError) as error:
        _match("input", ASKED, found(*tensors))
    assert says in str(error.value)
