from __future__ import annotations

import os
import stat
import threading

import pytest

from neff_bench.stage2_profile.capture.cores import (
    CorePool,
    acquire,
    first_visible,
    lock_directory,
    logical_cores,
    parse_cores,
    release,
)
from neff_bench.stage2_profile.errors import CaptureFailed, UnsafePath
from neff_bench.terminal.errors import WrongCall


@pytest.mark.parametrize(("text", "cores"), [("0", (0,)), ("0-3", (0, 1, 2, 3)), ("4,0-1, 1", (0, 1, 4))])
def test_core_lists(text, cores):
    assert parse_cores(text) == cores


@pytest.mark.parametrize("text", ["", "a", "3-1", "-1", "0-", "1,,2", "0-99999999999"])
def test_core_lists_that_are_none(text):
    with pytest.raises(WrongCall, match="--cores"):
        parse_cores(text)


def test_a_logical_core_of_two_needs_both():
    assert logical_cores((0, 1, 2, 5, 6, 7), 2) == {0: (0, 1), 3: (6, 7)}
    assert logical_cores((3,), 1) == {3: (3,)}


@pytest.mark.parametrize(("text", "core"), [(None, 0), ("", 0), ("3", 3), ("2-5", 2)])
def test_the_users_choice_of_a_core_is_kept(tmp_path, text, core):
    environ = {} if text is None else {"NEURON_RT_VISIBLE_CORES": text}
    pool = CorePool(None, directory=tmp_path, first=first_visible(environ))
    with pool.slot(2) as slot:
        assert (slot.logical, slot.cores) == (core, (2 * core, 2 * core + 1))


def test_a_choice_that_is_none_is_a_wrong_call():
    with pytest.raises(WrongCall, match="NEURON_RT_VISIBLE_CORES='x'"):
        first_visible({"NEURON_RT_VISIBLE_CORES": "x"})


def test_two_pools_never_hold_one_core(tmp_path):
    one, two = CorePool((0, 1), directory=tmp_path), CorePool((0, 1), directory=tmp_path)
    with one.slot(1) as first, two.slot(1) as second:
        assert {first.cores, second.cores} == {(0,), (1,)}


def test_a_core_that_another_process_holds_is_waited_for(tmp_path):
    held = acquire(tmp_path / "core-0.lock")
    assert held is not None
    pool = CorePool((0,), directory=tmp_path)
    got = threading.Event()

    def take():
        with pool.slot(1):
            got.set()

    thread = threading.Thread(target=take)
    thread.start()
    assert not got.wait(0.3)
    release(tmp_path / "core-0.lock", held)
    assert got.wait(5)
    thread.join()


def test_a_core_of_a_pair_blocks_the_pair(tmp_path):
    held = acquire(tmp_path / "core-1.lock")
    assert held is not None
    pool = CorePool((0, 1, 2, 3), directory=tmp_path)
    with pool.slot(2) as slot:
        assert (slot.logical, slot.cores) == (1, (2, 3))
    assert acquire(tmp_path / "core-0.lock") is not None  # given back after the vain try
    os.close(held)


def test_no_lock_is_left(tmp_path):
    pool = CorePool((0, 1), directory=tmp_path)
    with pool.slot(2):
        assert len(list(tmp_path.iterdir())) == 2
    assert list(tmp_path.iterdir()) == []


def take(pool, *, error: bool):
    with pool.slot(1) as slot:
        if error:
            pool.take_out(slot, "device error")
        return slot.cores


def test_a_core_that_is_taken_out_is_not_given_while_another_is_left(tmp_path):
    pool = CorePool((0, 1), directory=tmp_path)
    assert take(pool, error=True) == (0,)
    assert [take(pool, error=False) for _ in range(3)] == [(1,)] * 3


def test_when_no_core_is_left_each_gets_one_more_chance(tmp_path):
    said: list[str] = []
    pool = CorePool((0, 1), directory=tmp_path, say=said.append)
    assert [take(pool, error=True) for _ in range(4)] == [(0,), (1,), (0,), (1,)]
    with pytest.raises(CaptureFailed, match="no working core is left"):
        take(pool, error=False)
    assert said[:3] == [
        "core 0 is taken out: device error",
        "core 1 is taken out: device error",
        "no core is left; 0, 1 get a second chance",
    ]


def test_a_pair_that_is_not_there_is_said(tmp_path):
    with pytest.raises(CaptureFailed, match="no logical core of 2 physical cores in --cores 1"):
        with CorePool((1,), directory=tmp_path).slot(2):
            pass


def test_the_lock_directory_is_for_all_users(tmp_path):
    directory = lock_directory({"NEFF_BENCH_LOCK_DIR": str(tmp_path / "cores")})
    assert stat.S_IMODE(directory.stat().st_mode) == 0o1777
    descriptor = acquire(directory / "core-0.lock")
    assert stat.S_IMODE(os.fstat(descriptor).st_mode) == 0o666


def test_a_link_in_place_of_the_lock_directory_is_refused(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(UnsafePath, match="not a directory"):
        lock_directory({"NEFF_BENCH_LOCK_DIR": str(tmp_path / "link")})


def test_a_link_in_place_of_a_lock_is_refused(tmp_path):
    (tmp_path / "core-0.lock").symlink_to(tmp_path / "target")
    with pytest.raises(UnsafePath, match="core-0.lock"):
        acquire(tmp_path / "core-0.lock")
    assert not (tmp_path / "target").exists()


def test_a_lock_file_that_was_replaced_does_not_count(tmp_path, monkeypatch):
    path = tmp_path / "core-0.lock"
    path.touch()
    real = os.fstat

    def replaced(descriptor):
        path.unlink()
        path.touch()
        return real(descriptor)

    monkeypatch.setattr(os, "fstat", replaced)
    assert acquire(path) is None
