"""A trn2 host that others use too: a fake neuron-ls with a busy device, a grant of half the cores, real processes.

Each capture runs through a script that tells the fake neuron-ls of itself and writes when it ran and on which cores. The first
captures wait for each other where FAKE_TOGETHER says how many are to run at once.
"""

import json
import os
import signal
import subprocess
import time

import pytest

from neff_bench.stage2_profile.capture.runs import read_run
from tests.neuron_ls import announced, devices, install
from tests.stage2_profile.conftest import case

CAPTURE = """#!/bin/sh
if [ "$1" = capture ]; then
  echo "$$ $NEURON_RT_VISIBLE_CORES $NEURON_LOGICAL_NC_CONFIG" > {here}/running/$$
  echo "begin $$ $NEURON_RT_VISIBLE_CORES $NEURON_LOGICAL_NC_CONFIG" >> {here}/log
  sleep 0.1
  tries=0
  while [ $(grep -c begin {here}/log) -lt ${{FAKE_TOGETHER:-1}} ] && [ $tries -lt 200 ]; do sleep 0.1; tries=$((tries + 1)); done
  {here}/profiler "$@"; code=$?
  echo "end $$" >> {here}/log
  rm -f {here}/running/$$
  exit $code
fi
exec {here}/profiler "$@"
"""


@pytest.fixture
def host(tmp_path, monkeypatch, fake_on_path):
    """Four devices of four logical cores of two, of which the first is used by process 1."""
    monkeypatch.setenv("NEFF_BENCH_LOCK_DIR", str(tmp_path / "locks"))
    monkeypatch.setenv("NEFF_BENCH_NKI_LOCK_DIR", str(tmp_path / "neuronx-cc" / "core_locks"))
    monkeypatch.delenv("NEURON_RT_VISIBLE_CORES", raising=False)
    program = fake_on_path / "neuron-profile"
    program.rename(fake_on_path / "profiler")
    program.write_text(CAPTURE.format(here=fake_on_path))
    program.chmod(0o755)
    install(fake_on_path, devices(4, busy={0: 1}))
    return fake_on_path


def captures(host):
    """(begin, end, physical cores) of each capture, in lines of the log."""
    found, running = [], {}
    for number, line in enumerate((host / "log").read_text().splitlines()):
        what, pid, *rest = line.split()
        if what == "begin":
            first, lnc = int(rest[0]), int(rest[1])
            running[pid] = (number, tuple(range(first * lnc, first * lnc + lnc)))
        else:
            begin, cores = running.pop(pid)
            found.append((begin, number, cores))
    assert not running
    return found


def overlapping(found):
    return [(one, two) for one in found for two in found if one[0] < two[0] < one[1]]


@pytest.mark.parametrize("lnc", [1, 2])
@pytest.mark.parametrize("form", [list, announced], ids=["array", "object"])
def test_no_capture_is_on_busy_or_ungranted_cores_and_no_two_on_one_hbm(
    host, make_bundle, profile_neffs, monkeypatch, lnc, form
):
    install(host, form(devices(4, busy={0: 1})))
    monkeypatch.setenv("NEURON_RT_VISIBLE_CORES", "0-7")  # physical 0-15: devices 0 (busy) and 1
    for m in range(5):
        make_bundle(case(dims=(("M", m + 1),), lnc=lnc))
    monkeypatch.setenv("FAKE_TOGETHER", "3")
    done = profile_neffs("--format", "json", "--jobs", "5")
    assert done.exit_code == 0, done.output
    found = captures(host)
    assert len(found) == 5
    assert {core // 8 for _, _, cores in found for core in cores} == {1}
    together = overlapping(found)
    assert together  # one capture a bank, and several banks
    for one, two in together:
        assert not {core // 2 for core in one[2]} & {core // 2 for core in two[2]}
    assert not list((host / "running").iterdir())


def test_without_a_grant_captures_go_one_by_one_to_a_device_that_nobody_uses(host, make_bundle, profile_neffs):
    for m in range(3):
        make_bundle(case(dims=(("M", m + 1),), lnc=2))
    assert profile_neffs("--jobs", "3").exit_code == 0
    found = captures(host)
    assert len(found) == 3 and overlapping(found) == []
    assert {core // 8 for _, _, cores in found for core in cores} == {1}


def test_cores_outside_of_the_grant_are_taken_only_by_force(host, make_bundle, profile_neffs, monkeypatch):
    monkeypatch.setenv("NEURON_RT_VISIBLE_CORES", "0-7")
    make_bundle(case(lnc=2))
    refused = profile_neffs("--cores", "16-17")
    assert refused.exit_code == 2
    assert "core 16-17 is not granted to this process" in refused.output
    assert profile_neffs("--cores", "16-17", "--force-cores").exit_code == 0
    assert [cores for _, _, cores in captures(host)] == [(16, 17)]


def test_a_busy_device_is_not_used_even_by_force_and_its_user_is_named(host, make_bundle, profile_neffs):
    make_bundle(case(lnc=2))
    done = profile_neffs("--cores", "0-1", "--force-cores", "--lock-timeout", "0.3")
    assert done.exit_code == 1
    assert "device 0 is used by process 1 (python3 train.py)" in " ".join(done.output.split())
    assert not (host / "log").exists()


def test_cores_that_nki_library_has_locked_are_left_to_it(host, tmp_path, make_bundle, profile_neffs):
    locks = tmp_path / "neuronx-cc" / "core_locks"
    locks.mkdir(parents=True)
    ends = {str(core): int(time.time()) + 60 for core in range(8, 14)}
    (locks / "locks.json").write_text(json.dumps({"version": 2, "physical_neuron_cores_lock_timeout": ends}))
    make_bundle(case(lnc=2))
    assert profile_neffs("--cores", "8-15").exit_code == 0
    assert [cores for _, _, cores in captures(host)] == [(14, 15)]
    assert json.loads((locks / "locks.json").read_text())["physical_neuron_cores_lock_timeout"] == ends


def test_a_device_is_not_used_while_neuron_ls_gives_no_answer(host, make_bundle, profile_neffs):
    """It answered once, so there is a device, and somebody may use it now."""
    program = host / "neuron-ls"
    once = "marker = here / 'asked'\nif marker.exists():\n    sys.exit(1)\nmarker.touch()\nsaid = "
    program.write_text(program.read_text().replace("said = ", once, 1))
    make_bundle(case(lnc=2))
    done = profile_neffs("--lock-timeout", "0.3")
    assert done.exit_code == 1 and "neuron-ls gives no answer" in done.output
    assert not (host / "log").exists()


def test_both_cores_of_a_bank_are_used_at_once_only_when_that_is_asked_for(
    host, make_bundle, profile_neffs, monkeypatch
):
    for m in range(2):
        make_bundle(case(dims=(("M", m + 1),), lnc=1))
    assert profile_neffs("--cores", "8,9", "--jobs", "2").exit_code == 0
    assert overlapping(captures(host)) == []
    (host / "log").unlink()
    monkeypatch.setenv("FAKE_TOGETHER", "2")
    assert profile_neffs("--cores", "8,9", "--jobs", "2", "--share-hbm", "--force").exit_code == 0
    assert len(overlapping(captures(host))) == 1


def test_simulated_neffs_ask_nobody(host, make_bundle, profile_neffs, monkeypatch):
    """neuron-ls is not started, and no lock of nki-library is taken, where nothing is measured."""
    (host / "neuron-ls").write_text(f"#!/bin/sh\ntouch {host}/asked\n")
    make_bundle(case(), toolchain="sim")
    profile_neffs()
    assert not (host / "asked").exists()
    assert not os.path.exists(os.environ["NEFF_BENCH_NKI_LOCK_DIR"])


def conditions(bundle):
    (path,) = bundle.path.glob("profiles/*/")
    return read_run(path).conditions


def test_a_run_says_under_what_it_was_measured(host, make_bundle, profile_neffs, monkeypatch):
    """Who came to the device, which captures of the same call ran beside it, and the state of DGE."""
    monkeypatch.setenv("FAKE_TOGETHER", "2")
    one, other = (make_bundle(case(dims=(("M", m),), lnc=2, flags=("--disable-dge",))) for m in (1, 2))
    arrives = """
said = json.loads((here / "neuron-ls.json").read_text())
if (here / "log").exists() and (here / "log").read_text().count("begin") == 2:
    said[1]["neuron_processes"] = [
        {"pid": 1, "command": "python3 train.py --password=secret", "neuron_runtime_version": None}
    ]
"""
    program = host / "neuron-ls"
    program.write_text(program.read_text().replace('said = json.loads((here / "neuron-ls.json").read_text())', arrives))
    done = profile_neffs(
        "--cores", "8-11", "--jobs", "2", "--enable-dge-notifs", "--lock-timeout", "20", "--format", "json"
    )
    assert done.exit_code == 0, done.output
    for bundle in (one, other):
        said = conditions(bundle)
        assert said.instance_type == "trn2.48xlarge"
        assert (said.dge_notifications, said.dge_compiled_out, said.shared_hbm) == (True, True, False)
        assert ("python3 train.py", 1, 1) in [(each.program, each.pid, each.device) for each in said.neighbours]
    assert {("another capture of this call", 1)} <= {
        (each.program, each.device) for bundle in (one, other) for each in conditions(bundle).neighbours
    }
    assert "secret" not in "".join(path.read_text() for path in one.path.glob("profiles/*/run.json"))
    assert "process 1 (python3 train.py) used device 1 beside the capture" in done.stdout


def test_captures_of_another_call_are_neighbours_with_their_cores(host, make_bundle, profile_neffs, tmp_path):
    """Its process has signed the locks of its cores, so the rest of the device stays free."""
    (tmp_path / "locks").mkdir()
    started = subprocess.run(["sh", "-c", "sleep 100 >/dev/null & echo $!"], stdout=subprocess.PIPE, check=True)
    holder = int(started.stdout)  # no child of ours
    try:
        for core in (8, 9):
            (tmp_path / "locks" / f"core-{core}.lock").write_text(f"process {holder} of somebody\n")
        install(host, devices(4, busy={1: holder}))
        bundle = make_bundle(case(lnc=2))
        assert profile_neffs("--cores", "10-11", "--lock-timeout", "20").exit_code == 0
    finally:
        os.kill(holder, signal.SIGKILL)
    (neighbour,) = conditions(bundle).neighbours
    assert (neighbour.pid, neighbour.device, neighbour.cores) == (holder, 1, (8, 9))


def test_without_neuron_ls_neighbours_are_not_known(host, make_bundle, profile_neffs):
    (host / "neuron-ls").unlink()
    bundle = make_bundle(case(lnc=2))
    assert profile_neffs().exit_code == 0
    assert conditions(bundle).neighbours is None and conditions(bundle).throttling == {}
