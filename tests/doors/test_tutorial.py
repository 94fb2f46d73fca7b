"""The tutorial's files are those of the quickstart, and run."""

import subprocess
import sys

from neff_bench.doors.tutorial_cli import FILES
from tools.docs import FILE
from tools.mutate import ROOT


def run(*words, cwd):
    return subprocess.run([sys.executable, "-m", "neff_bench", *words], cwd=cwd, capture_output=True, text=True)


def test_the_files_are_those_that_the_readme_shows():
    shown = {
        name.replace("mine.yaml", "shapes.yaml"): text for name, text in FILE.findall((ROOT / "README.md").read_text())
    }
    assert shown == {path.name: path.read_text() for path in FILES.iterdir() if path.is_file()}


def test_its_kernel_is_built_and_right(tmp_path):
    assert run("tutorial", "t", cwd=tmp_path).returncode == 0
    assert run("generate", "--shapes", "t/shapes.yaml", "--out", "s", cwd=tmp_path).returncode == 0
    done = run("profile", "s", "--format", "csv", "--columns", "kernel,check", cwd=tmp_path)
    assert done.stdout.split() == ["kernel,check", "my_kernels.scale,passed"]


def test_files_that_are_there_stay(tmp_path):
    (tmp_path / "shapes.yaml").write_text("mine")
    done = run("tutorial", ".", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, "error: . has shapes.yaml already; name a new directory\n")
    assert [path.name for path in tmp_path.iterdir()] == ["shapes.yaml"]
