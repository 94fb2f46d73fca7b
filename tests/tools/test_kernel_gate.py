"""The kernel gate of action.yml, run as GitHub would: on a repository whose last commit changes a kernel."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from neff_bench.doors.tutorial_cli import FILES
from tools.mutate import ROOT

TEST = """
import numpy as np
from my_kernels import scale

def test_scale():
    x = np.ones((512, 2048), np.float32)
    assert (np.asarray(scale(x)) == 2).all()
"""
SHAPES = {"inputs.shapes": "shapes.yaml"}
TESTS = {"inputs.tests": "test_scale.py -q -p no:cacheprovider"}


def git(repository, *words):
    subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=repository, check=True, capture_output=True
    )


@pytest.fixture
def repository(tmp_path):
    """Two commits: a kernel, and the same kernel with the tile that the test puts in."""
    place = tmp_path / "kernels"
    shutil.copytree(FILES, place, ignore=shutil.ignore_patterns("__pycache__"))
    (place / "test_scale.py").write_text(TEST)
    (place / ".gitignore").write_text("__pycache__\ncomment.md\nverdicts.json\n")
    kernel = place / "my_kernels.py"
    kernel.write_text(kernel.read_text().replace("tile=128", "tile=256"))
    git(place, "init", "--quiet")
    git(place, "add", "--all")
    git(place, "commit", "--quiet", "--message", "a kernel")
    return place


def gate(repository: Path, tile: int, inputs) -> tuple[int, dict[str, str]]:
    """Exit code and outputs of the action's last step for a commit that sets the kernel's tile."""
    kernel = repository / "my_kernels.py"
    kernel.write_text(kernel.read_text().replace("tile=256", f"tile={tile}"))
    git(repository, "commit", "--quiet", "--all", "--allow-empty", "--message", "another tile")
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    given = {f"inputs.{name}": asked["default"] for name, asked in action["inputs"].items()}
    given |= {"github.action_path": str(ROOT), "inputs.base": "HEAD~1"} | inputs
    step = action["runs"]["steps"][-1]
    settings = {name: given[text.strip("${} ")] for name, text in step["env"].items()}
    files = {name: repository.parent / name for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", step["run"]],
        cwd=repository,
        env={**os.environ, **settings, **{k: str(v) for k, v in files.items()}, "PATH": path},
        capture_output=True,
        text=True,
    )
    outputs = (
        dict(line.split("=", 1) for line in files["GITHUB_OUTPUT"].read_text().splitlines())
        if files["GITHUB_OUTPUT"].exists()
        else {}
    )
    assert outputs, done.stderr
    return done.returncode, outputs


def commit(place: Path, message: str) -> None:
    git(place, "add", "--all")
    git(place, "commit", "--quiet", "--message", message)


def verdict_of_time(outputs: dict[str, str]) -> str:
    [verdict] = [row["verdict"] for row in json.loads(outputs["verdicts"]) if row["metric"] == "total_time_us"]
    return verdict


def test_a_slower_kernel_fails(repository):
    code, outputs = gate(repository, 128, TESTS)
    assert (code, verdict_of_time(outputs)) == (1, "worse")
    assert "scale" in Path(outputs["comment"]).read_text()


def test_a_faster_kernel_passes(repository):
    code, outputs = gate(repository, 1024, SHAPES)
    assert (code, verdict_of_time(outputs)) == (0, "better")
    assert not list(repository.parent.glob("tmp*")), "the work tree of the base is gone"


def test_a_change_that_brings_the_shapes_file_passes_with_new_cases(repository):
    shapes = (repository / "shapes.yaml").read_text()
    (repository / "shapes.yaml").unlink()
    commit(repository, "no shapes")
    (repository / "shapes.yaml").write_text(shapes)
    commit(repository, "shapes")
    code, outputs = gate(repository, 256, SHAPES | {"inputs.base": "HEAD~2"})
    assert code == 0
    assert "NEW, with nothing to compare with: 1 case" in Path(outputs["comment"]).read_text()


def test_what_others_did_to_the_base_since_is_not_the_change(repository):
    """The base became faster after the change had left it."""
    git(repository, "checkout", "--quiet", "-b", "main")
    kernel = repository / "my_kernels.py"
    slow = kernel.read_text()
    kernel.write_text(slow.replace("tile=256", "tile=1024"))
    commit(repository, "faster")
    git(repository, "checkout", "--quiet", "-b", "change", "HEAD~1")
    code, outputs = gate(repository, 256, SHAPES | {"inputs.base": "main"})
    assert (code, verdict_of_time(outputs)) == (0, "same")


def test_a_base_that_is_not_there_is_a_wrong_call_and_leaves_no_old_answer(repository):
    (repository / "comment.md").write_text("of before")
    script = ROOT / "tools" / "kernel_gate.sh"
    settings = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "BASE": "mian", "SHAPES": "shapes.yaml"}
    done = subprocess.run([script], cwd=repository, env={**os.environ, **settings}, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (2, "error: BASE=mian: no such commit or branch here\n")
    assert not (repository / "comment.md").exists()


def test_without_neff_bench_it_is_a_wrong_call_and_not_a_slower_kernel(tmp_path):
    path = tmp_path / "bin"
    path.mkdir()
    for program in ("bash", "git", "mktemp", "rm", "ln"):
        (path / program).symlink_to(shutil.which(program))
    script = ROOT / "tools" / "kernel_gate.sh"
    done = subprocess.run([script], cwd=tmp_path, env={"PATH": str(path)}, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (2, "error: neff-bench is not on PATH: pip install it first\n")
