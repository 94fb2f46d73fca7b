from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from neff_bench.stage2_profile.capture.host import ancestors, find_host, signed_locks
from tests.neuron_ls import devices
from tests.sdk import contracts


@pytest.mark.parametrize("release", contracts.RELEASES)
def test_the_neuron_ls_of_each_release_is_understood(tmp_path, release):
    directory = contracts.install(release, tmp_path / "bin", ["neuron-ls"])
    environ = {
        "PATH": f"{directory}:{os.environ['PATH']}",
        "FAKE_DEVICES": json.dumps(devices(2, busy={1: os.getpid()})),
    }
    host = find_host(environ, Path("/none"))
    assert len(host.topology.physical_cores) == 16
    (user,) = host.users({})
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
