"""What a door does to the process that calls it: nothing that is seen afterwards."""

import builtins
import gc
import json
import logging
import os
import random
import sys
import threading
import warnings
from importlib import import_module

import numpy as np
import pytest
from click.testing import CliRunner

import neff_bench
from neff_bench.cli import main
from neff_bench.doors.embedded import embedded
from neff_bench.doors.estimation import preload

CURRENT = """
import nki
import nki.isa as nisa
import nki.language as nl
from sizes import ROWS


@nki.jit
def double(x):
    tile = nl.ndarray((ROWS, x.shape[1]), x.dtype)
    nisa.dma_copy(tile, x)
    nisa.tensor_scalar(tile, tile, nl.multiply, 2.0)
    out = nl.ndarray(x.shape, x.dtype, nl.shared_hbm)
    nisa.dma_copy(out, tile)
    return out
"""
OLD = """
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl
from sizes import ROWS


@nki.jit
def double(x):
    out = nl.ndarray((ROWS, x.shape[1]), x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.load(x) * 2.0)
    return out
"""
INPUTS = {"x": ((128, 64), "float32")}


def state():
    """All that a process shares, but for the modules of packages that are installed."""
    installed = (*sys.stdlib_module_names, "neff_bench", "cython_runtime")
    return {
        "modules": {
            name
            for name, module in sys.modules.items()
            if not name.startswith("_cython")
            and name.partition(".")[0] not in installed
            and "site-packages" not in (getattr(module, "__file__", None) or "")
        },
        "path": list(sys.path),
        "finders": [repr(finder) for finder in sys.meta_path],
        "random": random.getstate(),
        "numpy": repr(np.random.get_state()),
        "environment": dict(os.environ),
        "collector": (gc.isenabled(), gc.get_threshold(), gc.get_freeze_count()),
        "filters": list(warnings.filters),
        "words": set(vars(builtins)),
        "logging": set(vars(logging)),
        "threads": threading.active_count(),
    }


@pytest.fixture(params=[CURRENT, OLD], ids=["current", "old"])
def kernel(request, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sizes.py").write_text("ROWS = 128\n")
    (tmp_path / "json.py").write_text(request.param)  # a name that the process knows already
    return "json.py:double"


def estimate(kernel):
    assert neff_bench.estimate(kernel, INPUTS).total_time_us > 0


def profile(kernel):
    assert neff_bench.profile(kernel, INPUTS).status == "profiled"


def tune(kernel):
    variant = {"id": 1, "kernel": kernel, "inputs": {"x": {"shape": [128, 64], "dtype": "float32"}}}
    done = CliRunner().invoke(main, ["tune"], input=json.dumps(variant))
    assert done.exit_code == 0, done.output


def session_of_pytest(kernel):
    with embedded(lambda launch: None, 1):
        import_module("neuronxcc.nki")


# tune forks, which jax warns of where another test of this process has imported it. Of the other doors nothing may warn.
FORKS = [
    pytest.mark.filterwarnings("ignore:os.fork"),
    pytest.mark.filterwarnings(
        "ignore:Exception ignored in. .function _at_fork:pytest.PytestUnraisableExceptionWarning"
    ),
]


@pytest.mark.parametrize("door", [estimate, profile, pytest.param(tune, marks=FORKS), session_of_pytest])
def test_the_process_of_the_caller_is_as_it_was(kernel, door):
    preload()
    before, known = state(), sys.modules["json"]
    door(kernel)
    after = state()
    assert after.pop("modules") - before.pop("modules") == set()
    assert {name for name in before if before[name] != after[name]} == set()
    assert sys.modules["json"] is known


def test_a_kernel_finds_the_files_beside_it_also_after_one_with_files_of_the_same_names(tmp_path):
    totals = []
    for rows in (64, 128):
        folder = tmp_path / str(rows)
        folder.mkdir()
        (folder / "sizes.py").write_text(f"ROWS = {rows}\n")
        (folder / "mine.py").write_text(
            OLD.replace("x.shape[1]), x.dtype, buffer", "64), x.dtype, buffer").replace(
                "nl.load(x)", "nl.load(x[0:ROWS])"
            )
        )
        totals.append(neff_bench.estimate(f"{folder / 'mine.py'}:double", INPUTS).hbm_read_bytes)
    assert totals == [64 * 64 * 4, 128 * 64 * 4]
