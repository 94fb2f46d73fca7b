"""Programs that are forked from a warm parent behave like those that are started."""

import json
import os
import platform
import signal
import subprocess
import sys
import threading
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from neff_bench.stage1_generate.jobs import warm as build_warm
from neff_bench.stage2_profile.capture import warm as capture_warm
from neff_bench.stage2_profile.capture.process import Limits, run
from neff_bench.system import child
from neff_bench.system.warm import WarmParent
from tests.watch import free, running, soon

PROGRAM = '''
"""Does what its arguments say."""
import os, signal, sys, time

def main():
    for word in sys.argv[1:]:
        if word == "out":
            print("out")
        elif word == "err":
            print("err", file=sys.stderr)
        elif word == "read":
            print(repr(sys.stdin.read()))
        elif word == "cwd":
            print(os.getcwd())
        elif word == "environment":
            print(os.environ.get("PROGRAM_WORD"), os.environ.get("HOME"))
        elif word == "descriptors":
            print(*sorted(int(name) for name in os.listdir("/proc/self/fd"))[:-1])
        elif word == "path":
            print(sys.path)
        elif word == "signals":
            print({str(n): str(signal.getsignal(n)) for n in signal.valid_signals()})
        elif word == "modules":
            print("program" in sys.modules, "xml.sax" in sys.modules)
        elif word == "faults":
            import resource
            before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
            for _ in range(50):
                for each in [bytearray(2 << 20) for _ in range(3)]:
                    each[:] = bytes(2 << 20)
            print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
        elif word == "raise":
            raise ValueError("no such shape")
        elif word == "exit":
            sys.exit("the end")
        elif word == "abort":
            os.abort()
        elif word == "memory":
            import resource
            resource.setrlimit(resource.RLIMIT_AS, (1 << 31, 1 << 31))
            bytearray(1 << 32)
        elif word == "leave":
            os.system("sleep 61.0741 > /dev/null 2>&1 &")
        elif word == "stubborn":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        elif word == "polite":
            signal.signal(signal.SIGTERM, lambda *_: (print("cleaned"), sys.exit(3)))
        elif word == "hang":
            print("hanging", flush=True)
            time.sleep(600)
        elif word.isdecimal():
            return int(word)

if __name__ == "__main__":
    sys.exit(main())
'''
THREADS = """
import threading, time
threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("programs")
    (folder / "program.py").write_text(PROGRAM)
    (folder / "threads.py").write_text(THREADS)
    return folder


@pytest.fixture(scope="module")
def environment(folder):
    return {**os.environ, "PYTHONPATH": f"{folder}:{Path(__file__).parents[2]}", "HOME": "/nowhere"}


@pytest.fixture(autouse=True)
def any_module(monkeypatch):
    monkeypatch.setattr(child, "PACKAGE", "")


@pytest.fixture(scope="module")
def warm(environment):
    with WarmParent(["program"], environment) as warm:
        yield warm
        assert not warm._lost


@pytest.fixture
def start(tmp_path, environment):
    def go(*words, warm, module="program", **changes):
        env, hold = changes.pop("env", environment), changes.pop("hold", ())
        limits = Limits(**{"timeout_s": 60.0, **changes})
        return run([sys.executable, "-m", module, *words], tmp_path, env, limits, hold, warm)

    return go


@pytest.mark.parametrize(
    "words",
    [
        ("out", "err", "3"),
        ("read", "cwd", "environment"),
        ("descriptors",),
        ("exit",),
        ("abort",),
        ("polite", "hang"),
    ],
)
def test_a_warm_program_answers_as_a_cold_one(start, warm, words, environment):
    stop = threading.Event()
    if "hang" in words:
        threading.Timer(1.0, stop.set).start()
    env = {**environment, "PROGRAM_WORD": "one"}
    cold, forked = (start(*words, warm=parent, env=env, stop=stop) for parent in (None, warm))
    assert (forked.exit_code, forked.stdout, forked.stderr) == (cold.exit_code, cold.stdout, cold.stderr)


def test_an_exception_and_a_memory_limit_end_with_a_traceback_and_exit_code_1(start, warm):
    for word, last in (("raise", b"ValueError: no such shape\n"), ("memory", b"MemoryError\n")):
        done = start(word, warm=warm)
        assert (done.exit_code, done.stderr[-len(last) :]) == (1, last)


def test_a_warm_program_has_what_its_parent_imported(environment, tmp_path):
    program = tmp_path / "which.py"
    program.write_text("import sys\ndef main():\n    print('xml.sax' in sys.modules)\n")
    env = {**environment, "PYTHONPATH": f"{tmp_path}:{environment['PYTHONPATH']}"}
    with WarmParent(["xml.*", "no_such_module", "which:main"], env) as warm:
        argv = [sys.executable, "-m", "which"]
        done = run(argv, tmp_path, env, Limits(60), warm=warm)
    assert done.stdout == b"True\n"


@pytest.mark.skipif("glibc" not in platform.libc_ver(), reason="mallopt of glibc")
def test_a_warm_program_keeps_memory_that_it_freed(start, warm):
    """Each 4 KiB that are taken from the system anew are a fault: 6 MiB, 50 times."""
    faults = [int(start("faults", warm=parent).stdout) for parent in (None, warm)]
    assert faults[1] < 10_000 < faults[0]


def test_a_timeout_ends_a_program_that_ignores_being_asked(start, warm):
    done = start("stubborn", "hang", warm=warm, timeout_s=0.5, grace_s=0.2)
    assert (done.timed_out, done.exit_code) == (True, 128 + signal.SIGKILL)


def test_what_a_program_leaves_behind_is_ended(start, warm):
    assert start("leave", warm=warm).exit_code == 0
    assert soon(lambda: not running("sleep", "61.0741"))


COMMAND = """
import json, os, signal, sys
from pathlib import Path
from neff_bench.system import child
from neff_bench.system.warm import WarmParent
from neff_bench.stage2_profile.capture.process import Limits, run
import xml.sax

child.PACKAGE = ""
kept = open(__file__)
signal.signal(signal.SIGTERM, lambda *_: print("the command's own"))
signal.signal(signal.SIGHUP, signal.SIG_IGN)
print("not yet printed", end="")
with WarmParent(["program"], os.environ) as warm:
    warm.fork()
    answers = []
    for argv in json.loads(sys.argv[1]):
        env = {**os.environ, "PYTHONSAFEPATH": "1", "PROGRAM_WORD": "one"}
        done = run([sys.executable, "-m", "program", *argv], Path("/"), env, Limits(60),
                   warm=warm if sys.argv[2] == "warm" else None)
        answers.append([done.exit_code, done.stdout.decode(), done.stderr.decode()])
print(file=sys.stderr)
print(json.dumps(answers), file=sys.stderr)
"""


def test_a_parent_that_is_a_fork_of_the_command_has_nothing_of_its_own(environment, tmp_path):
    words = [["out", "err", "3"], ["read", "cwd", "environment"], ["descriptors"], ["signals"], ["raise"], ["modules"]]
    (tmp_path / "command.py").write_text(COMMAND)

    def answers(way: str) -> list[list]:
        asked = [sys.executable, str(tmp_path / "command.py"), json.dumps([*words, ["path"]]), way]
        done = subprocess.run(asked, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (0, "not yet printed"), done.stderr
        return json.loads(done.stderr.splitlines()[-1])

    cold, forked = answers("cold"), answers("warm")
    assert cold[4][2].splitlines()[-1] == forked[4][2].splitlines()[-1] == "ValueError: no such shape"
    assert cold[5][1:] == ["False False\n", ""] and forked[5][1:] == ["True True\n", ""]
    assert forked[:4] == cold[:4] and forked[6:] == cold[6:]


CALLER = """
import fcntl, os, sys, threading
from pathlib import Path
from neff_bench.system import child
from neff_bench.system.warm import WarmParent

child.PACKAGE = ""
fd = os.open(sys.argv[1], os.O_CREAT | os.O_RDWR)
fcntl.flock(fd, fcntl.LOCK_EX)
warm = WarmParent(["program"], os.environ)
if sys.argv[2] == "forked":
    warm.fork()
words = [sys.executable, "-m", "program", "stubborn", "hang"]
process = warm.start(words, cwd=Path("/tmp"), environment=os.environ, hold=[fd], grace_s=1.0)
print(process.stdout.readline().decode(), end="", flush=True)
process.wait()
"""


def of(mark: str) -> list[int]:
    """Live processes with this mark in the environment that they were started with."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if f"WARM_MARK={mark}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


@pytest.mark.parametrize("way", ["started", "forked"])
def test_a_killed_command_leaves_no_process_and_no_lock(environment, tmp_path, way):
    """The lock stays until the program, which takes its time, is gone."""
    lock, mark = tmp_path / "lock", str(tmp_path)
    env = {**environment, "WARM_MARK": mark}
    caller = subprocess.Popen([sys.executable, "-c", CALLER, str(lock), way], env=env, stdout=subprocess.PIPE)
    assert caller.stdout.readline() == b"hanging\n"
    caller.kill()
    caller.communicate()
    assert of(mark) and not free(lock)
    assert soon(lambda: free(lock) and not of(mark))


def test_a_killed_parent_takes_its_children_along_and_later_programs_start_cold(start, environment):
    with WarmParent(["program"], environment) as warm:
        argv = [sys.executable, "-m", "program", "hang"]
        hanging = warm.start(argv, cwd=Path("/tmp"), environment=environment)
        assert hanging.stdout.readline() == b"hanging\n"
        warm._wait.__self__.kill()  # of the process that it waits for
        assert hanging.wait() == -signal.SIGKILL
        assert hanging.stdout.read() == b""  # nobody holds the other end any more
        hanging.close()
        assert start("out", warm=warm).stdout == b"out\n"


def test_a_command_with_threads_is_not_forked(environment):
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    with WarmParent(["program"], environment) as warm:
        warm.fork()
        assert warm._wait is None
    done.set()
    thread.join()


def test_children_that_still_run_are_ended_when_the_parent_is_closed(environment):
    with WarmParent(["program"], environment) as warm:
        hanging = warm.start([sys.executable, "-m", "program", "hang"], cwd=Path("/tmp"), environment=environment)
        assert hanging.stdout.readline() == b"hanging\n"
    assert hanging.wait() == -signal.SIGKILL
    hanging.close()


def test_a_parent_with_threads_forks_nothing(start, environment):
    with WarmParent(["threads"], environment) as warm:
        done = start("out", warm=warm)
        assert (done.exit_code, done.stdout) == (0, b"out\n")
        assert warm.start([sys.executable, "-m", "program"], cwd=Path("/tmp"), environment=environment) is None


def test_other_programs_are_started_cold(warm, environment, monkeypatch):
    monkeypatch.setattr(child, "PACKAGE", "neff_bench.")
    for argv in (["ls"], [sys.executable, "-m", "program"], [sys.executable, "-c", "pass"]):
        assert warm.start(argv, cwd=Path("/tmp"), environment=environment) is None


def test_many_programs_at_once_get_their_own_answers(start, warm):
    codes: list[int] = []
    threads = [threading.Thread(target=lambda n=n: codes.append(start(str(n), warm=warm).exit_code)) for n in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(codes) == list(range(20))


@pytest.mark.parametrize(
    "names", [[*build_warm._WORKER, *build_warm._SIMULATOR, *build_warm._TRACER], capture_warm._TOOL]
)
def test_what_a_warm_parent_is_to_import_exists(names):
    modules = {name.partition(":")[0].removesuffix(".*") for name in names} - {"jax"}
    assert [name for name in sorted(modules) if find_spec(name) is None] == []
    called = [name.split(":") for name in names if ":" in name]
    assert [(module, name) for module, name in called if not hasattr(import_module(module), name)] == []
