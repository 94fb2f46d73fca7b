"""Where a case's kernel is found, and what is known of one that the case itself describes."""

import sys

import numpy as np
import pytest

from neff_bench.installation import IMPORT_ROOT
from neff_bench.neffs.case import Case
from neff_bench.neffs.own import OwnKernel, Tensor
from neff_bench.stage1_generate import kernels
from neff_bench.stage1_generate.errors import GenerateError
from neff_bench.stage1_generate.kernel import Dims
from neff_bench.stage1_generate.own_kernel import declared, implementation_of, kernel_of, search_folders

X, Y = Tensor("x", (2, 3), "float32"), Tensor("y", (2,), "int8", values="values.py:of_y")
DIMS = (("M", 2), ("N", 3))


def case(own, implementation="nki"):
    return Case("k", implementation, DIMS, "float32", "trn2", 1, own=own)


@pytest.mark.parametrize(
    ("own", "nkilib", "folders"),
    [
        (None, None, []), (None, "/lib", ["/lib"]), ("sub/mine.py", None, ["{}/sub"]), ("mine.py", "/lib", ["{}", "/lib"]),
        (OwnKernel("sub/k.py:f", (X,)), "/lib", ["{}/sub", "/lib"]), (OwnKernel("pack.k:f", (X,)), None, ["{}"]),
    ],
)  # fmt: skip
def test_folders_that_are_searched_are_those_of_the_kernel_of_the_library_and_ours(tmp_path, own, nkilib, folders):
    found = search_folders(case(own), str(tmp_path), nkilib)
    assert found == (*(one.format(tmp_path) for one in folders), str(IMPORT_ROOT))


@pytest.mark.parametrize(
    ("implementation", "route", "needs"), [("nki", "nki", ()), ("xla", "xla", ()), ("nkilib", "nki", ("nkilib",))]
)
def test_a_case_describes_its_kernel(tmp_path, implementation, route, needs):
    own = OwnKernel("k.py:f", (X, Y), arguments=(("eps", 1.0),), tolerance=(0.1, 0.2), flops=7)
    kernel = kernel_of(case(own, implementation), str(tmp_path))
    assert (kernel.name, kernel.dims, kernel.model_flops(Dims()), kernel.outputs) == ("k", ("M", "N"), 7, None)
    assert [tensor.values for tensor in kernel.inputs(Dims(), "x")] == ["normal", f"{tmp_path}/values.py:of_y"]
    assert dict(kernel.tolerance) == {"float32": (0.1, 0.2)} and kernel.reference is None
    found = implementation_of(case(own, implementation), str(tmp_path))
    assert (found.route, found.needs, found.entry) == (route, needs, f"{tmp_path}/k.py:f")
    assert found.arguments(Dims()) == {"eps": 1.0} and list(kernel.implementations) == [implementation]


def test_a_reference_is_called_with_the_inputs_and_the_arguments_of_the_case(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "right_of_it.py").write_text("def f(x, by):\n    return x * by\n")
    own = OwnKernel("k.py:f", (X,), outputs=(X,), arguments=(("by", 3.0),), reference="right_of_it.py:f")
    kernel = kernel_of(case(own), str(tmp_path))
    [found] = kernel.reference(Dims(), {"x": np.ones((2, 3))})
    assert found.tolist() == [[3.0] * 3] * 2 and kernel.outputs(Dims(), "x") == (X,) and dict(kernel.tolerance) == {}


def test_a_case_without_a_kernel_of_its_own_has_a_built_in_one():
    built_in = Case("matmul", "xla", (("M", 1), ("K", 1), ("N", 1)), "float32", "trn2", 1)
    assert kernel_of(built_in, None) is kernels.load("matmul")
    assert implementation_of(built_in, None).route == "xla"


DECLARATION = """
from dataclasses import replace
from neff_bench.stage1_generate.kernel import Implementation
from neff_bench.stage1_generate.kernels.matmul import KERNEL as MATMUL

KERNEL = replace(MATMUL, name="mine", implementations={
    "nki": Implementation("nki", "sub/k.py:f"), "xla": Implementation("xla", "pack.k:f"), "nkilib": Implementation("nki", lambda d: f"k{d.M}.py:f"),
})
"""


def test_entries_of_a_declaration_are_relative_to_its_file(tmp_path):
    (tmp_path / "declares_it.py").write_text(DECLARATION)
    found = kernel_of(case("declares_it.py"), str(tmp_path))
    assert found.name == "mine" and found is declared(tmp_path / "declares_it.py")
    entries = {name: each.entry for name, each in found.implementations.items()}
    assert (entries["nki"], entries["xla"]) == (f"{tmp_path}/sub/k.py:f", "pack.k:f")
    assert entries["nkilib"](Dims(M=7)) == f"{tmp_path}/k7.py:f"


@pytest.mark.parametrize(
    ("source", "says"),
    [("KERNEL = 1", "has no KERNEL that is"), ("x = 1", "write `declares_none.py:function`"), ("import nobodys_nki", "cannot be imported: ModuleNotFoundError: No")],
)  # fmt: skip
def test_a_file_that_declares_none_is_told(tmp_path, source, says):
    (tmp_path / "declares_none.py").write_text(source)
    with pytest.raises(GenerateError, match="^declares_none.py ") as error:
        declared(tmp_path / "declares_none.py")
    assert says in str(error.value)
    sys.modules.pop("declares_none", None)
