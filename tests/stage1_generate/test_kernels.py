"""What must hold for every declared kernel."""

import subprocess
import sys

import numpy as np
import pytest

from neffs.case import IMPLEMENTATIONS, Case
from stage1_generate import kernels
from stage1_generate.kernel import Dims
from stage1_generate.tensors import draw, references

SMALL = {
    "matmul": {"M": 3, "K": 4, "N": 5},
    "exp": {"M": 3, "N": 5},
    "mlp": {"b": 2, "s": 3, "h": 128, "i": 6},
}


def test_every_kernel_has_a_small_case_here():
    assert set(SMALL) == set(kernels.names())


@pytest.mark.parametrize("name", SMALL)
def test_a_declaration_is_consistent(name):
    kernel = kernels.load(name)
    d = Dims(**SMALL[name])
    assert kernel.name == name
    assert tuple(SMALL[name]) == kernel.dims
    assert set(kernel.implementations) <= set(IMPLEMENTATIONS)
    assert set(kernel.tolerance) >= set(kernel.dtypes)
    for implementation_name, implementation in kernel.implementations.items():
        inputs = kernel.inputs_of(implementation_name, d, kernel.dtypes[0])
        if implementation.parameters is not None:
            assert len(implementation.parameters) == len(inputs)
        assert {tensor.name for tensor in inputs} >= {tensor.name for tensor in kernel.inputs(d, kernel.dtypes[0])}


@pytest.mark.parametrize("name", SMALL)
def test_a_reference_fits_its_declaration_and_is_not_all_zeros(name):
    kernel = kernels.load(name)
    d = Dims(**SMALL[name])
    for dtype in kernel.dtypes:
        case = Case(name, "nki", tuple(SMALL[name].items()), dtype, "trn2", 2)
        for output in references(kernel, case, draw(kernel.inputs(d, dtype), 42)):
            values = output.astype(np.float32)
            assert np.isfinite(values).all() and values.any()


def test_flops_and_bytes_of_the_mlp():
    kernel, d = kernels.load("mlp"), Dims(b=1, s=128, h=1024, i=512)
    assert kernel.model_flops(d) == 6 * 128 * 1024 * 512
    assert kernel.min_hbm_bytes(d, "bfloat16") == 2 * (2 * 128 * 1024 + 3 * 1024 * 512)


@pytest.mark.parametrize(("s", "path"), [(96, "TKG"), (97, "CTE")])
def test_nkilib_takes_its_token_path_up_to_96_tokens(s, path):
    assert kernels.load("mlp").implementations["nkilib"].path(Dims(b=1, s=s, h=1024, i=512)) == path


def test_declarations_do_not_load_numpy():
    code = "import sys; from stage1_generate import kernels; [kernels.load(n) for n in kernels.names()]"
    assert subprocess.run([sys.executable, "-c", f"{code}; sys.exit('numpy' in sys.modules)"]).returncode == 0
