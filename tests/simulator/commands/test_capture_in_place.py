"""A kernel that writes into its input: the names in its NEFF, what its executions see, and how a case of it is profiled."""

import json
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from neff_bench.neffs.bundle import read_bundle, write_manifest
from neff_bench.parsers.neff import read_neff
from neff_bench.simulator.commands.capture import capture
from neff_bench.simulator.commands.capture_options import CaptureOptions
from neff_bench.simulator.files.neff import write_neff
from neff_bench.simulator.nki.install import install
from neff_bench.simulator.nki.spec import InputSpec
from neff_bench.simulator.nki.trace import Call, record
from neff_bench.stage1_generate.cli import generate
from neff_bench.stage2_profile.cli import profile

install()

import nki.isa as nisa  # noqa: E402 - after install
import nki.language as nl  # noqa: E402

KERNEL = """
import nki, nki.language as nl

@nki.jit
def accumulate(acc, x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    given = nl.load(x)
    nl.store(acc, nl.add(nl.load(acc), given))
    nl.store(out, nl.multiply(given, 2.0))
    return out, acc

def right(acc, x):
    return 2 * x, acc + x
"""
SHAPES = """
cases:
- kernel: k.py:accumulate
  implementation: nki
  inputs: {acc: {shape: [128, 16]}, x: {shape: [128, 16]}}
  outputs: {out: {shape: [128, 16]}, acc: {shape: [128, 16]}}
  reference: k.py:right
  dtype: float32
  target: trn2
  lnc: 1
"""


def accumulate(acc, x):
    tile, more = (nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf) for _ in range(2))
    nisa.dma_copy(dst=tile, src=acc)
    nisa.dma_copy(dst=more, src=x)
    nisa.tensor_tensor(dst=tile, data1=tile, data2=more, op=nl.add)
    nisa.dma_copy(dst=acc, src=tile)
    return acc


@pytest.fixture
def folder(tmp_path, monkeypatch):
    given = [InputSpec("acc", (2, 4), "float32"), InputSpec("x", (2, 4), "float32")]
    write_neff(record(Call(accumulate, "k", given, outputs=("acc",)), "trn2", 1), str(tmp_path / "file.neff"))
    np.zeros(8, np.float32).tofile(tmp_path / "acc.bin")
    np.ones(8, np.float32).tofile(tmp_path / "x.bin")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_neff_marks_the_input_and_calls_the_output_by_the_name_in_the_kernel(folder):
    neff = read_neff(folder / "file.neff")
    assert [tensor.name for tensor in neff.inputs] == ["acc.must_alias_input", "x"]
    assert [tensor.name for tensor in neff.outputs] == ["acc"]


@pytest.mark.parametrize(("again", "third"), [(False, 3), (True, 1)])
def test_an_execution_sees_what_the_one_before_it_wrote_unless_inputs_are_written_again(folder, again, third):
    inputs = ("acc.must_alias_input", "acc.bin", "x", "x.bin")
    how = "alias" if again else None
    capture(CaptureOptions(num_exec=3, nth=3, save_output=True, inputs=inputs, write_tensors_per_exec=how))
    assert np.fromfile("acc.3", np.float32).tolist() == [third] * 8


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    home = tmp_path_factory.mktemp("in_place")
    (home / "k.py").write_text(KERNEL)
    (home / "shapes.yaml").write_text(SHAPES)
    words = ["--shapes", str(home / "shapes.yaml"), "--out", str(home / "store"), "--toolchain", "sim"]
    assert CliRunner().invoke(generate, words).exit_code == 0
    (case,) = (path for path in (home / "store").iterdir() if (path / "case.json").is_file())
    return case


def test_a_case_that_writes_into_its_input_is_checked_and_its_inputs_are_written_again(built):
    done = CliRunner().invoke(profile, [str(built.parent), "--format", "json"])
    assert (done.exit_code, json.loads(done.stdout)[0]["check"]) == (0, "passed")
    (run,) = (path for path in (built / "profiles").iterdir() if (path / "run.json").is_file())
    said = json.loads((run / "run.json").read_text())["commands"][0]["argv"]
    assert said[said.index("--write-tensors-per-exec") + 1] == "alias"
    assert "acc.must_alias_input" in said


def test_a_neff_that_is_not_what_its_case_says_is_not_captured(built):
    bundle = read_bundle(built)
    other = replace(bundle.manifest.case, lnc=2)
    write_manifest(built, replace(bundle.manifest, case=other))
    done = CliRunner().invoke(profile, [str(built.parent), "--format", "json", "--force"])
    (row,) = json.loads(done.stdout)
    write_manifest(built, bundle.manifest)
    assert (done.exit_code, row["status"]) == (1, "failed")
    assert row["reason"].startswith("the NEFF has LNC 1, its case LNC 2")
