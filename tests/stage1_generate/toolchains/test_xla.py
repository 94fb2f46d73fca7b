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


@pytest.mark.parametrize(
    ("text", "code"), [(None, 2), ("{", 2), ("[]", 2), ('{"entry": "m:f"}', 2), ('{"entry": "m:f", "inputs": [{}]}', 2), ('{"entry": "nowhere:f", "inputs": []}', 1)],
)  # fmt: skip
def test_a_call_that_is_wrong_is_told_apart_from_a_trace_that_fails(tmp_path, monkeypatch, capsys, text, code):
    words = ["xla", str(tmp_path / "spec.json"), str(tmp_path / "out.hlo")]
    if text is not None:
        (tmp_path / "spec.json").write_text(text)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "argv", words)
    assert main() == code and not (tmp_path / "out.hlo").exists()
    assert capsys.readouterr().err.count("\n") == 1
    for wrong in (words[:2], [*words, "more"]):
        monkeypatch.setattr(sys, "argv", wrong)
        assert main() == 2 and "expected python -m" in capsys.readouterr().err


def test_arguments_are_constants_of_the_graph_and_unused_inputs_stay(tmp_path, monkeypatch):
    (tmp_path / "of_two.py").write_text("def scale(x, y, by=1):\n    return x * by\n")
    spec = {"entry": "of_two:scale", "arguments": {"by": 3}, "path": [str(tmp_path)],
            "inputs": [{"name": name, "shape": [2], "dtype": "float32"} for name in "xy"]}  # fmt: skip
    (tmp_path / "spec.json").write_text(json.dumps(spec))
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "argv", ["xla", str(tmp_path / "spec.json"), str(tmp_path / "out.hlo")])
    assert main() == 0 and sys.path[0] == str(tmp_path)
    module = read_hlo((tmp_path / "out.hlo").read_bytes())
    opcodes = [one.opcode for one in module.computations[module.entry].instructions]
    assert opcodes.count("parameter") == 2 and "multiply" in opcodes


def test_a_function_that_cannot_be_traced_is_told_with_the_line_in_its_own_file():
    def wrong(x):
        return x @ x

    def silent(x):
        raise ValueError

    line = wrong.__code__.co_firstlineno + 1
    with pytest.raises(TraceError, match=rf"^test_xla\.py:{line}: "):
        trace(wrong, [((2, 3), "float32")])
    with pytest.raises(TraceError, match=rf"^test_xla\.py:{silent.__code__.co_firstlineno + 1}: ValueError$"):
        trace(silent, [((2, 3), "float32")])
    with pytest.raises(TraceError, match=r"^dtype 'int7' is unknown"):
        trace(wrong, [((2, 3), "int7")])
    with pytest.raises(TraceError, match=r"^tests.*:wrong: "):
        trace(wrong, [])
