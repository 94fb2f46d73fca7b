from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import pytest

from neff_bench.stage2_profile.capture.process import LOG_LIMIT_BYTES, Limits, describe_exit, run
from tests.watch import free, running, soon


def start(argv, tmp_path, warm=None, **changes):
    return run(argv, tmp_path, os.environ, Limits(**{"timeout_s": 20.0, **changes}), warm=warm)


def test_streams_and_exit_code_are_kept_apart(tmp_path):
    done = start(["sh", "-c", "echo out; echo err >&2; exit 3"], tmp_path)
    assert (done.exit_code, done.stdout, done.stderr) == (3, b"out\n", b"err\n")


def test_a_program_that_is_not_there_says_so(tmp_path):
    done = start(["no-such-program"], tmp_path)
    assert done.exit_code == 127
    assert b"no-such-program: No such file" in done.stderr


def test_a_signal_is_named(tmp_path):
    done = start(["sh", "-c", "kill -SEGV $$"], tmp_path)
    assert describe_exit(done, 1) == "killed by SIGSEGV"


def test_an_exit_code_that_no_signal_has_is_one(tmp_path):
    assert describe_exit(start(["sh", "-c", "exit 255"], tmp_path), 1) == "exit code 255"


def test_a_timeout_ends_the_whole_group(tmp_path):
    done = start(["sh", "-c", "sleep 61.0731 & sleep 61.0731"], tmp_path, timeout_s=0.3)
    assert done.timed_out
    assert describe_exit(done, 0.3) == "no answer in 0.3 s, ended"
    assert soon(lambda: not running("sleep", "61.0731"))


def test_a_program_that_ignores_being_asked_is_killed(tmp_path):
    argv = ["sh", "-c", "trap '' TERM; while :; do sleep 0.0741; done"]
    done = start(argv, tmp_path, timeout_s=0.3, grace_s=0.3)
    assert (done.timed_out, done.exit_code) == (True, 128 + signal.SIGKILL)
    assert soon(lambda: not running("sleep", "0.0741"))


def test_a_program_that_is_ended_may_clean_up(tmp_path):
    argv = ["sh", "-c", "trap 'echo cleaned; exit 3' TERM; while :; do sleep 0.05; done"]
    done = start(argv, tmp_path, timeout_s=0.3)
    assert (done.timed_out, done.exit_code, done.stdout) == (True, 3, b"cleaned\n")


def test_what_a_program_leaves_behind_is_ended(tmp_path):
    done = start(["sh", "-c", "sleep 61.0732 >/dev/null 2>&1 & exit 0"], tmp_path)
    assert done.exit_code == 0
    assert soon(lambda: not running("sleep", "61.0732"))


@pytest.mark.parametrize("seconds", [0.3, 20])
def test_what_a_program_leaves_in_a_session_of_its_own_is_ended(tmp_path, seconds):
    """By its end and by its time limit; a second daemon is started by the first one."""
    program = "setsid sh -c 'setsid sleep 61.0734 & exec sleep 61.0734' >/dev/null 2>&1 & sleep 0.2; "
    done = start(["sh", "-c", program + f"[ {seconds} = 20 ] || sleep 61.0734; exit 3"], tmp_path, timeout_s=seconds)
    assert done.timed_out == (seconds < 1) and done.exit_code == (128 + signal.SIGTERM if done.timed_out else 3)
    assert not running("sleep", "61.0734")


def test_a_daemon_that_ends_first_does_not_end_the_watch(tmp_path):
    done = start(["sh", "-c", "(setsid true &); sleep 61.0735"], tmp_path, timeout_s=0.3)
    assert done.timed_out and not running("sleep", "61.0735")


def test_a_stop_ends_the_program(tmp_path):
    stop = threading.Event()
    threading.Timer(0.2, stop.set).start()
    done = start(["sleep", "60"], tmp_path, stop=stop)
    assert done.stopped


def test_a_log_of_any_length_is_bounded_and_keeps_both_ends(tmp_path):
    done = start(["sh", "-c", "echo first; yes | head -c 20000000; echo last"], tmp_path)
    assert len(done.stdout) < LOG_LIMIT_BYTES + 100
    assert done.stdout.startswith(b"first\n")
    assert done.stdout.endswith(b"last\n")
    assert b"bytes left out" in done.stdout


def test_an_answer_over_its_limit_ends_the_program(tmp_path):
    done = start(["yes"], tmp_path, stdout_limit=100_000)
    assert done.overflowed


def test_an_answer_within_its_limit_is_whole(tmp_path):
    done = start(["sh", "-c", "yes | head -c 3000000"], tmp_path, stdout_limit=4_000_000)
    assert len(done.stdout) == 3_000_000


def test_a_killed_caller_leaves_no_process_and_no_lock(tmp_path):
    """The lock stays until the program, which takes its time, is gone; then it is free."""
    lock = tmp_path / "lock"
    code = (
        "import fcntl, os, pathlib\n"
        "from neff_bench.stage2_profile.capture.process import Limits, run\n"
        f"fd = os.open({str(lock)!r}, os.O_CREAT | os.O_RDWR)\n"
        "fcntl.flock(fd, fcntl.LOCK_EX)\n"
        "slow = ['sh', '-c', \"trap '' TERM; sleep 61.0733; sleep 61.0733\"]\n"
        "run(slow, pathlib.Path('/tmp'), os.environ, Limits(60, grace_s=1.5), hold=[fd])\n"
    )
    caller = subprocess.Popen([sys.executable, "-c", code])
    try:
        assert soon(lambda: running("sleep", "61.0733"))
    finally:
        caller.send_signal(signal.SIGKILL)
        caller.wait()
    assert not free(lock)
    assert soon(lambda: free(lock))
    assert not running("sleep", "61.0733")


@pytest.mark.parametrize("size", [0, 1, 999, 1000, 1001, 5000])
def test_bounded_keeps_what_fits(size):
    from neff_bench.stage2_profile.capture.process import Bounded

    data = bytes(range(256)) * 20
    kept = Bounded(1000)
    for at in range(0, size, 7):
        kept.add(data[at : min(at + 7, size)])
    text = kept.bytes()
    assert text[:500] == data[: min(size, 500)]
    assert (text == data[:size]) == (size <= 1000)
    if size:
        assert text[-1] == data[size - 1]


class EndsBetweenTwoLooks:
    """A program that prints its only line and ends right before it is asked for the `look`-th time whether it has ended."""

    stderr = None

    def __init__(self, look: int) -> None:
        read, self._write = os.pipe()
        self.stdout, self._look, self._looks = open(read, "rb"), look, 0

    def start(self, argv, **options):
        return self

    def poll(self):
        self._looks += 1
        if self._looks == self._look:
            os.write(self._write, b"the end\n")
            os.close(self._write)
        return 0 if self._looks >= self._look else None

    def wait(self, seconds: float) -> None: ...

    def end(self) -> None: ...

    def close(self) -> None:
        self.stdout.close()


@pytest.mark.parametrize("look", range(1, 7))
def test_the_last_line_is_kept_whenever_the_program_ends(tmp_path, look):
    done = start(["program"], tmp_path, warm=EndsBetweenTwoLooks(look))
    assert (done.exit_code, done.stdout) == (0, b"the end\n")
