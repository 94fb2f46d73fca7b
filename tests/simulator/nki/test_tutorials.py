"""The tutorials of nki-samples and of the SDK documentation, unmodified, against numpy."""

import importlib.util
import os
import sys
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

from neff_bench.simulator.nki.install import install
from neff_bench.simulator.nki.simulate import simulate

pytestmark = pytest.mark.filterwarnings("default")


TUTORIALS = {"nki_samples": "src/nki_samples/tutorials", "neuron_sdk": "nki/examples"}


@pytest.fixture(params=TUTORIALS)
def root(request) -> Path:
    return request.getfixturevalue(request.param) / TUTORIALS[request.param]


RANDOM = np.random.default_rng(11)


def floats(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def tutorial(root, file, function, *arrays, lnc=1, **arguments):
    """Run `function` of a tutorial's file; its folder is importable while it is loaded."""
    install()
    path = root / file
    spec = importlib.util.spec_from_file_location(f"tutorial_{path.stem}_{abs(hash(path))}", path)
    module = importlib.util.module_from_spec(spec)
    with mock.patch.dict(os.environ):  # some files name their chip when they are imported
        sys.path.insert(0, str(path.parent))
        try:
            spec.loader.exec_module(module)
        finally:
            sys.path.remove(str(path.parent))
        os.environ["NEURON_PLATFORM_TARGET_OVERRIDE"] = "trn2"
        return simulate(getattr(module, function))[lnc](*arrays, **arguments)


def close(result, expected):
    expected = np.asarray(expected).reshape(result.shape)
    np.testing.assert_allclose(np.float32(result), expected, rtol=1e-3, atol=1e-4 * np.abs(expected).max())


@pytest.mark.parametrize("name", ["basic", "tiled", "hoist_load", "block_free_dimension", "fully_optimized"])
def test_matmul(root, name):
    left, right = (floats(128, 64), floats(128, 512)) if name == "basic" else (floats(1024, 2048), floats(1024, 1024))
    file = "matrix_multiplication/matrix_multiplication_nki_kernels.py"
    close(tutorial(root, file, f"nki_matmul_{name}_", left, right), left.T @ right)


def test_tensor_addition(root):
    first, second = floats(256, 1024), floats(256, 1024)
    file = "tensor_addition/tensor_addition_nki_kernels.py"
    close(tutorial(root, file, "nki_tensor_add", first, second), first + second)


def test_tensor_addition_on_two_cores(nki_samples):
    first, second = floats(256, 1024), floats(256, 1024)
    file = "tensor_addition/spmd_multiple_nc_tensor_addition_nki_kernels.py"
    close(
        tutorial(nki_samples / TUTORIALS["nki_samples"], file, "nki_tensor_add_nc2", first, second, lnc=2),
        first + second,
    )


def test_transpose(root):
    x = floats(128, 60)
    result = tutorial(root, "transpose2d/transpose2d_nki_kernels.py", "tensor_transpose2D_kernel_", x, shape2D=(6, 10))
    close(result, x.reshape(128, 6, 10).transpose(0, 2, 1))


def test_average_pool(root):
    x = floats(128, 8, 8)
    result = tutorial(root, "average_pool2d/average_pool2d_nki_kernels.py", "tensor_avgpool_kernel", x, 2)
    close(result, x.reshape(128, 4, 2, 4, 2).mean((2, 4)))


@pytest.mark.parametrize("version", [1, 2, 3])
def test_fused_mamba(root, version):
    delta, u, a = np.abs(floats(1, 128, 512)) * 0.1, floats(1, 128, 512), -np.abs(floats(128, 4))
    b, c = floats(1, 4, 512), floats(1, 4, 512)
    state, expected = np.zeros((1, 128, 4)), np.zeros((1, 128, 512))
    for at in range(512):
        step = delta[..., at, None]
        state = np.exp(step * a) * state + step * u[..., at, None] * b[:, None, :, at]
        expected[..., at] = (state * c[:, None, :, at]).sum(2)
    close(tutorial(root, "fused_mamba/mamba_nki_kernels.py", f"mamba_v{version}", delta, u, a, b, c), expected)
