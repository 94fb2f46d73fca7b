import sys
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pytest

from neff_bench.stage1_generate import reference
from neff_bench.stage1_generate.errors import BuildError
from neff_bench.stage1_generate.reference import NoTorch, call_reference

WITH_KERNEL = """
import nki, nki.isa as nisa
import nki.language as nl
from neuronxcc.nki.language import par_dim
DTYPE = nl.bfloat16

@nki.jit
def kernel(x): ...

@nki.jit(mode="trace")
def other(x): ...

def {name}(x, eps):
    return [x + eps, x]
"""


@pytest.fixture
def entry(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))

    def write(source, name):
        path = tmp_path / f"reference_of_{name}.py"
        path.write_text(source.format(name=name))
        return f"{path}:{name}"

    return write


def test_a_reference_beside_its_kernel_needs_no_nki(entry, monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] in ("nki", "neuronxcc")]:
        monkeypatch.delitem(sys.modules, name)  # another test of this process may have installed them
    one, two = call_reference(entry(WITH_KERNEL, "beside"), {"x": np.ones(3)}, {"eps": 2.0, "unused": 1})
    assert one.tolist() == [3, 3, 3] and two.tolist() == [1, 1, 1]
    assert "nki" not in sys.modules and "neuronxcc" not in sys.modules


@pytest.mark.parametrize(
    ("name", "source", "says"),
    [
        ("absent", "import nothing_of_that_name", "cannot import: ModuleNotFoundError"),
        ("missing", "", "cannot import: AttributeError"),
        ("other_names", "def {name}(a): return a", "unexpected keyword argument 'x'; it is called with x"),
        ("raises", "def {name}(x):\n    return x @ None", "reference_of_raises.py:2: "),
        ("ends", "raise SystemExit(3)", "cannot import: SystemExit"),
    ],
)
def test_what_a_reference_does_wrong_is_one_line(entry, name, source, says):
    with pytest.raises(BuildError, match=r"^reference [^\n]*$") as error:
        call_reference(entry(source, name), {"x": np.ones(3)}, {})
    assert says in str(error.value)


TORCH = """
import numpy


class Tensor(numpy.ndarray):
    def detach(self):
        return self

    def is_floating_point(self):
        return self.dtype.kind == "f"

    def float(self):
        return self.astype(numpy.float32)


def from_numpy(array):
    return array.view(Tensor)
"""


def test_a_function_on_torch_tensors_is_called_as_it_is(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)  # the end of the test takes the stand-in out again
    del sys.modules["torch"]
    (tmp_path / "torch.py").write_text(TORCH)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "theirs.py").write_text(
        "import torch\n\n\ndef loss(logits, targets, k=1):\n"
        "    assert type(logits) is torch.Tensor and targets.dtype == 'int64'\n"
        "    return {'scaled': logits * k, 'index': targets}\n"
    )
    inputs = {"logits_hbm": np.ones((2, 3), np.float32), "targets_hbm": np.zeros(2, np.int32), "output": np.zeros(1)}
    scaled, index = call_reference(f"{tmp_path / 'theirs.py'}:loss", inputs, {"k": 4, "chunk_size": 8})
    assert (scaled.tolist(), index.tolist()) == ([[4.0] * 3] * 2, [0, 0])


def test_a_torch_that_is_not_there_is_told_by_an_error_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    (tmp_path / "lacks_torch.py").write_text("import torch\n")
    with pytest.raises(NoTorch, match="torch"):
        call_reference(f"{tmp_path / 'lacks_torch.py'}:f", {}, {})


def test_a_reference_s_file_may_inherit_from_what_nki_has(tmp_path):
    (tmp_path / "inherits.py").write_text(
        "import nki.language as nl\n\n\nclass Mine(nl.NKIObject):\n    pass\n\n\ndef f(x):\n    return x\n"
    )
    (array,) = call_reference(f"{tmp_path / 'inherits.py'}:f", {"x": np.ones(2)}, {})
    assert array.tolist() == [1, 1]


def test_a_reference_may_import_aws_dtypes_that_it_does_not_call_and_may_not_call_them(tmp_path):
    (tmp_path / "dtypes.py").write_text(
        "import neuron_dtypes as dt\n\n\ndef f(x):\n    return x\n\n\ndef packed(x):\n    return dt.static_cast(x, 'float32') * 2\n"
    )
    (array,) = call_reference(f"{tmp_path / 'dtypes.py'}:f", {"x": np.ones(2)}, {})
    assert array.tolist() == [1, 1]
    with pytest.raises(BuildError, match=r"dtypes\.py:9: "):
        call_reference(f"{tmp_path / 'dtypes.py'}:packed", {"x": np.ones(2)}, {})


@pytest.mark.parametrize(("module", "kind"), [("torch", NoTorch), ("nobody", BuildError)])
def test_a_module_that_is_not_there_is_an_error_of_its_own_where_it_is_torch(tmp_path, module, kind):
    (tmp_path / "r.py").write_text(f"raise ModuleNotFoundError('No module named {module}', name='{module}')\n")
    with pytest.raises(BuildError) as caught:
        reference._function(f"{tmp_path / 'r.py'}:f", "reference")
    assert type(caught.value) is kind


class Torch(np.ndarray):
    """A tensor of torch, as far as it is asked."""

    def detach(self):
        return self

    def is_floating_point(self):
        return self.dtype.kind == "f"

    def float(self):
        return self.astype(np.float32)


def test_a_floating_point_tensor_of_torch_becomes_float32_and_any_other_stays():
    assert reference._array(np.ones(2, np.float16).view(Torch), "reference", "e").dtype == np.float32
    assert reference._array(np.ones(2, np.int8).view(Torch), "reference", "e").dtype == np.int8


@pytest.mark.parametrize(
    ("value", "says"),
    [("text", "an array of <U4"), ([{}], "an array of object"), ([[1], [1, 2]], "returned no array: ValueError")],
)
def test_what_is_no_array_of_numbers_is_told(value, says):
    with pytest.raises(BuildError, match=says):
        reference._array(value, "values", "a.py:f")


VALUES = """
def of_rank(shape, rank):
    import numpy
    return numpy.full(shape, rank + 1)

def of_shape(shape):
    import numpy
    return numpy.zeros(shape)

def flat(shape):
    return of_shape(shape[0])

def breaks(shape):
    raise KeyError(7)
"""


def test_values_are_asked_for_with_their_shape_and_the_rank_where_that_is_wanted(tmp_path):
    (tmp_path / "values_of_it.py").write_text(VALUES)
    file = tmp_path / "values_of_it.py"
    assert reference.call_values(f"{file}:of_rank", (2, 3), 4).tolist() == [[5] * 3] * 2
    assert reference.call_values(f"{file}:of_rank", (1,)).tolist() == [1]
    assert reference.call_values(f"{file}:of_shape", (2,), 4).tolist() == [0, 0]
    with pytest.raises(BuildError) as error:
        reference.call_values(f"{file}:flat", (2, 3))
    assert str(error.value) == f"values {file}:flat: returned shape (2,), expected (2, 3)"
    with pytest.raises(BuildError) as error:
        reference.call_values(f"{file}:breaks", (2, 3))
    assert str(error.value) == f"values {file}:14: KeyError: 7; it is called with the shape"


@pytest.mark.parametrize(
    ("parameter", "found"),
    [("x", "x"), ("logits", "logits_hbm"), ("w", None), ("x_a", None), ("y", "y"), ("log", None)],
)
def test_an_input_is_the_one_of_the_name_or_the_only_one_that_adds_to_it(parameter, found):
    inputs = dict.fromkeys(("x", "x_b", "logits_hbm", "w_a", "w_b", "y", "y_hbm"))
    assert reference._named(parameter, inputs) == found


@pytest.mark.parametrize(
    ("arrays", "outputs", "says"),
    [(1, 2, "returns 1 arrays, the kernel 2"), (1, 0, "the kernel 0; is there a `return`")],
)
def test_a_reference_returns_an_array_for_each_output(arrays, outputs, says):
    reference.check_count([None] * outputs, outputs)
    with pytest.raises(BuildError, match=says):
        reference.check_count([None] * arrays, outputs)


@pytest.mark.parametrize(
    ("dtype", "given"),
    [("int32", "int64"), ("uint16", "int64"), ("uint8", "uint8"), ("int8", "int8"), ("float32", "float32")],
)
def test_torch_gets_indices_of_64_bits_and_bytes_as_they_are(dtype, given):
    torch = SimpleNamespace(from_numpy=lambda array: array)
    assert reference._tensor(torch, np.zeros(2, dtype)).dtype == given


def test_stand_ins_take_the_place_of_what_is_absent_alone_and_only_meanwhile(monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] in ("nki", "neuronxcc")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(reference, "module_folder", lambda *names: "/nki" if names == ("nki", "isa") else None)
    before = list(sys.meta_path)
    with reference._stand_ins():
        assert import_module("neuronxcc.nki.language").bfloat16 is not None
        with pytest.raises(ModuleNotFoundError):
            import_module("nki")
    assert sys.meta_path == before and "neuronxcc" not in sys.modules
