import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from neff_bench.parsers.hlo import read_hlo
from neff_bench.stage1_generate.kernels.matmul_xla import matmul
from neff_bench.stage1_generate.kernels.mlp_xla import mlp
from neff_bench.stage1_generate.toolchains.xla import TraceError, main, resolve, trace

ROOT = Path(__file__).parents[3]


def run(spec, out, **environment):
    path = out.with_suffix(".json")
    path.write_text(json.dumps(spec))
    command = [sys.executable, "-m", "neff_bench.stage1_generate.toolchains.xla", str(path), str(out)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env={**os.environ, **environment})


def matmul_spec(k=256):
    return {
        "entry": "neff_bench.stage1_generate.kernels.matmul_xla:matmul",
        "inputs": [
            {"name": "lhs", "shape": [128, 256], "dtype": "bfloat16"},
            {"name": "rhs", "shape": [k, 512], "dtype": "bfloat16"},
        ],
    }


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_matmul_accumulates_in_float32_and_returns_the_input_dtype(dtype):
    module = read_hlo(trace(matmul, [((128, 256), dtype), ((256, 512), dtype)]))
    entry = module.computations[module.entry]
    dot = next(i for i in entry.instructions if i.opcode == "dot")
    root = next(i for i in entry.instructions if i.id == entry.root)
    assert dot.shape.dtype == "float32" and root.shape.dtype == dtype
    assert module.mac_count == 128 * 256 * 512


def test_mlp_has_three_products():
    shapes = [
        ((1, 128, 1024), "bfloat16"),
        ((1024, 512), "bfloat16"),
        ((1024, 512), "bfloat16"),
        ((512, 1024), "bfloat16"),
    ]
    assert read_hlo(trace(mlp, shapes)).mac_count == 3 * 128 * 1024 * 512


def test_two_processes_write_the_same_bytes(tmp_path):
    """This one is the other."""
    result = run(matmul_spec(), tmp_path / "a.hlo", PYTHONHASHSEED="1")
    assert (result.returncode, result.stderr) == (0, "")
    here = trace(matmul, [(tensor["shape"], tensor["dtype"]) for tensor in matmul_spec()["inputs"]])
    assert (tmp_path / "a.hlo").read_bytes() == here


def test_shapes_that_do_not_fit_give_one_line_and_no_file(tmp_path, monkeypatch, capsys):
    (tmp_path / "spec.json").write_text(json.dumps(matmul_spec(k=250)))
    monkeypatch.setattr(sys, "argv", ["xla", str(tmp_path / "spec.json"), str(tmp_path / "a.hlo")])
    assert main() == 1 and not (tmp_path / "a.hlo").exists()
    said = capsys.readouterr().err
    assert re.match(r"error: matmul_xla\.py:\d+: .*contract", said) and said.count("\n") == 1


def test_missing_jax_says_how_to_install_it(tmp_path):
    (tmp_path / "jax.py").write_text("raise ImportError('no jax')")
    result = run(matmul_spec(), tmp_path / "a.hlo", PYTHONPATH=str(tmp_path))
    assert result.returncode == 1
    assert "pip install 'jax>=" in result.stderr and result.stderr.count("\n") == 1


def test_a_spec_without_an_entry_is_a_wrong_call(tmp_path):
    assert run({"inputs": []}, tmp_path / "a.hlo").returncode == 2


def test_an_unknown_entry_is_named():
    with pytest.raises(TraceError, match="nowhere:f"):
        resolve("nowhere:f")
