"""`check --with-neuronx-cc` asks AWS's compiler where it is installed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sdk import contracts, fake_nki

ROOT = Path(__file__).parents[2]
KERNEL = """
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(a):
    if a.shape[1] == 5:
        raise TypeError("the compiler knows no 5")
    return nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
"""
CASE = (
    "- {{kernel: kernel.py:kernel, implementation: nki, N: {}, inputs: {{a: {{shape: [128, N], dtype: float32}}}}}}\n"
)


@pytest.fixture
def check(tmp_path):
    """`check` with the fake compiler of a release, None for no compiler, on cases of so many columns."""

    def run(release, columns, *words):
        (tmp_path / "kernel.py").write_text(KERNEL)
        (tmp_path / "shapes.yaml").write_text("cases:\n" + "".join(map(CASE.format, columns)))
        path = [str(ROOT)]
        if release is not None:
            (tmp_path / "sdk").mkdir()
            path += [str(ROOT / "tests/stage1_generate/fake_sdk/common"), str(tmp_path / "sdk")]
            fake_nki.install(json.loads(contracts.text(release)), tmp_path / "sdk")
        done = subprocess.run(
            [sys.executable, "-m", "neff_bench", "check", "kernel.py", *words],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path)},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    return run


ASK = ("--shapes", "shapes.yaml", "--with-neuronx-cc")


def test_what_the_compiler_takes_is_compiled_by_its_own_release(check):
    code, out, err = check("2.31", [64], *ASK)
    assert (code, err) == (0, "")
    head, row = out.splitlines()[-2:]
    assert head.split() == ["file", "chip", "2.31"] and row.split()[:3] == ["kernel.py", "trn2", "compiled"]


def test_what_the_compiler_refuses_has_its_words(check):
    code, out, _ = check("2.31", [64, 5], *ASK)
    assert code == 1 and "the compiler knows no 5" in out and "refuses it (neuronx-cc)" in out


def test_a_host_without_the_compiler_says_so_in_one_line(check):
    code, out, err = check(None, [64], *ASK)
    assert (code, out) == (2, "") and "AWS's compiler is not installed here" in err and len(err.splitlines()) <= 3


def test_a_release_that_is_not_here_is_a_wrong_call(check):
    code, _, err = check("2.31", [64], *ASK, "--sdk", "2.32")
    assert code == 2 and "the compiler here is of SDK 2.31" in err
