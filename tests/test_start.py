"""Ctrl-C outside of a command's work: while Python imports it, and at the end of the process."""

import subprocess
import sys
from pathlib import Path

import pytest

import neff_bench

COMMANDS = {
    "generate_neffs": ["--help"],
    "profile_neffs": ["--help"],
    "neuron_sim": ["--version"],
    "neff_bench": ["generate", "--help"],
}
INTERRUPTED = """
import os, signal, sys
from importlib.machinery import PathFinder
from neff_bench import start
command, moment = sys.argv[1], int(sys.argv[2])
del sys.argv[1:3]
class Interrupting(PathFinder):  # asked for each module that is not there yet
    seen = 0
    @classmethod
    def find_spec(cls, *of_a_module):
        cls.seen += 1
        if cls.seen == moment:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupting)
getattr(start, command)()
"""
AT_THE_END = """
import atexit, os, signal, sys
signal.signal(signal.SIGINT, getattr(signal, sys.argv[1]))
from neff_bench import start
atexit.register(lambda: (os.kill(os.getpid(), signal.SIGINT), print("still here")))
"""


IMPORTED = """
import os, sys
before = {*sys.modules}
import neff_bench.start
print(*sorted({*sys.modules} - before))
"""


def ended(program, *words):
    return subprocess.run([sys.executable, "-c", program, *map(str, words)], capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("module", [1, 2, 10, 40])
def test_a_ctrl_c_during_imports_ends_in_silence_with_130(command, module):
    done = ended(INTERRUPTED, command, module, *COMMANDS[command])
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_nothing_else_is_imported_before_ctrl_c_is_handled():
    bare = [sys.executable, "-S", "-c", IMPORTED]
    done = subprocess.run(bare, capture_output=True, text=True, env={"PYTHONPATH": str(Path(__file__).parents[1])})
    # `gc` is a part of Python that is no file.
    assert done.stdout.split() == ["__future__", "gc", "neff_bench", "neff_bench.start"]


def test_a_ctrl_c_after_the_answer_ends_the_process_without_a_traceback():
    done = ended(AT_THE_END, "default_int_handler")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_a_ctrl_c_that_is_ignored_stays_so():
    done = ended(AT_THE_END, "SIG_IGN")
    assert (done.returncode, done.stdout, done.stderr) == (0, "still here\n", "")


@pytest.mark.parametrize("command", ["generate_neffs", "profile_neffs", "neff_bench"])
def test_the_version_is_said_without_a_module_for_options(command):
    done = ended(
        f"from neff_bench import start; start.{command}(); import sys; print('click' in sys.modules)", "--version"
    )
    assert done.stdout.split() == ["neff-bench", neff_bench.__version__, "False"]


def test_a_version_that_cannot_be_written_is_one_line():
    command = [sys.executable, "-c", "from neff_bench import start; start.neff_bench()", "--version"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1 and done.stderr.startswith("error: ") and done.stderr.count("\n") == 1
