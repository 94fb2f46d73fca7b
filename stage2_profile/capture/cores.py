"""Shares NeuronCores: who may use which, on a host that several users share.

Cores are numbered as physical cores, and the runtime is told logical numbers: logical core L of size n is physical cores L*n ... L*n+n-1. Each physical
core has a lock file in a directory that all users share; the lock dies with its holder. On a host with a device the locks of nki-library are taken too,
and neuron-ls is asked who uses the device. Two cores that share a bank of HBM slow each other down, so a capture locks its whole bank unless it is told not to.
"""

from __future__ import annotations

import os
import stat
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from neff_bench.chips.hbm import bank_of, cores_of
from neff_bench.errors import WrongCall
from neff_bench.stage2_profile.capture.conditions import Neighbour
from neff_bench.stage2_profile.capture.grant import Grant, check_cores, numbers, read_grant
from neff_bench.stage2_profile.capture.host import Host, User, find_host, signed_locks
from neff_bench.stage2_profile.capture.nki_locks import CoreLocks
from neff_bench.stage2_profile.capture.nki_locks import lock_directory as nki_locks_of
from neff_bench.stage2_profile.capture.tools import NEURON_BIN, Kind
from neff_bench.stage2_profile.errors import CaptureFailed, UnsafePath
from neff_bench.stage2_profile.options import Options
from neff_bench.system.lock import SHARED, holder, try_lock, unlock
from neff_bench.terminal.streams import notice

if TYPE_CHECKING:
    from neff_bench.parsers.neuron_ls import NeuronDevice

LOCK_DIRECTORY = Path("/tmp/neff-bench-cores")
LOCK_VARIABLE = "NEFF_BENCH_LOCK_DIR"
POLL_S = 0.05
ASK_AGAIN_S = 2.0
"""How long a core that another tool uses is left alone before it is looked at again."""
NO_CHANCE = 2
"""Errors after which a core does not come back in this process."""
NOTICE_AFTER_S = 5.0
LOCK_TIMEOUT_S = 3600.0
"""How long a core that another process holds is waited for, unless told otherwise."""


@dataclass(frozen=True)
class Slot:
    """A logical core to capture on, the first of them where a case has several ranks. `logical` None: the tool needs none. `locked`: `cores`, and those that share their HBM;
    `held`: their open lock files. `neighbours`: on the same devices when it was taken, None where nobody could say."""

    cores: tuple[int, ...] = ()
    logical: int | None = None
    locked: tuple[int, ...] = ()
    held: tuple[int, ...] = ()
    neighbours: tuple[Neighbour, ...] | None = None


def logical_cores(cores: tuple[int, ...], lnc: int) -> dict[int, tuple[int, ...]]:
    """Return for each logical core its physical cores, for those that are complete in `cores`."""
    groups = ((core // lnc, tuple(range(core // lnc * lnc, core // lnc * lnc + lnc))) for core in cores)
    return {logical: group for logical, group in groups if set(group) <= set(cores)}


def side_by_side(logical: Mapping[int, tuple[int, ...]], ranks: int) -> dict[int, tuple[int, ...]]:
    """Return for the first of so many logical cores in a row the physical cores of all. Those that begin at a multiple of `ranks` come first:
    they lie on as few devices as can be."""
    found = {}
    for first in sorted(logical, key=lambda core: (core % ranks != 0, core)):
        row = [logical.get(core) for core in range(first, first + ranks)]
        if all(group is not None for group in row):
            found[first] = tuple(core for group in row for core in group or ())
    return found


@dataclass(eq=False)
class CorePool:
    """The cores that this process may use.

    `cores` None: those of the `grant`, or one at a time of the host's where nobody granted any. Empty: no core is named and a
    slot is free at once (the simulator). `host` and `nki_locks` None: no device is here, and own locks are all there is.
    `out`: the cores that were taken out, and why.
    """

    cores: tuple[int, ...] | None
    kind: str = "neuron"
    directory: Path = LOCK_DIRECTORY
    grant: Grant | None = None
    host: Host | None = None
    nki_locks: CoreLocks | None = None
    share_hbm: bool = False
    stop: threading.Event = field(default_factory=threading.Event)
    say: Callable[[str], None] = lambda text: None
    lock_timeout_s: float = LOCK_TIMEOUT_S
    out: dict[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.share_hbm = self.share_hbm or self.kind != "neuron"
        self._prefix = "core" if self.kind == "neuron" else f"{self.kind}-core"
        self._errors: dict[int, int] = {}
        self._busy: set[int] = set()
        self._used: dict[tuple[int, ...], tuple[float, str]] = {}
        self._closed: str | None = None
        self._guard = threading.Lock()

    @contextmanager
    def slot(self, lnc: int, ranks: int = 1) -> Iterator[Slot]:
        """Hold a logical core for each rank, side by side; waits while all are in use. Raises `CaptureFailed` when none is left, on a stop, and when other
        processes hold all cores for longer than `lock_timeout_s`."""
        if self.cores == ():
            yield Slot()
            return
        slot = self._wait(lnc, ranks)
        try:
            yield slot
        finally:
            self._give_back(slot.locked, slot.held)

    def take_out(self, slot: Slot, why: str) -> None:
        """Do not give these cores again in this process, unless it is the last resort (see `_second_chance`)."""
        with self._guard:
            for core in slot.cores:
                self.out[core] = why
                self._errors[core] = self._errors.get(core, 0) + 1
        if slot.cores:
            self.say(f"core {', '.join(map(str, slot.cores))} is taken out: {why}")

    def take_device_out(self, slot: Slot, why: str) -> None:
        """Never give a core of the devices of these cores again; of these cores alone where the host is not known."""
        cores = set(slot.cores).union(*(device.physical_cores for device in self._devices(slot.cores)))
        with self._guard:
            for core in cores:
                self.out[core], self._errors[core] = why, NO_CHANCE
        if cores:
            self.say(f"core {', '.join(map(str, sorted(cores)))} is taken out for good: {why}")

    def put_back(self, slot: Slot) -> None:
        """Give these cores again: what happened on them was not their fault."""
        with self._guard:
            for core in slot.cores:
                self.out.pop(core, None)
                self._errors.pop(core, None)
        if slot.cores:
            self.say(f"core {', '.join(map(str, slot.cores))} is put back: the case failed on another core too")

    def close(self, why: str) -> None:
        """Give no core of this host any more."""
        self._closed = why
        self.say(f"nothing more is captured on this host: {why}")

    def neighbours(self, slot: Slot) -> tuple[Neighbour, ...] | None:
        """Return who else uses the devices of a slot now; None where nobody can say."""
        return self._neighbours(slot, self._users(slot.cores))

    def _neighbours(self, slot: Slot, users: tuple[User, ...] | None) -> tuple[Neighbour, ...] | None:
        if users is None or self.host is None:
            return None
        found = [
            Neighbour(device=user.device, pid=user.pid, program=user.program, cores=user.cores or ())
            for user in users
            if not user.ours
        ]
        with self._guard:
            others = self._busy - set(slot.locked)
        for device in self._devices(slot.cores):
            if cores := tuple(sorted(others & set(device.physical_cores))):
                found.append(
                    Neighbour(device=device.number, pid=None, program="another capture of this call", cores=cores)
                )
        return tuple(found)

    def _devices(self, cores: Iterable[int]) -> list[NeuronDevice]:
        """Return the devices of physical cores, none where the host is not known."""
        if self.host is None:
            return []
        found = {device.number: device for core in cores if (device := self.host.topology.device_of(core)) is not None}
        return list(found.values())

    def _users(self, cores: tuple[int, ...]) -> tuple[User, ...] | None:
        """Return who uses the devices of these cores now; None where nobody can say."""
        found = self.host.users(signed_locks(self.directory, self._prefix)) if self.host is not None else None
        if self.host is None or found is None:
            return None
        devices = {device.number for device in self._devices(cores)}
        return tuple(user for user in found if user.device in devices)

    def shares_hbm(self, slot: Slot) -> bool:
        """Return whether another capture of this process uses the same HBM now."""
        banks = {bank_of(core) for core in slot.cores}
        with self._guard:
            return any(bank_of(core) in banks for core in self._busy - set(slot.locked))

    def _groups(self, lnc: int, ranks: int) -> dict[int, tuple[int, ...]]:
        """Return the first logical cores that may be used for this LNC and so many ranks, in order, with all physical cores. Raises
        `CaptureFailed` when there are none."""
        granted = self.grant.physical(lnc) if self.grant is not None else None
        if self.cores is not None:
            cores = self.cores if granted is None else tuple(core for core in self.cores if core in granted)
        elif granted is not None:
            cores = granted
        else:
            cores = self.host.topology.physical_cores if self.host is not None else tuple(range(lnc * ranks))
        groups = side_by_side(logical_cores(cores, lnc), ranks)
        if not groups:
            asked = "--cores" if self.cores is not None else "NEURON_RT_VISIBLE_CORES"
            left = numbers(cores) or "none that is granted"
            need = f"{ranks} logical cores" if ranks > 1 else "logical core"
            raise CaptureFailed(f"no {need} of {lnc} physical cores in {asked} (physical cores: {left})")
        return groups

    def _wait(self, lnc: int, ranks: int) -> Slot:
        since = time.monotonic()
        told = False
        while not self.stop.is_set():
            if self._closed is not None:
                raise CaptureFailed(f"nothing more is captured on this host: {self._closed}")
            groups = self._groups(lnc, ranks)
            groups = {logical: group for logical, group in groups.items() if not set(group) & set(self.out)}
            if not groups and self._second_chance():
                continue
            if not groups:
                out = "; ".join(f"{core}: {why}" for core, why in sorted(self.out.items()))
                raise CaptureFailed(f"no working core is left (taken out: {out}); run again when the device is reset")
            for logical, group in groups.items():
                slot = self._try(logical, group)
                if slot is not None:
                    return slot
            with self._guard:
                if any(self._busy & set(group) for group in groups.values()):
                    since = time.monotonic()  # this process itself uses one of them, which then comes back by itself
            waited_s = time.monotonic() - since
            if waited_s > self.lock_timeout_s:
                raise CaptureFailed(
                    f"no free core after {self.lock_timeout_s:g} s (--lock-timeout): {self._holders(groups)}"
                )
            if waited_s > NOTICE_AFTER_S and not told:
                told = True
                self.say(f"waiting for a core: {self._holders(groups)}")
            self.stop.wait(POLL_S)
        raise CaptureFailed("interrupted")

    def _holders(self, groups: dict[int, tuple[int, ...]]) -> str:
        paths = {core: self._path(core) for group in groups.values() for core in group}
        held = {core: holder(path) for core, path in paths.items() if path.exists()}
        said = [f"core {core} is held by {who}" for core, who in sorted(held.items())]
        said += [self._used[group][1] for group in groups.values() if group in self._used]
        return "; ".join(dict.fromkeys(said)) or "all are in use"

    def _second_chance(self) -> bool:
        """Bring back once the cores with one error, when no other is left: the runtime resets a core when it starts."""
        with self._guard:
            back = [core for core in self.out if self._errors[core] == 1]
            for core in back:
                del self.out[core]
                self._errors[core] += 1
        if back:
            self.say(f"no core is left; {', '.join(map(str, sorted(back)))} get a second chance")
        return bool(back)

    def _try(self, logical: int, group: tuple[int, ...]) -> Slot | None:
        banks = {bank_of(core) for core in group}
        every = group if self.share_hbm else tuple(sorted({*group, *cores_of(banks)}))
        one_at_a_time = self.cores is None and self.grant is None
        with self._guard:
            if self._busy & set(every) or (one_at_a_time and self._busy):
                return None
            if group in self._used and time.monotonic() < self._used[group][0]:
                return None
            self._busy |= set(every)
        held: list[int] = []
        try:
            for core in every:
                try:
                    descriptor = try_lock(self._path(core), SHARED)
                except OSError as error:
                    self._give_up((*group, core), f"{self._path(core)} {error.strerror}")
                    break
                if descriptor is None:
                    break
                held.append(descriptor)
            slot = Slot(group, logical, every, tuple(held)) if len(held) == len(every) else None
            slot = slot and self._unused(slot)
        except BaseException:
            self._give_back(every, held)
            raise
        if slot is None:
            self._give_back(every, held)
        return slot

    def _unused(self, slot: Slot) -> Slot | None:
        """Return the slot, unless another tool uses its cores: then they are left alone for a while."""
        why = self.nki_locks.take(slot.locked) if self.nki_locks is not None else None
        users = self._users(slot.cores) if why is None else None
        if why is None and users is None and self.host is not None:
            why = "neuron-ls gives no answer, so it is not known who uses the device"
        for user in users or ():
            if not user.ours and (user.cores is None or set(user.cores) & set(slot.cores)):
                why = f"device {user.device} is used by process {user.pid} ({user.program})"
        if why is None:
            return replace(slot, neighbours=self._neighbours(slot, users))
        with self._guard:
            self._used[slot.cores] = (time.monotonic() + ASK_AGAIN_S, why)
        return None

    def _give_back(self, cores: tuple[int, ...], held: Sequence[int]) -> None:
        if self.nki_locks is not None:
            self.nki_locks.release(cores)
        for core, descriptor in zip(cores, held):
            unlock(self._path(core), descriptor)
        with self._guard:
            self._busy -= set(cores)

    def _give_up(self, cores: tuple[int, ...], why: str) -> None:
        """Leave out for good the cores of which one has a lock that cannot be taken at all; others go on."""
        with self._guard:
            told = set(cores) <= set(self.out)
            self.out.update(dict.fromkeys(cores, why))
            self._errors.update(dict.fromkeys(cores, NO_CHANCE))
        if not told:
            self.say(f"core {numbers(set(cores))} is left out: {why}")

    def _path(self, core: int) -> Path:
        return self.directory / f"{self._prefix}-{core}.lock"


def lock_directory(environ: Mapping[str, str]) -> Path:
    """Return the shared directory of the lock files, made sticky and writable by all. Raises `UnsafePath`."""
    directory = Path(environ.get(LOCK_VARIABLE) or LOCK_DIRECTORY)
    try:
        directory.mkdir()
        os.chmod(directory, 0o1777)
    except FileExistsError:
        pass
    except OSError as error:
        raise UnsafePath(f"{directory}: cannot make it for the locks of cores: {error.strerror}") from None
    status = os.lstat(directory)
    if not stat.S_ISDIR(status.st_mode):
        raise UnsafePath(
            f"{directory} is not a directory, but the locks of cores belong there; remove it or set {LOCK_VARIABLE}"
        )
    return directory


def make_pools(cores: tuple[int, ...] | None, kinds: Iterable[str], options: Options) -> dict[Kind, CorePool]:
    """Return the cores for each toolchain. The simulator needs none, and takes simulated ones when they are asked for; then the host
    is not looked at. Raises `WrongCall` for cores that are not granted, unless they are forced."""
    if options.force_cores and cores is None:
        raise WrongCall("--force-cores leaves the grant for the cores that --cores names; add --cores")
    measured = "neuron" in set(kinds)
    pool = partial(
        CorePool,
        directory=lock_directory(options.environ) if cores is not None or measured else LOCK_DIRECTORY,
        stop=options.stop,
        say=notice,
        lock_timeout_s=options.lock_timeout_s,
    )
    pools: dict[Kind, CorePool] = {"sim": pool(cores or (), kind="sim")}
    if measured:
        host = find_host(options.environ, NEURON_BIN)
        topology = host.topology if host is not None else None
        grant = None if options.force_cores else read_grant(options.environ, topology)
        if cores is not None:
            check_cores(cores, grant, topology)
        has_device = host is not None or any(Path("/dev").glob("neuron[0-9]*"))
        nki_locks = CoreLocks(nki_locks_of(options.environ)) if has_device else None
        pools["neuron"] = pool(cores, grant=grant, host=host, nki_locks=nki_locks, share_hbm=options.share_hbm)
    return pools
