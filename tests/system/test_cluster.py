"""What a command says when it cannot work on a cluster; tests/test_soak_ray.py works on one."""

import _thread
import socket
import subprocess
import sys
import time

import pytest

from neff_bench.system.cluster import ended_in_order

COMMANDS = {
    "stage1_generate": ["--preset", "boundary", "--out", "out"],
    "stage2_profile": ["out"],
}
CALL = """
import sys, types
sys.modules["ray"] = {ray}
from neff_bench.{room}.cli import main
sys.argv = ["command", *{words!r}]
main()
"""


def said(tmp_path, room, ray, *words):
    """Exit code and standard error of a command in a Python that has, or has not, a module `ray`."""
    (tmp_path / "out" / ".store").mkdir(parents=True)
    (tmp_path / "out" / "case").mkdir()
    code = CALL.format(room=room, ray=ray, words=[*COMMANDS[room], *words])
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stderr


@pytest.mark.parametrize("room", COMMANDS)
def test_a_host_without_ray_is_told_what_to_install(tmp_path, room):
    code, told = said(tmp_path, room, None, "--ray", "auto")
    assert code == 2 and told.startswith("error: --ray needs Ray: pip install 'ray>=")


def test_an_address_where_nothing_answers_is_said_at_once(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    code, text = said(tmp_path, "stage2_profile", "types.ModuleType('ray')", "--ray", f"127.0.0.1:{port}")
    assert (code, text.count("\n")) == (2, 1)
    assert f"--ray 127.0.0.1:{port}: no cluster answers there: Connection refused" in text


@pytest.mark.parametrize(
    ("room", "words", "why"),
    [
        ("stage1_generate", ["--shared-store"], "give --ray ADDRESS too"),
        ("stage2_profile", ["--shared-store"], "give --ray ADDRESS too"),
        ("stage2_profile", ["--ray", "auto", "--cores", "0-3"], "each capture runs on the core that Ray grants"),
        ("stage2_profile", ["--ray", "auto", "--view-only"], "run on this host, without it"),
        ("stage1_generate", ["--ray", "auto", "--capture-framework-neff", "x.py"], "leave --ray out"),
    ],
)
def test_what_a_cluster_cannot_be_asked_for(tmp_path, room, words, why):
    code, text = said(tmp_path, room, None, *words)
    assert (code, text.count("\n")) == (2, 1)
    assert why in text


def test_an_interrupted_call_lets_its_work_end_in_order():
    ended = []

    def work(stop):
        _thread.interrupt_main()  # as Ray does
        ended.append(stop.wait(30))

    with pytest.raises(KeyboardInterrupt):
        ended_in_order(work)
    assert ended == [True]


def test_a_second_interruption_does_not_leave_the_work_halfway():
    ended = []

    def work(stop):
        _thread.interrupt_main()
        stop.wait(30)
        _thread.interrupt_main()
        time.sleep(0.3)  # as long as a file is being removed, say
        ended.append(True)

    with pytest.raises(KeyboardInterrupt):
        ended_in_order(work)
    assert ended == [True]
