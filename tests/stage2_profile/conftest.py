from __future__ import annotations

import hashlib
import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from neff_bench.neffs.bundle import Bundle, Manifest, TensorFile, read_bundle, write_manifest
from neff_bench.neffs.case import Case
from neff_bench.neffs.store import Store
from neff_bench.stage2_profile.capture.tools import Tool
from neff_bench.stage2_profile.cli import profile
from neff_bench.stage2_profile.options import Options
from tests.sdk import contracts


def case(kernel="matmul", implementation="nki", dims=(("M", 2), ("K", 3), ("N", 4)), **changes) -> Case:
    fields = {"dtype": "float32", "target": "trn2", "lnc": 1, **changes}
    return Case(kernel, implementation, tuple(dims), **fields)


@pytest.fixture
def make_case():
    return case


@pytest.fixture
def store(tmp_path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def make_bundle(store):
    """A bundle whose NEFF only the fake profiler can run: `out` is what it computes, `ref` what it should."""

    def make(
        of: Case | None = None, *, out=None, ref=None, toolchain="neuron", output="out", total_time=1e-4, readable=True
    ) -> Bundle:
        of = of or case()
        reference = np.arange(8, dtype=np.float32) if ref is None else np.asarray(ref, np.float32)
        computed = reference if out is None else np.asarray(out, np.float32)

        def fill(directory: Path) -> None:
            neff = json.dumps({"outputs": {output: computed.tobytes().hex()}, "total_time": total_time}).encode()
            inputs = {"x": np.ones(6, np.float32).tobytes()}
            files = {"file.neff": neff, "inp-x-000.bin": inputs["x"], "ref-out-000.bin": reference.tobytes()}
            for name, data in files.items():
                (directory / name).write_bytes(data)
            digests = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
            tensors = [
                TensorFile(name, shape, "float32", len(files[file]), file, digests[file])
                for name, shape, file in (("x", (6,), "inp-x-000.bin"), (output, (8,), "ref-out-000.bin"))
            ]
            manifest = Manifest(
                of,
                "key",
                "built",
                toolchain,
                "2026-01-01T00:00:00Z",
                model_flops=1_000_000,
                compile_time_s=1.5,
                tolerance=(1e-3, 1e-3),
                neff="file.neff",
                neff_sha256=digests["file.neff"],
                inputs=(tensors[0],),
                outputs=(tensors[1],),
            )
            write_manifest(directory, manifest)

        path = Store(store).publish(of.name, fill)
        return read_bundle(path) if readable else Bundle(path, None, verified=False)

    return make


@pytest.fixture
def fake(tmp_path, monkeypatch) -> Tool:
    """The fake neuron-profile of SDK 2.29 as a tool, started by this Python."""
    monkeypatch.setenv("FAKE_STATE", str(tmp_path / "calls"))
    monkeypatch.setenv("FAKE_TOOL", "neuron-profile")
    monkeypatch.setenv("FAKE_CONTRACT", str(contracts.write("2.29", tmp_path)))
    argv = (sys.executable, "-S", str(contracts.FAKE_TOOLS))
    return Tool("neuron-profile", argv, "2.29.22.0", "neuron")


@pytest.fixture
def fake_on_path(tmp_path, monkeypatch, fake) -> Path:
    """A directory first on PATH with the fake `neuron-profile` of SDK 2.29."""
    directory = contracts.install("2.29", tmp_path / "bin", ["neuron-profile"])
    monkeypatch.setenv("PATH", f"{directory}:{os.environ['PATH']}")
    return directory


@pytest.fixture
def release_on_path(tmp_path, fake_on_path, monkeypatch):
    """Puts the tools of a release on PATH, in place of those of 2.29."""

    def install(release: str) -> Path:
        for name in os.listdir(fake_on_path):
            (fake_on_path / name).unlink()
        return contracts.install(release, fake_on_path)

    return install


@pytest.fixture
def settings():
    """Options with the environment of the moment, and no patience."""

    def make(**changes) -> Options:
        return Options(**{"timeout_s": 20.0, "backoff_s": 0.01, **changes})

    return make


@pytest.fixture
def faults(monkeypatch):
    def plan(*names: str) -> None:
        monkeypatch.setenv("FAKE_PLAN", json.dumps(names))

    return plan


@pytest.fixture
def profile_neffs(store, fake_on_path):
    def go(*words, directory=None):
        return CliRunner().invoke(profile, [str(directory or store), *map(str, words)])

    return go
