"""NeuronCores: who may use which, on a host that several users share.

Cores are numbered as physical cores. Logical core L of size n is physical cores L*n ... L*n+n-1 (AWS Neuron docs,
neuron-runtime/.../logical-neuroncore-config.rst), and the runtime is told logical numbers. Each physical core has a lock
file in a directory that all users share; the lock dies with its holder.
"""

from __future__ import annotations

import os
import stat
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from neff_bench.stage2_profile.errors import CaptureFailed, UnsafePath
from neff_bench.terminal.errors import WrongCall
from neff_bench.terminal.lock import SHARED, holder, try_lock, unlock

LOCK_DIRECTORY = Path("/tmp/neff-bench-cores")
LOCK_VARIABLE = "NEFF_BENCH_LOCK_DIR"
MAX_CORES = 4096
POLL_S = 0.05
NO_CHANCE = 2
"""Errors after which a core does not come back in this process."""
NOTICE_AFTER_S = 5.0
LOCK_TIMEOUT_S = 3600.0
"""How long a core that another process holds is waited for, unless told otherwise."""


@dataclass(frozen=True)
class Slot:
    """A logical core to capture on. `logical` None: the tool needs none. `held`: open lock files of `cores`."""

    cores: tuple[int, ...] = ()
    logical: int | None = None
    held: tuple[int, ...] = ()


def parse_cores(text: str) -> tuple[int, ...]:
    """`0-7`, `0,2,4-5` → physical core numbers. Raises `WrongCall`."""
    cores: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise WrongCall(f"--cores {text!r}: expected numbers and ranges such as 0-7 or 0,2,4-5")
        start, end = int(first), int(last if dash else first)
        if end < start or end >= MAX_CORES:
            raise WrongCall(f"--cores {text!r}: {part.strip()!r} is not a range of cores (0 to {MAX_CORES - 1})")
        cores.update(range(start, end + 1))
    return tuple(sorted(cores))


def first_visible(environ: Mapping[str, str]) -> int:
    """The first logical core that the user's environment allows, 0 without a word about it. Raises `WrongCall`."""
    text = environ.get("NEURON_RT_VISIBLE_CORES", "").strip()
    try:
        return parse_cores(text)[0] if text else 0
    except WrongCall:
        raise WrongCall(f"NEURON_RT_VISIBLE_CORES={text!r}: expected numbers and ranges such as 0-3") from None


def logical_cores(cores: tuple[int, ...], lnc: int) -> dict[int, tuple[int, ...]]:
    """Logical core → its physical cores, for those that are complete in `cores`."""
    groups = ((core // lnc, tuple(range(core // lnc * lnc, core // lnc * lnc + lnc))) for core in cores)
    return {logical: group for logical, group in groups if set(group) <= set(cores)}


class CorePool:
    """The cores that this process may use.

    `cores` None: one logical core, `first`, so that nothing else on the device disturbs a measurement. Empty: no core is named
    and a slot is free at once (the simulator).
    """

    def __init__(
        self,
        cores: tuple[int, ...] | None,
        *,
        kind: str = "neuron",
        directory: Path | None = None,
        first: int = 0,
        stop: threading.Event | None = None,
        say: Callable[[str], None] = lambda text: None,
        lock_timeout_s: float = LOCK_TIMEOUT_S,
    ) -> None:
        self.cores = cores
        self.first = first
        self.out: dict[int, str] = {}
        self._errors: dict[int, int] = {}
        self._prefix = "core" if kind == "neuron" else f"{kind}-core"
        self._directory = directory or LOCK_DIRECTORY
        self._stop = stop or threading.Event()
        self._say = say
        self._lock_timeout_s = lock_timeout_s
        self._busy: set[int] = set()
        self._guard = threading.Lock()

    @contextmanager
    def slot(self, lnc: int) -> Iterator[Slot]:
        """Hold a logical core; waits while all are in use. Raises `CaptureFailed` when none is left, on a stop, and when other
        processes hold all cores for longer than `lock_timeout_s`."""
        if self.cores == ():
            yield Slot()
            return
        slot = self._wait(lnc)
        try:
            yield slot
        finally:
            for core, descriptor in zip(slot.cores, slot.held, strict=True):
                unlock(self._path(core), descriptor)
            with self._guard:
                self._busy -= set(slot.cores)

    def take_out(self, slot: Slot, why: str) -> None:
        """Do not give these cores again in this process, unless it is the last resort (see `_second_chance`)."""
        with self._guard:
            for core in slot.cores:
                self.out[core] = why
                self._errors[core] = self._errors.get(core, 0) + 1
        if slot.cores:
            self._say(f"core {', '.join(map(str, slot.cores))} is taken out: {why}")

    def _wait(self, lnc: int) -> Slot:
        since = time.monotonic()
        told = False
        while not self._stop.is_set():
            cores = tuple(range(self.first * lnc, self.first * lnc + lnc)) if self.cores is None else self.cores
            groups = logical_cores(cores, lnc)
            if not groups:
                raise CaptureFailed(f"no logical core of {lnc} physical cores in --cores {','.join(map(str, cores))}")
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
            if self._is_ours(groups):
                since = time.monotonic()
            waited_s = time.monotonic() - since
            if waited_s > self._lock_timeout_s:
                raise CaptureFailed(
                    f"no free core after {self._lock_timeout_s:g} s (--lock-timeout): {self._holders(groups)}"
                )
            if waited_s > NOTICE_AFTER_S and not told:
                told = True
                self._say(f"waiting for a core: {self._holders(groups)}")
            self._stop.wait(POLL_S)
        raise CaptureFailed("interrupted")

    def _is_ours(self, groups: dict[int, tuple[int, ...]]) -> bool:
        """Whether this process itself uses one of the cores that are waited for; then it comes back by itself."""
        with self._guard:
            return any(self._busy & set(group) for group in groups.values())

    def _holders(self, groups: dict[int, tuple[int, ...]]) -> str:
        paths = {core: self._path(core) for group in groups.values() for core in group}
        held = {core: holder(path) for core, path in paths.items() if path.exists()}
        return "; ".join(f"core {core} is held by {who}" for core, who in sorted(held.items())) or "all are in use"

    def _second_chance(self) -> bool:
        """When no core is left, those with one error come back once: the runtime resets a core when it starts."""
        with self._guard:
            back = [core for core in self.out if self._errors[core] == 1]
            for core in back:
                del self.out[core]
                self._errors[core] += 1
        if back:
            self._say(f"no core is left; {', '.join(map(str, sorted(back)))} get a second chance")
        return bool(back)

    def _try(self, logical: int, group: tuple[int, ...]) -> Slot | None:
        with self._guard:
            if self._busy & set(group):
                return None
            self._busy |= set(group)
        held: list[int] = []
        try:
            for core in group:
                try:
                    descriptor = try_lock(self._path(core), SHARED)
                except OSError as error:
                    self._give_up(core, f"{self._path(core)} cannot be locked: {error.strerror}")
                    break
                if descriptor is None:
                    break
                held.append(descriptor)
            if len(held) == len(group):
                return Slot(group, logical, tuple(held))
            self._give_back(group, held)
            return None
        except BaseException:
            self._give_back(group, held)
            raise

    def _give_back(self, group: tuple[int, ...], held: list[int]) -> None:
        for core, descriptor in zip(group, held):
            unlock(self._path(core), descriptor)
        with self._guard:
            self._busy -= set(group)

    def _give_up(self, core: int, why: str) -> None:
        """A core whose lock cannot be taken at all: it is out for good, and others go on."""
        with self._guard:
            told = core in self.out
            self.out[core], self._errors[core] = why, NO_CHANCE
        if not told:
            self._say(f"core {core} is left out: {why}")

    def _path(self, core: int) -> Path:
        return self._directory / f"{self._prefix}-{core}.lock"


def lock_directory(environ: Mapping[str, str]) -> Path:
    """The shared directory of the lock files, made sticky and writable by all. Raises `UnsafePath`."""
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
