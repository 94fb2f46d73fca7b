import io
import os
import sys

import pytest

from neff_bench.installation import IMPORT_ROOT
from neff_bench.stage1_generate.errors import BuildError
from neff_bench.stage1_generate.toolchains import compiler_process
from neff_bench.stage1_generate.toolchains.compiler_process import _pass_on, python_environment, reason, run


@pytest.mark.parametrize(
    ("returncode", "output", "says"),
    [
        (1, "loading\nerror: kernel.py:3: no\nbye\n", "kernel.py:3: no"),
        (1, "ERROR: [NCC] no\n", "[NCC] no"),
        (1, "Traceback\nValueError: no\n", "ValueError: no"),
        (1, "MemoryError\na\nb\n", "ran out of memory (see compile.log)"),
        (1, "MemoryError\na\nb\nc\n", "c"),
        (0, "error: x\n", "x"),
        (1, "error: first\nerror: last\nmore\n", "last"),
        (1, "error: " + "x" * 300, "x" * 300),
        (1, "error: " + "x" * 301, "x" * 297 + "..."),
        (70, "", "exit code 70 (see compile.log)"),
        (1, "numpy._core._exceptions._ArrayMemoryError: Unable\n", "ran out of memory (see compile.log)"),
        (-9, "working\n", "killed by SIGKILL, most likely for lack of memory (see compile.log)"),
        (-11, "working\n", "killed by SIGSEGV (see compile.log)"),
        (-99, "", "killed by signal 99 (see compile.log)"),
        (1, "error: \x1b[31mred\x1b[0m\n", "?[31mred?[0m"),
    ],
)
def test_a_failed_command_is_one_line(returncode, output, says):
    assert reason(returncode, output) == says


def test_a_very_long_line_is_shortened():
    assert len(reason(1, "error: " + "x" * 10_000)) == 300


def test_output_goes_through_and_its_end_is_kept(capfd):
    with pytest.raises(BuildError, match="^last$"):
        run([sys.executable, "-c", "print('a' * 100_000); print('last'); raise SystemExit(1)"])
    assert len(capfd.readouterr().out) == 100_006
    kept = _pass_on(io.BufferedReader(io.BytesIO(b"a" * 100_000 + b"\nlast\n")))
    assert kept.endswith("last\n") and len(kept) <= 8192


def test_a_command_that_is_not_there_is_named():
    with pytest.raises(BuildError, match="cannot start no-such-command: No such file"):
        run(["no-such-command"])


@pytest.mark.parametrize(("module", "may", "forked"), [(True, True, True), (True, False, False), (False, True, False)])
def test_a_module_of_ours_is_forked_where_that_may_be_and_everything_else_started(
    monkeypatch, capfd, module, may, forked
):
    asked = []

    def fork_module(argv, environment, output):
        asked.append((argv, dict(environment)))
        words = [sys.executable, "-c", "print('forked')"]
        return os.posix_spawn(words[0], words, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, output, 1)])

    monkeypatch.setattr(compiler_process, "may_fork", lambda: may)
    monkeypatch.setattr(compiler_process, "fork_module", fork_module)
    argv = [sys.executable, "-m", "neff_bench.installation" if module else "keyword"]
    environment = python_environment()
    run(argv, environment)
    assert asked == ([(argv, environment)] if forked else [])
    assert capfd.readouterr().out == ("forked\n" if forked else "")
    run(argv)
    assert [given for _, given in asked[1:]] == ([dict(os.environ)] if forked else [])


def test_a_command_takes_the_time_between_its_begin_and_its_end(monkeypatch):
    monkeypatch.setattr(compiler_process.time, "perf_counter", iter([10.0, 12.5]).__next__)
    assert run([sys.executable, "-c", ""]) == 2.5


@pytest.mark.parametrize("inherited", [None, "", "/a:/b"])
def test_python_finds_our_own_packages_before_those_of_the_environment(monkeypatch, inherited):
    monkeypatch.delenv("PYTHONPATH", raising=False)
    if inherited is not None:
        monkeypatch.setenv("PYTHONPATH", inherited)
    assert python_environment() == {**os.environ, "PYTHONPATH": f"{IMPORT_ROOT}{':/a:/b' if inherited else ''}"}


@pytest.mark.parametrize(
    ("sizes", "kept"),
    [((8192,), 8192), ((8191,), 8191), ((5, 8192), 8192), ((9000,), 8192), ((4, 8190), 8192), ((), 0)],
)
def test_of_all_output_the_last_8_kibibytes_are_kept_and_no_more_blocks_than_hold_them(capfd, sizes, kept):
    blocks = [bytes([97 + at]) * size for at, size in enumerate(sizes)]

    class Pieces:
        def __init__(self):
            self.left = list(blocks)

        def read1(self, most):
            assert most == 65536
            return self.left.pop(0) if self.left else b""

    whole = b"".join(blocks).decode()
    assert _pass_on(Pieces()) == (whole[-kept:] if kept else "") and capfd.readouterr().out == whole
