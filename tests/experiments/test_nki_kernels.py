"""NKI kernels themselves are timed where a device is, and simulated where none is; compilations are counted."""

import subprocess
import sys

import pytest
from click.testing import CliRunner

from neff_bench.experiments import compilations
from neff_bench.experiments.latency_cli import latency
from neff_bench.experiments.simulated import SimulatedProfiler
from neff_bench.experiments.workload import MlpConfig

LIBRARY = """
import sys
calls = []


class Mlp:
    def __init__(self, lnc=1):
        self.lnc = lnc

    def __getitem__(self, lnc):
        return Mlp(lnc)

    def __call__(self, **tensors):
        calls.append((self.lnc, sorted(tensors)))
        if COMPILES:
            sys.audit("subprocess.Popen", "neuronx-cc", ["neuronx-cc", "compile", "graph.hlo"], None, None)


mlp = Mlp()
"""


@pytest.fixture
def library(tmp_path, monkeypatch):
    """A function that makes a checkout whose mlp compiles, or not, in each call; it returns the checkout and its module."""

    def make(compiles):
        folder = tmp_path / "nki-library" / "src" / "nkilib_src" / "nkilib" / "core" / "mlp"
        folder.mkdir(parents=True)
        for package in (folder, *folder.parents[:3]):
            (package / "__init__.py").touch()
        (folder / "mlp.py").write_text(f"COMPILES = {compiles}\n{LIBRARY}")
        for name in [name for name in sys.modules if name.startswith("nkilib_src")]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setattr(sys, "path", list(sys.path))
        return tmp_path / "nki-library"

    yield make
    for name in [name for name in sys.modules if name.startswith("nkilib_src")]:
        del sys.modules[name]


@pytest.mark.parametrize(("compiles", "counted"), [(True, 20), (False, 0)])
def test_the_kernel_itself_is_called_and_its_compilations_are_counted(neuron, library, compiles, counted):
    words = ["1x128x256x128", "--implementation", "nkilib", "--nkilib", str(library(compiles)), "--lnc", "2"]
    done = CliRunner().invoke(latency, words)
    assert done.exit_code == 0, done.output
    told = "mlp nkilib 1x128x256x128: compiled 20 times in 20 iterations"
    assert (told in " ".join(done.stdout.split())) is compiles
    calls = sys.modules["nkilib_src.nkilib.core.mlp.mlp"].calls
    assert calls[0] == (
        2,
        ["down_proj_weights_tensor", "gate_proj_weights_tensor", "hidden_tensor", "up_proj_weights_tensor"],
    )
    assert len(calls) == 1 + 5 + 20


def test_a_neff_that_is_new_in_the_cache_is_a_compilation(tmp_path, monkeypatch):
    monkeypatch.setenv("NEURON_COMPILE_CACHE_URL", str(tmp_path))
    before = compilations.seen()
    (tmp_path / "MODULE_1").mkdir()
    (tmp_path / "MODULE_1" / "model.neff").touch()
    assert compilations.since(before) == 1


def test_a_compiler_that_is_started_is_a_compilation(tmp_path, monkeypatch):
    monkeypatch.setenv("NEURON_COMPILE_CACHE_URL", str(tmp_path))
    (tmp_path / "neuronx-cc").write_text("#!/bin/sh\n")
    (tmp_path / "neuronx-cc").chmod(0o755)
    before = compilations.seen()
    subprocess.run([str(tmp_path / "neuronx-cc"), "compile"], check=True)
    subprocess.run(["true"], check=True)
    assert compilations.since(before) == 1


def test_a_kernel_is_simulated_under_its_own_name():
    result = SimulatedProfiler("trn2", 2).profile_single_matmul(
        MlpConfig(1, 128, 256, 128, "bfloat16", "nki"), iterations=20
    )
    assert (result.implementation, result.compilations) == ("nki", 0)
    assert result.device_us and result.source == "simulated"


def test_a_closed_kernel_needs_the_sdk():
    done = CliRunner().invoke(latency, ["1x128x256x128", "--backend", "sim", "--implementation", "neuronxcc"])
    assert done.exit_code == 1 and "needs the AWS Neuron SDK" in done.stderr


def test_without_a_device_an_nki_kernel_is_a_row_with_its_reason():
    done = CliRunner().invoke(latency, ["1x8x8x8", "--backend", "numpy", "--implementation", "nki", "--format", "json"])
    assert done.exit_code == 1 and "needs a Neuron device, or --backend sim" in done.stderr
