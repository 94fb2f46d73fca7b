"""Pipes in place of sources: one line at once, where reading would wait for ever."""

import os

import pytest
from click.testing import CliRunner

from neff_bench.cli import main


@pytest.mark.parametrize("command", ["check", "migrate", "inspect"])
def test_a_pipe_is_one_line(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe.py")
    done = CliRunner().invoke(main, [command, "pipe.py"])
    assert done.exit_code in (1, 2)
    assert "plain file" in done.output or "regular file" in done.output


def test_a_folder_with_a_pipe_is_one_line_too(tmp_path):
    os.mkfifo(tmp_path / "pipe.py")
    done = CliRunner().invoke(main, ["check", str(tmp_path)])
    assert done.exit_code == 2 and "pipe.py: not a plain file" in done.output
