"""A host with a stub of torch-neuronx."""

import importlib.util
import sys
from types import ModuleType, SimpleNamespace

import pytest

from neff_bench.experiments import backends


class Tensor:
    def __init__(self, shape):
        self.shape = shape

    def mul_(self, factor):
        return self

    def to(self, where):
        return self


@pytest.fixture
def neuron(tmp_path, monkeypatch):
    """A host with a stub of torch-neuronx; returns a setter of what `torch.matmul` raises for a number of rows."""
    (tmp_path / "neuron0").touch()
    monkeypatch.setattr(backends, "DEVICE_FILES", tmp_path)
    failures = {}

    def matmul(a, b):
        if a.shape[0] in failures:
            raise failures[a.shape[0]]

    torch = ModuleType("torch")
    torch.float32, torch.matmul = "f32", matmul
    torch.full = lambda shape, value, dtype: Tensor(shape)
    torch.randn = lambda shape, generator: Tensor(shape)
    torch.Generator = lambda: SimpleNamespace(manual_seed=lambda seed: None)
    model = ModuleType("torch_xla.core.xla_model")
    model.xla_device, model.mark_step, model.wait_device_ops = (lambda: "xla:0"), (lambda: None), (lambda: None)
    neuronx = ModuleType("torch_neuronx")
    neuronx.__version__ = "2.9"
    core = ModuleType("torch_xla.core")
    core.xla_model = model
    for module in (torch, neuronx, core, ModuleType("torch_xla"), model):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    real = importlib.util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name, package=None: name == "torch" or real(name, package))
    monkeypatch.chdir(tmp_path)
    return failures
