import io
import sys

import pytest

from neff_bench.stage1_generate.errors import BuildError
from neff_bench.stage1_generate.toolchains.compiler_process import _pass_on, reason, run


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
