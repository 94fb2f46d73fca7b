"""Forked calls: a crash, a hang or a hunger for memory costs one answer; nothing is left running."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SCRIPT = """
import os, signal, sys, time
from neff_bench.system.forked import Died, map_forked

def call(item):
    if item == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if item == "hang":
        time.sleep(600)
    if item == "eat":
        return bytes(1 << 30)
    if item == "raise":
        raise ValueError("no such shape")
    if item == "leave":
        os._exit(7)
    if item == "print":
        print("noise")
    if item == "child":
        os.system("sleep 61.0742 &")
    return item.encode() * 100_000

items = sys.argv[1:]
for item, answer in map_forked(call, items, jobs=2, timeout_s=1.5, memory_bytes=256 << 20):
    print(item, answer.reason if isinstance(answer, Died) else len(answer), flush=True)
"""


def run(*items: str) -> dict[str, str]:
    done = subprocess.run([sys.executable, "-c", SCRIPT, *items], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return dict(line.split(" ", 1) for line in done.stdout.splitlines())


@pytest.mark.parametrize(
    ("item", "answer"),
    [
        ("good", "400000"),
        ("print", "500000"),
        ("crash", "killed by SIGSEGV"),
        ("eat", "ran out of memory"),
        ("raise", "ValueError: no such shape"),
        ("leave", "exit code 7"),
        ("hang", "took longer than 1.5 s"),
    ],
)
def test_what_a_call_does_is_its_own_answer(item, answer):
    assert run("good", item) == {"good": "400000", item: answer}


def test_the_last_calls_may_end_in_one_moment():
    late = """
from neff_bench.system import forked
step = forked._step
def late_step(selector):
    time.sleep(0.3)  # both calls have ended before their answers are read
    return step(selector)
forked._step = late_step
"""
    script = SCRIPT.replace("\nitems =", f"\n{late}\nitems =")
    done = subprocess.run([sys.executable, "-c", script, "a", "b"], capture_output=True, text=True, timeout=30)
    assert sorted(done.stdout.splitlines()) == ["a 100000", "b 100000"], done.stderr


def test_programs_that_a_call_started_end_with_it():
    run("child")
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout.splitlines()
    assert "sleep 61.0742" not in listed


def test_children_die_with_a_killed_parent():
    parent = subprocess.Popen([sys.executable, "-c", SCRIPT.replace("timeout_s=1.5", "timeout_s=600"), "hang"])
    children = Path(f"/proc/{parent.pid}/task/{parent.pid}/children")
    while not (pids := children.read_text().split()):
        time.sleep(0.01)
    time.sleep(0.1)  # the child names its parent's death as its own end right after the fork
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    deadline = time.monotonic() + 10
    while any(os.path.exists(f"/proc/{pid}") for pid in pids):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_process_with_threads_is_refused():
    import threading

    from neff_bench.system.forked import map_forked

    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    try:
        with pytest.raises(RuntimeError, match="threads"):
            list(map_forked(lambda item: b"", ["x"], jobs=1, timeout_s=1, memory_bytes=1 << 28))
    finally:
        stop.set()
        thread.join()


def test_a_call_that_forks_gives_one_answer():
    program = """
import os, time
from neff_bench.system.forked import map_forked
def call(item):
    time.sleep(0.3 if os.fork() else 0)
    return b"answer"
print(list(map_forked(call, ["x"], jobs=1, timeout_s=20, memory_bytes=1 << 28)))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stdout == "[('x', b'answer')]\n", done.stdout + done.stderr
