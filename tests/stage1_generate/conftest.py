import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

COPY = """
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def mlp(hidden_tensor, gate_proj_weights_tensor, up_proj_weights_tensor, down_proj_weights_tensor):
    b, s, h = hidden_tensor.shape
    misbehave(s)
    out = nl.ndarray((b, s, h), dtype=hidden_tensor.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((s, h), dtype=hidden_tensor.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=hidden_tensor.reshape((s, h)))
    nisa.dma_copy(dst=out.reshape((s, h)), src=tile)
    return out


def misbehave(s):
    pass
"""


@pytest.fixture
def checkout(tmp_path):
    """A function that makes a directory like a checkout of nki-library whose `mlp` copies its input; `extra` is appended."""

    def make(extra="", name="nki-library"):
        package = tmp_path / name / "src" / "nkilib_src" / "nkilib" / "core" / "mlp"
        package.mkdir(parents=True, exist_ok=True)
        (package / "mlp.py").write_text(COPY + extra)
        return tmp_path / name

    return make


@pytest.fixture
def shapes_file(tmp_path):
    def write(text, name="shapes.yaml"):
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return write


@pytest.fixture
def environment():
    """This process's environment without what would change which toolchain or library is found."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("NKILIB", "NEURON"))}


@pytest.fixture
def generate(tmp_path, environment):
    """Run `generate-neffs` as a process of its own, in `tmp_path`, with the store `out` there."""

    def run(*arguments, env=None, **options):
        command = [sys.executable, "-m", "neff_bench.stage1_generate.cli", "--out", "out", *map(str, arguments)]
        return subprocess.run(
            command,
            cwd=tmp_path,
            env={**environment, "PYTHONPATH": str(ROOT), **(env or {})},
            capture_output=True,
            text=True,
            timeout=120,
            **options,
        )

    return run
