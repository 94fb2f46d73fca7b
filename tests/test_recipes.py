"""The recipes of CONTRIBUTING.md, carried out on a copy of the repository."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "CONTRIBUTING.md").read_text()
RECIPES = dict(re.findall(r"^### (.+?)\n(.*?)(?=^### |\Z)", TEXT, flags=re.S | re.M))
BLOCK = re.compile(
    r"^(?:`(?P<file>[^`]+)`(?:, above `(?P<above>\w+)`)?:?\n\n)?```(?P<kind>\w+)\n(?P<body>.*?)^```$", re.S | re.M
)
ROOMS = [path.name for path in (ROOT / "neff_bench").iterdir() if path.is_symlink()]


@pytest.fixture
def copy(tmp_path):
    for name in ["neff_bench", *ROOMS]:
        shutil.copytree(ROOT / name, tmp_path / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "shapes.yaml", tmp_path)
    command = tmp_path / "bin" / "neff-bench"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m neff_bench "$@"\n')
    command.chmod(0o755)
    return tmp_path


def change(copy, block):
    path = copy / block["file"]
    if block["above"] is None:
        path.write_text(block["body"])
        return
    text = path.read_text()
    [line] = re.findall(rf"^ +{block['above']}(?:: |\().*\n", text, flags=re.M)
    path.write_text(text.replace(line, block["body"] + line))


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_is_the_whole_change(name, copy):
    blocks = [match.groupdict() for match in BLOCK.finditer(RECIPES[name])]
    commands = [block["body"] for block in blocks if block["kind"] == "bash"]
    assert len(commands) == 1 and len(blocks) >= 2
    for block in blocks:
        if block["kind"] != "bash":
            change(copy, block)
    environment = {
        **os.environ,
        "PYTHONPATH": str(copy),
        "PATH": f"{copy / 'bin'}:{os.environ['PATH']}",
        "NO_COLOR": "1",
    }
    shell = ["bash", "-euo", "pipefail", "-c", commands[0]]
    done = subprocess.run(shell, cwd=copy, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_there_is_a_recipe_for_each_kind_of_change():
    assert list(RECIPES) == [
        "A kernel",
        "A chip",
        "An operation of the ISA",
        "A metric",
        "An option of a command",
        "A format",
        "A release of the AWS SDK",
    ]
