import sys

import numpy as np
import pytest

from neff_bench.stage1_generate.errors import BuildError
from neff_bench.stage1_generate.reference import call_reference

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
