"""The calls of the documents' rows, run in the order of `documents.CALLS`, one directory for each page."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import neff_bench.cli
from neff_bench.simulator.commands.cli import main as neuron_sim
from tests.tools.documents import CALLS, ROOT, Run, Shown, Within, blocks, calls, rows

IN_PROCESS = {"latency", "buckets", "tiling", "inspect", "view", "compare", "doctor", "install-benchmarks"}
"""Commands of neff-bench that start no process of ours; a new Python for each would cost more than their work."""

MATMULS = (
    "cases: [{kernel: matmul, implementation: xla, target: inf2, lnc: 1, dtype: float16, M: 128, K: 128, N: 128}]\n"
)
SHAPES = (
    "cases: [{kernel: matmul, implementation: nki, target: trn2, lnc: 1, dtype: bfloat16, M: 128, K: 128, N: 128}]\n"
)
MLP = (
    "cases: [{kernel: mlp, implementation: [nkilib, neuronxcc], lnc: 1, target: trn2, b: 1, s: 128, h: 256, i: 128}]\n"
)
NKILIB_MLP = """
import nki
from neff_bench.stage1_generate.kernels import mlp_nki


@nki.jit
def mlp(hidden_tensor, gate_proj_weights_tensor, up_proj_weights_tensor, down_proj_weights_tensor):
    return mlp_nki.mlp(hidden_tensor, gate_proj_weights_tensor, up_proj_weights_tensor, down_proj_weights_tensor)
"""
EXP = "cases: [{kernel: exp, implementation: nki, target: trn2, lnc: 1, dtype: float32, M: 128, N: 64}]\n"
KERNEL = """
  out_tensor = nl.ndarray(in_tensor.shape, dtype=in_tensor.dtype, buffer=nl.shared_hbm)
  sz_p, sz_f = in_tensor.shape
  i_f = nl.arange(sz_f)[None, :]
  for p in nl.affine_range(math.ceil(sz_p / nl.tile_size.pmax)):
    i_p = p * nl.tile_size.pmax + nl.arange(nl.tile_size.pmax)[:, None]


    in_tile = nl.load(in_tensor[i_p, i_f], mask=(i_p<sz_p))


    out_tile = nl.exp(in_tile)
    nl.store(out_tensor[i_p, i_f], value=out_tile, mask=(i_p<sz_p))
    return out_tensor
"""
SCRIPT = f"""
import math, os
import numpy as np
from neuronxcc import nki
import neuronxcc.nki.language as nl
os.environ["NEURON_FRAMEWORK_DEBUG"] = "1"
{"#" + chr(10) * 18}
@nki.jit
def tensor_exp_kernel_(in_tensor):{KERNEL}
assert np.allclose(tensor_exp_kernel_(np.ones((250, 64), np.float32)), math.e)
"""
BENCHMARK = f"""
import math
from neuronxcc import nki
from neuronxcc.nki.typing import tensor
import neuronxcc.nki.language as nl

@nki.benchmark(save_neff_name='file.neff', save_trace_name='profile.ntff')
def tensor_exp_kernel_(in_tensor):{KERNEL}
tensor_exp_kernel_(tensor[[250, 64], nl.float32])
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A directory with the files that the pages name, and a checkout of nki-library whose MLP is ours."""
    for name, text in {
        "shapes.yaml": SHAPES,
        "matmuls.yaml": MATMULS,
        "shapes/mlp.yaml": MLP,
        "exp.yaml": EXP,
        "mine.yaml": "my_test: {M: 64, N: 100, K: 256}\n",
        "prof-kernel.py": SCRIPT,
        "prof-kernel-benchmark.py": BENCHMARK,
        "my_nki/prof-kernel-benchmark.py": BENCHMARK,
        "nki-library/src/nkilib_src/nkilib/__init__.py": "",
        "nki-library/src/nkilib_src/nkilib/core/mlp/mlp.py": NKILIB_MLP,
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])  # a command that runs here puts this checkout on it
    monkeypatch.setenv("NKILIB_PATH", str(tmp_path / "nki-library"))
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


def ran(words: list[str]) -> tuple[int, str]:
    """Exit code and all output of a call, each run of blanks as one."""
    if words[0] == "neuron-sim" or (words[:1] == ["neff-bench"] and words[1] in IN_PROCESS):
        done = CliRunner().invoke(neuron_sim if words[0] == "neuron-sim" else neff_bench.cli.main, words[1:])
        return done.exit_code, " ".join(done.output.split())
    words = {"generate-neffs": ["generate"], "profile-neffs": ["profile"]}.get(words[0], []) + words[1:]
    finished = subprocess.run(
        [sys.executable, "-m", "neff_bench", *words],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    return finished.returncode, " ".join((finished.stdout + finished.stderr).split())


def prepare(call: str, here: Path) -> None:
    """What the page says comes before a call: the directory of a bundle, and a dump of NEFFs."""
    if call.startswith("neuron-sim capture --save-output"):
        shutil.copytree(here / "neffs" / "mlp_nkilib_b1_s128_h256_i128_bfloat16_trn2_lnc1", here, dirs_exist_ok=True)
    if call == "profile-neffs dumps":
        (here / "dumps").mkdir()
        shutil.copy(here / "file.neff", here / "dumps" / "MODULE_0_SyncTensorsGraph.13_126.neff")


@pytest.mark.skipif(any(Path("/dev").glob("neuron*")), reason="the list says what calls do without a device")
@pytest.mark.parametrize("page", CALLS)
def test_each_call_of_a_page_does_what_its_row_says(page, here, monkeypatch):
    for call, expected in CALLS[page].items():
        if isinstance(expected, Shown):
            assert expected.says in blocks(page), call
        if not isinstance(expected, Run):
            continue
        prepare(call, here)
        code, output = ran(shlex.split(f"{call} {expected.more}"))
        assert code in (expected.code if isinstance(expected.code, tuple) else (expected.code,)), (call, code, output)
        assert " ".join(expected.says.split()) in output, (call, output)


@pytest.mark.parametrize("page", CALLS)
def test_every_call_of_a_row_is_in_the_list_and_no_other(page):
    named = {call for row in rows(page) for call in calls(row) if not call.startswith(("neff_bench.", "pip "))}
    assert named == set(CALLS[page])
    assert all(isinstance(CALLS[page][one.call], Run) for one in CALLS[page].values() if isinstance(one, Within))
