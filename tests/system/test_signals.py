"""Signals outside of the work: at the end of the process."""

import signal
import subprocess
import sys

AT_THE_END = """
import atexit, os, signal, sys
from neff_bench.system import signals
atexit.register(lambda: (os.kill(os.getpid(), signal.SIGINT), print("still here")))
signal.signal(signal.SIGINT, getattr(signal, sys.argv[1]))
atexit.register(signals.silent_from_now_on)
"""


def ended(handler):
    """A process that gets a SIGINT when its answer is said."""
    return subprocess.run([sys.executable, "-c", AT_THE_END, handler], capture_output=True, text=True, timeout=60)


def test_a_ctrl_c_after_the_answer_ends_the_process_without_a_traceback():
    done = ended("default_int_handler")
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


def test_a_ctrl_c_that_is_ignored_stays_so_at_the_end():
    done = ended("SIG_IGN")
    assert (done.returncode, done.stdout, done.stderr) == (0, "still here\n", "")
