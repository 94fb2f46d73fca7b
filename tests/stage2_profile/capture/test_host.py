from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from neff_bench.parsers.neuron_ls import read_neuron_ls
from neff_bench.sdk.words import neuron_ls_forms
from neff_bench.stage2_profile.capture import host
from neff_bench.stage2_profile.capture.host import User, ancestors, find_host, signed_locks, users
from tests.neuron_ls import devices
from tests.sdk import contracts


@pytest.mark.parametrize("release", contracts.RELEASES)
def test_the_neuron_ls_of_each_release_is_understood(tmp_path, release):
    directory = contracts.install(release, tmp_path / "bin", ["neuron-ls"])
    environ = {
        "PATH": f"{directory}:{os.environ['PATH']}",
        "FAKE_DEVICES": json.dumps(devices(2, busy={1: os.getpid()})),
    }
    found = find_host(environ, Path("/none"))
    assert len(found.topology.physical_cores) == 16
    (user,) = found.users({})
    assert (user.device, user.pid, user.cores, user.ours) == (1, os.getpid(), None, True)


def test_without_the_program_there_is_no_host(tmp_path):
    assert find_host({"PATH": str(tmp_path)}, tmp_path) is None


def test_a_process_descends_from_what_started_it():
    with subprocess.Popen(["sleep", "60"]) as child:
        line = ancestors(child.pid)
        child.kill()
    assert line[:2] == [child.pid, os.getpid()]
    assert ancestors(1 << 30) == [1 << 30]


def test_locks_name_who_signed_them(tmp_path):
    for name, text in (
        ("core-0", "process 5 of a"),
        ("core-1", "process 5 of a"),
        ("sim-core-2", "process 6 of b"),
        ("core-3", ""),
    ):
        (tmp_path / f"{name}.lock").write_text(text)
    (tmp_path / "core-4.lock").mkdir()
    found = signed_locks(tmp_path, "core")
    assert {pid: sorted(cores) for pid, cores in found.items()} == {5: [0, 1]}


@pytest.mark.parametrize(
    ("command", "program"),
    [("", "of another user"), ("python train.py --key secret", "python train.py"), ("one", "one"), ("a" * 50 + " " + "b" * 50, "a" * 50 + " " + "b" * 29)],
)  # fmt: skip
def test_a_program_is_called_by_its_first_two_words(command, program):
    assert User(0, 1, command, None, False).program == program


def test_the_cores_of_a_process_are_those_that_it_or_its_parent_locked_on_the_device():
    topology = read_neuron_ls(json.dumps(devices(2, busy={0: os.getpid(), 1: 1})).encode())
    locks = {os.getppid(): (9, 3, 0), 5: (1,)}
    mine, other = users(topology, locks)
    assert (mine.device, mine.pid, mine.cores, mine.ours) == (0, os.getpid(), (0, 3), True)
    assert (other.device, other.pid, other.cores, other.ours) == (1, 1, None, False)


def script(folder, text):
    folder.mkdir(exist_ok=True)
    (folder / "neuron-ls").write_text(f"#!/bin/sh\necho x >> {folder}/calls\n{text}\n")
    (folder / "neuron-ls").chmod(0o755)
    return {"PATH": f"{folder}:{os.environ['PATH']}"}


def test_a_program_that_gives_no_answer_is_asked_three_times(tmp_path, monkeypatch):
    monkeypatch.setattr(host, "PAUSE_S", 0.0)
    environ = script(tmp_path, "exit 1")
    assert find_host(environ, Path("/none")) is None
    forms = len(neuron_ls_forms())
    assert (tmp_path / "calls").read_text() == "x\n" * 3 * forms
    said = json.dumps(devices(1)).replace('"', '\\"')
    (tmp_path / "calls").unlink()
    environ = script(tmp_path, f'[ $(wc -l < {tmp_path}/calls) -gt {forms} ] || exit 1\necho "{said}"')
    assert find_host(environ, Path("/none")).topology.devices[0].number == 0
    assert find_host({"PATH": os.environ["PATH"]}, tmp_path).program == str(tmp_path / "neuron-ls")


def test_a_host_whose_program_gives_no_answer_any_more_knows_no_users(tmp_path, monkeypatch):
    monkeypatch.setattr(host, "PAUSE_S", 0.0)
    topology = read_neuron_ls(json.dumps(devices(1, busy={0: 1})).encode())
    assert host.Host("/none/neuron-ls", {}, topology).users({}) is None
    monkeypatch.setattr(host, "topology_of", lambda program, environ: topology)
    assert [user.pid for user in host.Host("p", {}, topology).users({})] == [1]
