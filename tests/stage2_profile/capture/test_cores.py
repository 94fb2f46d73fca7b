from __future__ import annotations

import dataclasses
import os
import re
import stat
import threading
import time
from types import SimpleNamespace

import pytest

from neff_bench.errors import WrongCall
from neff_bench.stage2_profile.capture import cores as cores_module
from neff_bench.stage2_profile.capture.cores import (
    CorePool,
    Slot,
    lock_directory,
    logical_cores,
    make_pools,
    side_by_side,
)
from neff_bench.stage2_profile.capture.grant import read_grant
from neff_bench.stage2_profile.capture.host import User
from neff_bench.stage2_profile.errors import CaptureFailed, UnsafePath
from neff_bench.stage2_profile.options import Options
from neff_bench.system.lock import SHARED, try_lock, unlock


def test_a_logical_core_of_two_needs_both():
    assert logical_cores((0, 1, 2, 5, 6, 7), 2) == {0: (0, 1), 3: (6, 7)}
    assert logical_cores((3,), 1) == {3: (3,)}


def test_ranks_run_side_by_side_from_a_multiple_of_their_number_where_that_is_granted():
    granted = logical_cores(tuple(range(2, 14)), 2)  # logical cores 1 to 6
    assert list(side_by_side(granted, 3)) == [3, 1, 2, 4]
    assert side_by_side(granted, 3)[4] == (8, 9, 10, 11, 12, 13)
    assert side_by_side(logical_cores((0, 1, 3), 1), 2) == {0: (0, 1)}
    assert side_by_side(granted, 1) == granted


@pytest.mark.parametrize(("text", "core"), [(None, 0), ("", 0), ("3", 3), ("2-5", 2)])
def test_the_users_choice_of_a_core_is_kept(tmp_path, text, core):
    environ = {} if text is None else {"NEURON_RT_VISIBLE_CORES": text}
    pool = CorePool(None, directory=tmp_path, grant=read_grant(environ, None))
    with pool.slot(2) as slot:
        assert (slot.logical, slot.cores) == (core, (2 * core, 2 * core + 1))


def test_two_pools_never_hold_one_core(tmp_path):
    one, two = (
        CorePool((0, 1), share_hbm=True, directory=tmp_path),
        CorePool((0, 1), share_hbm=True, directory=tmp_path),
    )
    with one.slot(1) as first, two.slot(1) as second:
        assert {first.cores, second.cores} == {(0,), (1,)}


def test_a_core_that_another_process_holds_is_waited_for(tmp_path):
    held = try_lock(tmp_path / "core-0.lock", SHARED)
    assert held is not None
    pool = CorePool((0,), share_hbm=True, directory=tmp_path)
    got = threading.Event()

    def take():
        with pool.slot(1):
            got.set()

    thread = threading.Thread(target=take)
    thread.start()
    assert not got.wait(0.3)
    unlock(tmp_path / "core-0.lock", held)
    assert got.wait(5)
    thread.join()


def test_a_core_of_a_pair_blocks_the_pair(tmp_path):
    held = try_lock(tmp_path / "core-1.lock", SHARED)
    assert held is not None
    pool = CorePool((0, 1, 2, 3), directory=tmp_path)
    with pool.slot(2) as slot:
        assert (slot.logical, slot.cores) == (1, (2, 3))
    assert try_lock(tmp_path / "core-0.lock", SHARED) is not None  # given back after the vain try
    os.close(held)


def test_no_lock_is_left(tmp_path):
    pool = CorePool((0, 1), share_hbm=True, directory=tmp_path)
    with pool.slot(2):
        assert len(list(tmp_path.iterdir())) == 2
    assert list(tmp_path.iterdir()) == []


def take(pool, *, error: bool):
    with pool.slot(1) as slot:
        if error:
            pool.take_out(slot, "device error")
        return slot.cores


def test_a_core_that_is_taken_out_is_not_given_while_another_is_left(tmp_path):
    pool = CorePool((0, 1), share_hbm=True, directory=tmp_path)
    assert take(pool, error=True) == (0,)
    assert [take(pool, error=False) for _ in range(3)] == [(1,)] * 3


def test_when_no_core_is_left_each_gets_one_more_chance(tmp_path):
    said: list[str] = []
    pool = CorePool((0, 1), share_hbm=True, directory=tmp_path, say=said.append)
    assert [take(pool, error=True) for _ in range(4)] == [(0,), (1,), (0,), (1,)]
    with pytest.raises(CaptureFailed, match="no working core is left"):
        take(pool, error=False)
    assert said[:3] == [
        "core 0 is taken out: device error",
        "core 1 is taken out: device error",
        "no core is left; 0, 1 get a second chance",
    ]


def test_a_pair_that_is_not_there_is_said(tmp_path):
    with pytest.raises(CaptureFailed, match=r"no logical core of 2 physical cores in --cores \(physical cores: 1\)"):
        with CorePool((1,), directory=tmp_path).slot(2):
            pass


def test_ranks_for_which_there_are_too_few_cores_are_said(tmp_path):
    pool = CorePool((0, 1, 2), directory=tmp_path)
    with pytest.raises(CaptureFailed) as caught, pool.slot(1, ranks=4):
        pass
    said = "no 4 logical cores of 1 physical cores in --cores (physical cores: 0-2)"
    assert str(caught.value) == said
    granted = CorePool((0, 1, 2), directory=tmp_path, grant=read_grant({"NEURON_RT_VISIBLE_CORES": "1-2"}, None))
    with granted.slot(1) as slot:
        assert slot.cores == (1,)


def test_the_lock_directory_is_for_all_users(tmp_path):
    directory = lock_directory({"NEFF_BENCH_LOCK_DIR": str(tmp_path / "cores")})
    assert stat.S_IMODE(directory.stat().st_mode) == 0o1777
    descriptor = try_lock(directory / "core-0.lock", SHARED)
    assert stat.S_IMODE(os.fstat(descriptor).st_mode) == 0o666


def test_a_link_in_place_of_the_lock_directory_is_refused(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(UnsafePath, match="not a directory"):
        lock_directory({"NEFF_BENCH_LOCK_DIR": str(tmp_path / "link")})


@pytest.mark.parametrize("kind", ["link", "directory"])
def test_a_lock_that_cannot_be_taken_costs_its_core_and_says_why(tmp_path, kind):
    path = tmp_path / "core-0.lock"
    path.symlink_to(tmp_path / "target") if kind == "link" else path.mkdir()
    said: list[str] = []
    pool = CorePool((0, 1), share_hbm=True, directory=tmp_path, say=said.append)
    assert [take(pool, error=False) for _ in range(2)] == [(1,), (1,)]
    assert len(said) == 1 and said[0].startswith(f"core 0 is left out: {path} cannot be locked: ")
    assert not (tmp_path / "target").exists()


def test_when_no_lock_can_be_taken_the_reason_is_told(tmp_path):
    (tmp_path / "core-0.lock").mkdir()
    with pytest.raises(CaptureFailed, match="core-0.lock cannot be locked: it is a directory; remove it"):
        take(CorePool((0,), share_hbm=True, directory=tmp_path), error=False)


def test_waiting_for_a_held_core_has_a_bound_and_names_the_holder(tmp_path):
    held = try_lock(tmp_path / "core-0.lock", SHARED)
    assert held is not None
    with pytest.raises(CaptureFailed, match=rf"--lock-timeout.*core 0 is held by process {os.getpid()} of "):
        take(CorePool((0,), share_hbm=True, directory=tmp_path, lock_timeout_s=0.2), error=False)
    os.close(held)


def test_a_core_that_this_process_uses_is_waited_for_without_a_bound(tmp_path):
    pool = CorePool((0,), share_hbm=True, directory=tmp_path, lock_timeout_s=0.1)
    got = threading.Event()
    with pool.slot(1):
        thread = threading.Thread(target=lambda: (take(pool, error=False), got.set()))
        thread.start()
        assert not got.wait(0.5)
    assert got.wait(5)
    thread.join()


def test_a_capture_locks_the_bank_of_hbm_that_its_core_is_on(tmp_path):
    """For captures of this call, and of others."""
    one = CorePool((0, 1, 2), directory=tmp_path)
    other = CorePool((0, 1), directory=tmp_path, lock_timeout_s=0.1)
    with one.slot(1) as first, one.slot(1) as second:
        assert (first.cores, first.locked, second.cores) == ((0,), (0, 1), (2,))
        with pytest.raises(CaptureFailed, match="no free core"):
            take(other, error=False)


def test_a_bank_is_shared_when_that_is_asked_for_and_the_slot_knows(tmp_path):
    pool = CorePool((0, 1, 2), share_hbm=True, directory=tmp_path)
    with pool.slot(1) as first:
        assert not pool.shares_hbm(first)
        with pool.slot(1) as second:
            assert (first.cores, second.cores) == ((0,), (1,))
            assert pool.shares_hbm(first) and pool.shares_hbm(second)


def test_simulated_cores_have_no_hbm_to_share(tmp_path):
    pool = CorePool((0, 1), kind="sim", directory=tmp_path)
    with pool.slot(1) as first, pool.slot(1) as second:
        assert (first.cores, second.cores) == ((0,), (1,))


def test_a_bank_whose_other_core_cannot_be_locked_is_left_out(tmp_path):
    (tmp_path / "core-1.lock").mkdir()
    assert take(CorePool((0, 2), directory=tmp_path), error=False) == (2,)
    with pytest.raises(CaptureFailed, match="core-1.lock cannot be locked"):
        take(CorePool((0,), directory=tmp_path), error=False)


def device(number, cores):
    return SimpleNamespace(number=number, physical_cores=cores)


class Host:
    """A host of two devices with four cores each; `found`: who uses them."""

    def __init__(self, *found):
        self.devices = (device(0, (0, 1, 2, 3)), device(1, (4, 5, 6, 7)))
        self.topology = SimpleNamespace(
            lnc=1,
            physical_cores=tuple(range(8)),
            device_of=lambda core: next((each for each in self.devices if core in each.physical_cores), None),
        )
        self.found = found

    def users(self, locks):
        return None if self.found == (None,) else self.found


def user(pid=7, device=0, cores=None, ours=False):
    return User(device, pid, "train.py now --secret", cores, ours)


@pytest.mark.parametrize(
    ("users", "why"),
    [
        ((), None), ((user(),), "device 0 is used by process 7 (train.py now)"), ((user(ours=True),), None), ((user(device=1),), None), ((user(cores=(0,)),), "device 0 is used by process 7 (train.py now)"), ((user(cores=(2, 3)),), None),
        ((user(cores=()),), None), ((None,), "neuron-ls gives no answer, so it is not known who uses the device"),
    ],
)  # fmt: skip
def test_a_core_is_left_alone_while_another_tool_may_use_it(tmp_path, users, why):
    pool = CorePool((0,), directory=tmp_path, host=Host(*users), lock_timeout_s=0.01)
    if why is None:
        with pool.slot(1) as slot:
            assert slot.cores == (0,)
    else:
        with pytest.raises(CaptureFailed, match=re.escape(f"(--lock-timeout): {why}")):
            take(pool, error=False)
    assert list(tmp_path.iterdir()) == []


def test_neighbours_are_those_of_others_on_the_devices_of_the_slot(tmp_path):
    host = Host(user(cores=(3,)), user(8, ours=True), user(9, device=1))
    pool = CorePool((0, 2, 6), directory=tmp_path, host=host)
    with pool.slot(1) as first:
        (other,) = first.neighbours
        assert (other.device, other.pid, other.program, other.cores) == (0, 7, "train.py now", (3,))
        host.found = (user(cores=(3,)),)
        with pool.slot(1) as second:
            assert [(each.pid, each.cores) for each in pool.neighbours(first)] == [(7, (3,)), (None, (2, 3))]
            assert pool.neighbours(second)[1].program == "another capture of this call"
            host.found = ()
            with pool.slot(1) as third:
                assert third.cores == (6,) and third.neighbours == ()
    host.found = (None,)
    assert pool.neighbours(first) is None and CorePool((0,), directory=tmp_path).neighbours(first) is None


def test_a_device_that_is_out_takes_its_cores_along_for_good(tmp_path):
    said = []
    pool = CorePool(None, share_hbm=True, directory=tmp_path, host=Host(), say=said.append)
    pool.take_device_out(Slot((1,)), "HBM")
    assert sorted(pool.out) == [0, 1, 2, 3] and said == ["core 0, 1, 2, 3 is taken out for good: HBM"]
    assert take(pool, error=False) == (4,)
    pool.take_device_out(Slot((4,)), "HBM")
    with pytest.raises(
        CaptureFailed, match=r"no working core is left \(taken out: 0: HBM; 1: HBM; .*7: HBM\); run again"
    ):
        take(pool, error=False)
    alone = CorePool((0, 1), share_hbm=True, directory=tmp_path)
    alone.take_device_out(Slot((0,)), "x")
    assert alone.out == {0: "x"}
    alone.take_device_out(Slot(), "x")
    assert alone.out == {0: "x"}


def test_a_core_that_is_put_back_has_no_error_on_its_account(tmp_path):
    said = []
    pool = CorePool((0,), share_hbm=True, directory=tmp_path, say=said.append)
    for _ in range(3):
        pool.take_out(Slot((0,)), "hangs")
        pool.put_back(Slot((0,)))
    assert pool.out == {} and take(pool, error=False) == (0,)
    pool.take_out(Slot(), "x")
    pool.put_back(Slot())
    assert len(said) == 6 and said[1] == "core 0 is put back: the case failed on another core too"


def test_a_closed_pool_and_a_stop_give_nothing(tmp_path):
    pool = CorePool((0,), directory=tmp_path)
    pool.stop.set()
    with pytest.raises(CaptureFailed, match="interrupted"):
        take(pool, error=False)
    closed = CorePool((0,), directory=tmp_path)
    closed.close("SRAM")
    with pytest.raises(CaptureFailed, match="nothing more is captured on this host: SRAM"):
        take(closed, error=False)
    with CorePool((), directory=tmp_path).slot(2) as slot:
        assert slot == Slot()


@pytest.mark.parametrize(
    ("cores", "granted", "host", "lnc", "ranks", "first"),
    [
        (None, None, None, 2, 1, {0: (0, 1)}), (None, None, None, 1, 3, {0: (0, 1, 2)}), (None, None, Host(), 4, 1, {0: (0, 1, 2, 3), 1: (4, 5, 6, 7)}), (None, "2", None, 1, 1, {2: (2,)}), ((1, 2, 3), "2-3", None, 1, 1, {2: (2,), 3: (3,)}),
        ((1, 2), None, None, 1, 1, {1: (1,), 2: (2,)}), (None, "1", Host(), 1, 1, {1: (1,)}),
    ],
)  # fmt: skip
def test_cores_are_those_that_are_named_and_granted_else_those_of_the_host(
    tmp_path, cores, granted, host, lnc, ranks, first
):
    grant = read_grant({} if granted is None else {"NEURON_RT_VISIBLE_CORES": granted}, None)
    assert CorePool(cores, directory=tmp_path, grant=grant, host=host)._groups(lnc, ranks) == first


@pytest.mark.parametrize(
    ("cores", "granted", "says"),
    [
        ((0,), "1", "no logical core of 1 physical cores in --cores (physical cores: none that is granted)"), (None, "0", "no 2 logical cores of 1 physical cores in NEURON_RT_VISIBLE_CORES (physical cores: 0)"),
    ],
)  # fmt: skip
def test_what_is_named_and_not_granted_is_said(tmp_path, cores, granted, says):
    grant = read_grant({"NEURON_RT_VISIBLE_CORES": granted}, None)
    with pytest.raises(CaptureFailed) as caught:
        CorePool(cores, directory=tmp_path, grant=grant)._groups(1, 1 if cores else 2)
    assert str(caught.value) == says


def test_one_core_at_a_time_is_taken_where_nobody_granted_any(tmp_path):
    pool = CorePool(None, share_hbm=True, directory=tmp_path, host=Host())
    with pool.slot(1):
        assert pool._try(5, (5,)) is None
    named = CorePool((0, 5), share_hbm=True, directory=tmp_path)
    with named.slot(1):
        assert named._try(5, (5,)) is not None


def test_ranks_lie_on_as_few_devices_as_can_be_and_a_gap_is_none():
    assert list(side_by_side(dict.fromkeys(range(8), (0,)), 4)) == [0, 4, 1, 2, 3]
    assert side_by_side({0: (0,), 2: (2,), 3: (3,)}, 2) == {2: (2, 3)} and side_by_side({}, 2) == {}


def test_pools_are_made_for_the_kinds_that_are_there(tmp_path, monkeypatch):
    monkeypatch.setattr(cores_module, "find_host", lambda environ, folder: None)
    environ = {
        "NEFF_BENCH_LOCK_DIR": str(tmp_path / "locks"),
        "NEURON_RT_VISIBLE_CORES": "0-1",
        "NEURON_LOGICAL_NC_CONFIG": "1",
    }
    options = Options(environ=environ, lock_timeout_s=7.0, share_hbm=True)
    simulated = make_pools(None, ["sim"], options)
    assert list(simulated) == ["sim"] and simulated["sim"].cores == () and not (tmp_path / "locks").exists()
    pools = make_pools((1,), ["neuron", "sim"], options)
    assert (pools["sim"].cores, pools["neuron"].cores, pools["neuron"].share_hbm, pools["neuron"].lock_timeout_s) == (
        (1,),
        (1,),
        True,
        7.0,
    )
    assert (
        pools["neuron"].directory == tmp_path / "locks" == pools["sim"].directory
        and pools["neuron"].stop is options.stop
    )
    assert pools["neuron"].grant.logical == (0, 1) and pools["neuron"].nki_locks is None and pools["sim"].kind == "sim"
    with pytest.raises(WrongCall, match="core 2 is not granted"):
        make_pools((2,), ["neuron"], options)
    forced = make_pools((2,), ["neuron"], dataclasses.replace(options, force_cores=True))["neuron"]
    assert forced.cores == (2,) and forced.grant is None
    with pytest.raises(WrongCall, match="add --cores"):
        make_pools(None, ["neuron"], dataclasses.replace(options, force_cores=True))
    monkeypatch.setattr(cores_module, "find_host", lambda environ, folder: Host())
    here = make_pools((1,), ["neuron"], options)["neuron"]
    assert here.host is not None and here.nki_locks is not None


def test_a_core_that_another_tool_used_is_looked_at_again_after_a_while(tmp_path):
    pool = CorePool((0,), share_hbm=True, directory=tmp_path)
    pool._used[0,] = (time.monotonic() + 60, "used")
    assert pool._try(0, (0,)) is None
    pool._used[0,] = (time.monotonic(), "used")
    assert pool._try(0, (0,)) is not None
