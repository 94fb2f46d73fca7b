"""`neff-bench run`: a script runs as it stands, its launches become bundles, and their table follows."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from neff_bench.neffs.store import Store
from tests.doors.programs import SCALE


@pytest.fixture
def run(tmp_path):
    (tmp_path / "kernels.py").write_text(SCALE)

    def call(source, *options, script=("script.py",), environment=None):
        (tmp_path / "script.py").write_text(source)
        words = [sys.executable, "-m", "neff_bench", "run", "--store", "st", *options]
        words += [] if "-m" in options else script
        # a table as wide as outside a terminal, whatever pytest's own process has read of one
        given = {**os.environ, "COLUMNS": "120", **(environment or {})}
        return subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, env=given)

    return call


def bundles(tmp_path):
    return {bundle.name: bundle.manifest for bundle in Store(tmp_path / "st").bundles()}


SCRIPT = """
import sys, numpy as np, nki, nki.isa as nisa, nki.language as nl
from kernels import scale

@nki.jit
def fill(x, out):
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.dma_copy(dst=out, src=tile)

x = np.arange(128 * 64, dtype=np.float32).reshape(128, 64)
for _ in range(3):
    assert np.array_equal(scale(x), 2 * x)
assert np.array_equal(scale(x, factor=3.0), 3 * x)
scale(np.full((128, 8), 5, np.float32))
out = np.zeros((128, 8), np.float32)
fill(np.ones((128, 8), np.float32), out)
assert out.all()
print(sys.argv)
sys.exit(7)
"""


@pytest.fixture(scope="module")
def twice(tmp_path_factory):
    """A folder in which SCRIPT was run twice: the first run, what it left in the store, and what was there after the second."""
    folder = tmp_path_factory.mktemp("run")
    (folder / "kernels.py").write_text(SCALE)
    (folder / "script.py").write_text(SCRIPT)
    words = [sys.executable, "-m", "neff_bench", "run", "--store", "st", "script.py", "--size", "3"]
    found = []
    for _ in range(2):
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, env={**os.environ, "COLUMNS": "120"})
        found.append((done, bundles(folder)))
    return folder, *found


def test_each_distinct_launch_is_a_row_and_the_exit_code_is_the_scripts(twice):
    _, (done, left), _ = twice
    assert done.returncode == 7, done.stderr
    assert "['script.py', '--size', '3']" in done.stdout
    rows = [line for line in done.stdout.splitlines() if line.startswith(("kernels.scale ", "script.fill "))]
    assert len(rows) == len(left) == 4
    assert "SIMULATED" in done.stdout


def test_a_second_run_builds_nothing_again(twice):
    _, (_, first), (_, second) = twice
    assert {name: manifest.created for name, manifest in first.items()} == {
        name: manifest.created for name, manifest in second.items()
    }


def test_inputs_of_the_bundle_are_those_of_the_script(twice):
    folder, (_, left), _ = twice
    [name] = [name for name in left if name.startswith("kernels.scale_nki_128x8_")]
    assert (folder / "st" / name / left[name].inputs[0].file).read_bytes() == b"\x00\x00\xa0@" * 128 * 8


def test_answers_are_plain_json_rows(twice):
    words = [sys.executable, "-m", "neff_bench", "profile", "st", "--parse-only", "--format", "json"]
    rows = json.loads(subprocess.run(words, cwd=twice[0], capture_output=True, text=True).stdout)
    assert {(row["status"], row["source"], row["check"]) for row in rows} == {("profiled", "simulated", "unchecked")}


def test_the_launches_of_a_script_that_crashes_are_kept(run):
    done = run("import os, numpy as np\nfrom kernels import scale\nscale(np.ones((128, 8), np.float32))\nos.abort()\n")
    assert done.returncode == 134
    assert "kernels.scale_nki_128x8_" in done.stdout


def test_target_and_lnc_reach_the_launch(run, tmp_path):
    run("import numpy as np\nfrom kernels import scale\nscale[2](np.ones((128, 8), np.float32))\n", "--target", "trn3")
    [manifest] = bundles(tmp_path).values()
    assert (manifest.case.target, manifest.case.lnc) == ("trn3", 2)


def test_jax_arrays_give_jax_arrays(run):
    done = run(
        "import jax.numpy as jnp, jax\nfrom kernels import scale\n"
        "y = scale(jnp.ones((128, 8), jnp.bfloat16))\nassert isinstance(y, jax.Array) and float(y[0, 0]) == 2\n"
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(find_spec("torch") is None, reason="needs torch")
def test_torch_tensors_give_torch_tensors_on_the_stand_in_of_torch_xla(run):
    done = run(
        "import torch, torch_neuronx, torch_xla, torch_xla.core.xla_model as xm\nfrom torch_xla.core import xla_model\n"
        "import nki, nki.isa as nisa, nki.language as nl\nfrom kernels import scale\n"
        "@nki.jit\ndef fill(mask, out):\n"
        "    tile = nl.ndarray(mask.shape, dtype=nl.float32, buffer=nl.sbuf)\n"
        "    nisa.dma_copy(dst=tile, src=mask)\n    nisa.dma_copy(dst=out, src=tile)\n"
        "device = xm.xla_device()\n"
        "for dtype in (torch.bfloat16, torch.float16, torch.float32):\n"
        "    x = torch.ones(128, 8, dtype=dtype).to(device)\n"
        "    y = scale(x)\n    xm.mark_step(); torch_xla.sync(); xm.wait_device_ops()\n"
        "    assert y.dtype is dtype and y.shape == x.shape and y.device == device and bool((y == 2).all())\n"
        "mask, out = torch.ones(128, 8, dtype=torch.bool, device=device), torch.zeros(128, 8, device=device)\n"
        "fill(mask, out)\nassert bool(out.all())\n"
        "timed = nki.benchmark(warmup=2, iters=3)(scale)\ntimed(x)\n"
        "assert timed.benchmark_result.nc_latency.get_latency_percentile(99) > 0\n"
        "try:\n    xm.all_reduce\nexcept AttributeError as error:\n    print(error)\n"
    )
    assert done.returncode == 0, done.stderr
    assert "xla_model.all_reduce is not in the stand-in" in done.stdout


def test_benchmark_of_either_dialect_answers_with_the_time_of_the_row(run):
    done = run(
        "import numpy as np\nimport nki\nimport neuronxcc.nki\nfrom kernels import scale\n"
        "for package, columns in ((nki, 8), (neuronxcc.nki, 16)):\n"
        "    timed = package.benchmark(warmup=2, iters=3)(scale)\n    timed(np.ones((128, columns), np.float32))\n"
        "    latency = timed.benchmark_result.nc_latency\n"
        "    assert latency.get_latency_percentile(50) == latency.get_latency_percentile(99)\n"
        "    print('us', f'{latency.get_latency_percentile(50):.2f}', f'128x{columns}')\n"
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    printed = [line.split()[1:] for line in lines if line.startswith("us ")]
    assert len(printed) == 2
    for time, name in printed:
        shown = {name, f"{float(time):.1f}"}
        assert any(line.startswith("kernels.scale ") and shown <= set(line.split()) for line in lines), (time, name)
    assert "simulated" in done.stderr


def test_the_tutorial_benchmarks_a_plain_function_and_leaves_a_neff_and_a_trace(run, tmp_path):
    done = run(
        "import math\nimport numpy as np\nfrom neuronxcc import nki\nimport neuronxcc.nki.language as nl\n"
        "@nki.benchmark(save_neff_name='file.neff', save_trace_name='profile.ntff')\n"
        "def tensor_exp(x):\n"
        "    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)\n"
        "    for p in nl.affine_range(math.ceil(x.shape[0] / nl.tile_size.pmax)):\n"
        "        i_p = p * nl.tile_size.pmax + nl.arange(nl.tile_size.pmax)[:, None]\n"
        "        i_f = nl.arange(x.shape[1])[None, :]\n"
        "        tile = nl.load(x[i_p, i_f], mask=(i_p < x.shape[0]))\n"
        "        nl.store(out[i_p, i_f], value=nl.exp(tile), mask=(i_p < x.shape[0]))\n"
        "    return out\n"
        "assert np.allclose(tensor_exp(np.ones((250, 64), np.float32)), math.e, rtol=1e-5)\n"
    )
    assert done.returncode == 0, done.stderr
    assert {path.name for path in tmp_path.rglob("*.n?ff")} >= {"file.neff", "profile.ntff"}


def test_a_tensor_of_nki_typing_is_an_array_as_in_the_tutorial(run, tmp_path):
    done = run(
        "from neuronxcc import nki\nfrom neuronxcc.nki.typing import tensor\nimport neuronxcc.nki.language as nl\n"
        "@nki.benchmark(save_neff_name='file.neff', save_trace_name='profile.ntff')\n"
        "def twice(x):\n"
        "    assert x.dtype == nl.bfloat16\n"
        "    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)\n"
        "    nl.store(out, value=nl.add(nl.load(x), nl.load(x)))\n"
        "    return out\n"
        "out = twice(tensor[[128, 64], nl.bfloat16])\n"
        "assert out.shape == (128, 64) and 0 < abs(out.astype('float32')).max() < 20\n"
    )
    assert done.returncode == 0, done.stderr
    assert {path.name for path in tmp_path.glob("*.n?ff")} == {"file.neff", "profile.ntff"}


def test_profile_leaves_a_neff_and_a_trace(run, tmp_path):
    done = run(
        "import numpy as np, nki\nfrom kernels import scale\n"
        "nki.profile(working_directory='w', save_neff_name='a.neff', save_trace_name='a.ntff')(scale)"
        "(np.ones((128, 8), np.float32))\n"
    )
    assert done.returncode == 0, done.stderr
    from neff_bench import read_neff, read_ntff

    assert read_neff(tmp_path / "w/a.neff").simulated
    assert read_ntff(tmp_path / "w/a.ntff").total_time_s > 0


def test_a_kernels_error_ends_the_script_with_its_line(run):
    done = run("import numpy as np\nfrom kernels import scale\nscale(np.ones((256, 8), np.float32))\n")
    assert done.returncode == 1
    assert "kernels.py:10" in done.stderr


def test_a_missing_script_is_a_wrong_call(tmp_path):
    words = [sys.executable, "-m", "neff_bench", "run", "nowhere.py"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert "nowhere.py: no such file" in done.stderr


TEST = '''
import numpy as np
from kernels import scale


def test_scale(neff_bench):
    x = np.ones((128, 64), np.float32)
    assert np.array_equal(scale(x), 2 * x)
    assert neff_bench.last.hbm_read_bytes == x.nbytes
    assert neff_bench.last.total_time_us < LIMIT
'''


def test_the_pytest_plugin_asserts_on_time_and_prints_the_table(tmp_path):
    (tmp_path / "kernels.py").write_text(SCALE)
    for name, limit in (("test_slow_enough.py", "1000"), ("test_too_slow.py", "1")):
        (tmp_path / name).write_text(TEST.replace("LIMIT", limit))
    words = [sys.executable, "-m", "pytest", "-q", "-p", "neff_bench.doors.pytest_plugin", "--neff-bench"]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, env=environment)
    assert done.returncode == 1, done.stdout
    assert "1 failed, 1 passed" in done.stdout and "FAILED test_too_slow.py" in done.stdout
    assert "scale" in done.stdout and "SIMULATED" in done.stdout


LOST = """
import nki, nki.language as nl, numpy as np

@nki.jit
def lost(x):
    return nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)

def test_lost():
    assert not lost(np.ones((128, 64), np.float32)).any()
"""


def test_a_suspect_row_ends_a_session_of_pytest_without_failures_with_one(tmp_path):
    (tmp_path / "test_lost.py").write_text(LOST)
    words = [sys.executable, "-m", "pytest", "-q", "-p", "neff_bench.doors.pytest_plugin", "--neff-bench"]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, env=environment)
    assert "1 passed" in done.stdout and "suspect: test_lost.lost" in done.stdout
    assert "UnwrittenWarning: output output0 was never written (test_lost.py:6)" in done.stdout
    assert done.returncode == 1


def test_run_takes_a_module(run, tmp_path):
    (tmp_path / "test_it.py").write_text(TEST.replace("(neff_bench)", "()").replace("    assert neff_bench", "    # "))
    done = run("", "-m", "pytest", "-q", "test_it.py")
    assert done.returncode == 0, done.stderr
    assert "1 passed" in done.stdout and "kernels.scale_nki_128x64_" in done.stdout


def test_without_the_option_the_fixture_skips(tmp_path):
    (tmp_path / "test_it.py").write_text("def test_it(neff_bench):\n    assert False\n")
    words = [sys.executable, "-m", "pytest", "-q", "-p", "neff_bench.doors.pytest_plugin", "test_it.py"]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, env=environment)
    assert "1 skipped" in done.stdout


def test_programs_that_the_script_starts_find_the_same(run, tmp_path):
    (tmp_path / "child.py").write_text(
        "import sys, numpy as np, neuronxcc.nki as nki\nfrom kernels import scale\n"
        "nki.baremetal(scale, save_neff_name='a.neff', save_trace_name='a.ntff')(np.ones((128, 8), np.float32))\n"
    )
    done = run(
        "import json, subprocess\n"
        "subprocess.run(['python', 'child.py'], check=True)\n"
        "view = 'neuron-profile view -n a.neff -s a.ntff --output-format summary-json'\n"
        "summary = json.loads(subprocess.run(view, shell=True, check=True, capture_output=True).stdout)\n"
        "print('s', summary[next(iter(summary))]['total_time'])\n"
    )
    assert done.returncode == 0, done.stderr
    assert "s 2" in done.stdout
    assert list(bundles(tmp_path)) == ["kernels.scale_nki_128x8_float32_trn2_lnc1"]


def test_a_shell_script_is_run_by_itself(run, tmp_path):
    shell = tmp_path / "all.sh"
    shell.write_text(
        "#!/bin/sh\npython -c 'import numpy, kernels; kernels.scale(numpy.ones((128, 4), numpy.float32))'\n"
    )
    shell.chmod(0o755)
    done = run("", script=("all.sh",))
    assert done.returncode == 0, done.stderr
    assert "kernels.scale_nki_128x4_" in done.stdout


def test_what_python_runs_when_it_starts_is_still_run(run, tmp_path):
    (tmp_path / "sitecustomize.py").write_text("print('here')\n")
    done = run("print('script')\n", environment={"PYTHONPATH": str(tmp_path)})
    assert done.stdout.splitlines()[-2:] == ["here", "script"]


def test_a_script_that_needs_torch_says_how_to_install_it(run, tmp_path):
    (tmp_path / "torch.py").write_text("raise ModuleNotFoundError('no torch', name='torch')")
    done = run("import torch, nki")
    assert done.returncode == 1 and done.stderr.count("Traceback") == 1
    assert "\ntorch is not installed: pip install 'torch>=" in done.stderr


def test_a_script_that_fails_shows_its_own_frames_alone(run):
    done = run("import numpy as np\nfrom kernels import scale\nscale(np.ones((129, 8), np.float32))\n")
    frames = [line.split('"')[1] for line in done.stderr.splitlines() if line.startswith("  File ")]
    assert [Path(frame).name for frame in frames] == ["script.py", "kernels.py"]
    assert "kernels.py:" in done.stderr.splitlines()[-1] and "launched no kernel" not in done.stderr


def test_an_operation_that_does_not_exist_is_told_with_the_nearest(run, tmp_path):
    (tmp_path / "slip.py").write_text(
        "import nki\nimport nki.isa as nisa\n\n@nki.jit\ndef f(x):\n    nisa.dma_copi(x, x)\n"
    )
    done = run("import numpy as np\nfrom slip import f\nf(np.ones((128, 8), np.float32))\n")
    assert done.stderr.splitlines()[-1].endswith("slip.py:6: nki.isa has no 'dma_copi'; did you mean dma_copy?")


def test_a_row_that_is_suspect_ends_a_good_script_with_one(run):
    source = (
        "import nki, nki.isa as nisa, nki.language as nl, numpy as np\n"
        "@nki.jit\n"
        "def half(x):\n"
        "    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)\n"
        "    nisa.dma_copy(dst=out[0:64, :], src=x[0:64, :])\n"
        "    return out\n"
        "half(np.ones((128, 64), np.float32))\n"
    )
    done = run(source)
    assert done.returncode == 1
    assert "64 of 128 rows of output0 were never written (script.py:5)" in done.stdout
