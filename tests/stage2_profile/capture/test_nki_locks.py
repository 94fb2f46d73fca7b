"""The core locks of nki-library: its clients are played by `flock` and by files as its helper writes them."""

import json
import math
import stat
import subprocess
import threading
import time

import pytest

from neff_bench.stage2_profile.capture import nki_locks
from neff_bench.stage2_profile.capture.nki_locks import CoreLocks, refusal
from neff_bench.stage2_profile.errors import CaptureFailed

LOCKS = "physical_neuron_cores_lock_timeout"


@pytest.fixture
def directory(tmp_path):
    return tmp_path / "neuronx-cc" / "core_locks"


def written(directory, **state):
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "locks.json").write_text(json.dumps({"version": 5, LOCKS: {}, **state}))


def locks_of(directory):
    return json.loads((directory / "locks.json").read_text())


def test_entries_are_written_as_their_clients_read_them(directory):
    locks = CoreLocks(directory)
    assert locks.take((2, 3)) is None
    state = locks_of(directory)
    assert set(state[LOCKS]) == {"2", "3"}
    assert all(isinstance(end, int) and 50 < end - time.time() <= 60 for end in state[LOCKS].values())
    assert stat.S_IMODE(directory.stat().st_mode) == 0o777
    assert {stat.S_IMODE((directory / name).stat().st_mode) for name in ("atomic_lock", "locks.json")} == {0o666}
    locks.release((2, 3))
    assert locks_of(directory)[LOCKS] == {}


def test_a_core_that_they_hold_is_not_taken_and_one_that_ended_is(directory):
    now = int(time.time())
    written(directory, **{LOCKS: {"0": now + 30, "2": now - 1}})
    locks = CoreLocks(directory)
    assert "core 0 is locked until" in locks.take((0, 1))
    assert locks_of(directory)[LOCKS] == {"0": now + 30, "2": now - 1}  # all or none
    assert locks.take((2, 3)) is None


@pytest.mark.parametrize("key", ["reserved_region", "reserved_cores"])
def test_a_core_that_their_queue_reserves_is_left_to_them_until_its_client_is_gone(directory, key):
    entry = {"entry_id": "a", "request_cores": 2, "enqueued_ts": 1, "last_seen_ts": int(time.time()), key: [4, 5]}
    written(directory, queue=[entry])
    assert "core 4 is reserved" in CoreLocks(directory).take((4,))
    written(directory, queue=[{**entry, "last_seen_ts": int(time.time()) - 61}])
    assert CoreLocks(directory).take((4,)) is None


@pytest.mark.parametrize("damaged", [{"last_seen_ts": None}, {"last_seen_ts": "soon"}, {"reserved_region": 4}])
def test_a_damaged_entry_of_their_queue_reserves_nothing(directory, damaged):
    written(directory, queue=[{"last_seen_ts": int(time.time()), "reserved_region": [4, 5], **damaged}])
    assert CoreLocks(directory).take((4,)) is None


def test_a_host_that_they_drain_is_left_alone(directory):
    written(directory, draining_enabled_with_timeout=int(time.time()) + 30)
    assert "drains this host" in CoreLocks(directory).take((0,))
    written(directory, draining_enabled_with_timeout=int(time.time()) - 1)
    assert CoreLocks(directory).take((0,)) is None


def test_what_else_is_in_their_file_stays(directory):
    written(directory, queue=[{"entry_id": "b"}], last_lnc_config_per_core={"0": 2})
    locks = CoreLocks(directory)
    locks.take((0,))
    locks.release((0,))
    state = locks_of(directory)
    assert (state["version"], state["queue"]) == (5, [{"entry_id": "b"}])
    assert state["last_lnc_config_per_core"] == {"0": 2}


def test_a_damaged_file_counts_as_empty_as_it_does_for_them(directory):
    directory.mkdir(parents=True)
    (directory / "locks.json").write_text('{"version": 2, "phys')
    assert CoreLocks(directory).take((0,)) is None


def test_an_entry_that_somebody_else_has_taken_since_is_not_removed(directory):
    locks = CoreLocks(directory)
    locks.take((0, 1))
    state = locks_of(directory)
    state[LOCKS]["0"] += 100
    written(directory, **state)
    locks.renew()
    locks.release((0, 1))
    assert locks_of(directory)[LOCKS] == {"0": state[LOCKS]["0"]}


def test_an_entry_lasts_longer_when_it_is_renewed(directory, monkeypatch):
    locks = CoreLocks(directory)
    locks.take((0,))
    first = locks_of(directory)[LOCKS]["0"]
    monkeypatch.setattr(nki_locks.time, "time", lambda: first)
    locks.renew()
    assert locks_of(directory)[LOCKS]["0"] == first + nki_locks.ENTRY_S


def test_entries_are_renewed_while_they_are_held_and_no_thread_stays(directory, monkeypatch):
    monkeypatch.setattr(nki_locks, "RENEW_S", 0.05)
    renewed = threading.Event()
    locks = CoreLocks(directory)
    monkeypatch.setattr(locks, "renew", renewed.set)
    before = set(threading.enumerate())
    locks.take((0,))
    (thread,) = set(threading.enumerate()) - before
    assert renewed.wait(10)
    locks.release((0,))
    thread.join(10)
    assert not thread.is_alive()


@pytest.mark.parametrize("end", [1e300, float(1 << 62), math.inf])
def test_an_end_that_no_clock_can_show_locks_all_the_same(directory, end):
    why = refusal({LOCKS: {"0": end}}, (0,), 5)
    assert why.startswith("core 0 is locked until ") and why.count("1970") == 1


def entry(seen, cores=(4, 5), key="reserved_region"):
    return {"last_seen_ts": seen, key: list(cores)}


@pytest.mark.parametrize(
    ("state", "cores", "says"),
    [
        ({}, (0,), None), ({LOCKS: {"0": 1000}}, (0,), None), ({LOCKS: {"0": 1001}}, (0,), "core 0 is locked until "), ({LOCKS: {"0": 1001}}, (1,), None),
        ({LOCKS: {"1": 1001}}, (0, 1), "core 1 is locked until "), ({LOCKS: {"0": "soon"}}, (0,), None), ({LOCKS: {"0": 1000.5}}, (0,), "core 0 is locked until "),
        ({"draining_enabled_with_timeout": 1000}, (0,), None), ({"draining_enabled_with_timeout": 1001.0}, (0,), "nki-library drains this host until "),
        ({"draining_enabled_with_timeout": "x"}, (0,), None), ({"queue": None}, (4,), None), ({"queue": ["x", entry(1000)]}, (4,), "core 4 is reserved"),
        ({"queue": [entry(940)]}, (4,), None), ({"queue": [entry(940.5)]}, (6, 5, 4), "core 4 is reserved"), ({"queue": [entry(1000)]}, (3, 6), None),
        ({"queue": [entry("soon"), entry(1000, [3])]}, (4,), None), ({"queue": [entry(1000, key="reserved_cores")]}, (5,), "core 5 is reserved"),
        ({"queue": [{"last_seen_ts": 1000, "reserved_region": 4}]}, (4,), None), ({"queue": [entry(1000, ())]}, (4,), None),
    ],
)  # fmt: skip
def test_a_core_is_refused_while_its_lock_its_reservation_or_the_drain_lasts(state, cores, says):
    found = refusal({LOCKS: {}, **state}, cores, 1000)
    assert (found is None) == (says is None) and (says is None or found.startswith(says))


def test_the_directory_above_is_for_all_users_and_one_that_is_there_stays_as_it_is(directory):
    CoreLocks(directory).take((0,))
    assert stat.S_IMODE(directory.parent.stat().st_mode) == 0o1777
    directory.chmod(0o700)
    assert CoreLocks(directory).take((1,)) is None and stat.S_IMODE(directory.stat().st_mode) == 0o700


@pytest.mark.parametrize("version", [2, 5])
def test_a_protocol_that_we_speak_is_taken(directory, version):
    directory.mkdir(parents=True)
    (directory / "infra_version.json").write_text(json.dumps({"minClientLockingVersion": version}))
    assert CoreLocks(directory).take((0,)) is None


def test_entries_last_for_a_minute_and_are_renewed_four_times_in_it(directory, tmp_path):
    assert (nki_locks.ENTRY_S, nki_locks.RENEW_S) == (60, 15)
    assert nki_locks.lock_directory({}) == nki_locks.DIRECTORY
    assert nki_locks.lock_directory({nki_locks.VARIABLE: str(tmp_path)}) == tmp_path


@pytest.mark.parametrize("version", [1, 6, "x"])
def test_a_protocol_that_we_do_not_speak_ends_the_capture(directory, version):
    directory.mkdir(parents=True)
    (directory / "infra_version.json").write_text(json.dumps({"minClientLockingVersion": version}))
    with pytest.raises(CaptureFailed, match="expected 2 to 5"):
        CoreLocks(directory).take((0,))


def test_their_flock_excludes_ours(directory, monkeypatch):
    monkeypatch.setattr(nki_locks, "PATIENCE_S", 0.2)
    locks = CoreLocks(directory)
    locks.take((0,))
    with subprocess.Popen(
        ["flock", directory / "atomic_lock", "sh", "-c", "echo held; read line"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as client:
        assert client.stdout.readline() == b"held\n"
        assert "is in use" in locks.take((1,))
        client.communicate(b"\n")
    assert locks.take((1,)) is None


def test_a_directory_that_cannot_be_written_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CaptureFailed, match="cannot take the core locks of nki-library"):
        CoreLocks(tmp_path / "file" / "locks").take((0,))
