"""The log of a worker."""

import io

import pytest

from neff_bench.neffs.bundle import LOG
from neff_bench.stage1_generate.jobs import worker_process
from neff_bench.system.leashed import Leashed


@pytest.mark.parametrize(
    ("sizes", "most", "kept", "dropped"),
    [((3, 4), 10, 7, 0), ((3, 4), 7, 7, 0), ((3, 4), 6, 6, 1), ((9, 4, 5), 6, 6, 12), ((6, 4), 6, 6, 4), ((), 6, 0, 0)],
)
def test_a_log_keeps_its_first_bytes_and_says_how_many_were_dropped(tmp_path, monkeypatch, sizes, most, kept, dropped):
    monkeypatch.setattr(worker_process, "LOG_BYTES", most)

    class Pieces(io.RawIOBase):
        def __init__(self):
            self.left = [b"x" * size for size in sizes]

        def read1(self, _):
            return self.left.pop(0) if self.left else b""

    worker_process._copy_log(Pieces(), tmp_path / "log")
    note = f"\n[{dropped} more bytes were not kept]\n" if dropped else ""
    assert (tmp_path / "log").read_text() == "x" * kept + note


def test_a_log_keeps_16_mebibytes():
    assert worker_process.LOG_BYTES == 16 * 1024 * 1024


MODULE = """
import os, sys, time
line = sys.stdin.readline()
print("got", line, end="", flush=True)
print("told", file=sys.stderr, flush=True)
print(os.getcwd(), flush=True)
if line == "wait\\n":
    time.sleep(600)
sys.exit(3)
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A function that runs a module which ends by itself unless it is told to wait; returns the exit code and the log."""
    (tmp_path / "a_module_of_ours.py").write_text(MODULE)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (tmp_path / "there").mkdir()

    def call(line, timeout_s, **more):
        code = worker_process.run_module("a_module_of_ours", line, tmp_path / "there", timeout_s, **more)
        return code, (tmp_path / "there" / LOG).read_text()

    return call


def test_a_module_gets_its_line_in_its_directory_and_both_its_outputs_are_the_log(run, tmp_path):
    assert run(b"go", 60) == (3, f"got go\ntold\n{tmp_path / 'there'}\n")


def test_a_module_that_takes_too_long_is_ended(run):
    code, log = run(b"wait", 0.5)
    assert code is None and "Traceback" not in log


def test_a_module_is_ended_where_the_run_is(run, tmp_path):
    asked = []

    def go_on():
        asked.append(None)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(b"wait", 60, go_on=go_on)
    assert asked == [None]


@pytest.mark.parametrize("forks", [True, False])
def test_a_module_is_forked_from_the_warm_parent_where_that_can_and_started_cold_else(run, forks):
    asked = {}

    class Warm:
        def start(self, argv, **more):
            asked.update(more, argv=argv)
            return Leashed(argv, **more) if forks else None

    assert run(b"go", 60, warm=Warm())[0] == 3
    assert asked["argv"][1:] == ["-m", "a_module_of_ours"] and asked["stdin"] and asked["one_stream"]
