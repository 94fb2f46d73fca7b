import sys
from types import ModuleType, SimpleNamespace

import pytest

from neff_bench.experiments import backends
from neff_bench.experiments.errors import Unavailable
from neff_bench.experiments.workload import MatmulConfig, MlpConfig


@pytest.mark.parametrize("workload", [MatmulConfig(5, 6, 7), MlpConfig(1, 5, 6, 7), MatmulConfig(5, 6, 7, "bfloat16")])
@pytest.mark.parametrize("name", ["jax", "numpy"])
def test_array_backends_compute_the_workload(name, workload):
    import numpy as np

    prepared = backends.open_backend(name, backends.Host()).prepare(workload)
    result = prepared.run()
    prepared.wait(result)
    x, *weights = [array.astype(np.float64) for array in backends._random(workload)]
    expected = x @ weights[0]
    if len(weights) == 3:
        expected = expected / (1 + np.exp(-expected)) * (x @ weights[1]) @ weights[2]
    assert np.allclose(np.asarray(result, np.float64), expected, atol=5e-2 if workload.dtype != "float32" else 1e-5)
    assert (prepared.compile_ms is not None) == (name == "jax")


def test_without_a_device_file_neuron_is_not_there(tmp_path, monkeypatch):
    monkeypatch.setattr(backends, "DEVICE_FILES", tmp_path)
    with pytest.raises(Unavailable, match="no /dev/neuron"):
        backends.open_backend("neuron", backends.Host(1))


def test_the_best_backend_comes_with_the_reasons_against_better_ones(tmp_path, monkeypatch):
    monkeypatch.setattr(backends, "DEVICE_FILES", tmp_path)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    backend, reasons = backends.best_backend(backends.Host(), ("neuron", "cuda", "torch", "numpy"))
    assert backend.name == "numpy"
    assert len(reasons) == 3 and "torch is not installed" in reasons[2]


def test_on_neuron_each_iteration_marks_a_step_and_waits(tmp_path, monkeypatch):
    (tmp_path / "neuron0").touch()
    monkeypatch.setattr(backends, "DEVICE_FILES", tmp_path)
    calls = []

    class Tensor:
        def mul_(self, factor):
            return self

        def to(self, where):
            calls.append(("to", where))
            return self

    torch = ModuleType("torch")
    torch.float32, torch.matmul = "f32", lambda a, b: calls.append("matmul")
    torch.randn = lambda shape, generator: Tensor()
    torch.Generator = lambda: SimpleNamespace(manual_seed=lambda seed: None)
    model = ModuleType("torch_xla.core.xla_model")
    model.xla_device = lambda: "xla:0"
    model.mark_step = lambda: calls.append("mark_step")
    model.wait_device_ops = lambda: calls.append("wait")
    neuronx = ModuleType("torch_neuronx")
    neuronx.__version__ = "2.9"
    core = ModuleType("torch_xla.core")
    core.xla_model = model
    for module in (torch, neuronx, core, ModuleType("torch_xla"), model):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: True)

    backend = backends.open_backend("neuron", backends.Host(1))
    prepared = backend.prepare(MatmulConfig(2, 2, 2))
    assert prepared.compile_ms is not None
    assert ("to", "xla:0") in calls
    calls.clear()
    prepared.wait(prepared.run())
    assert calls == ["matmul", "mark_step", "wait"]
