"""Reads the Neuron devices of this host, as neuron-ls tells of them: asked again for each capture, since others share them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from neff_bench.terminal.text import plain

if TYPE_CHECKING:
    from neff_bench.parsers.neuron_ls import Topology

TIMEOUT_S = 20.0
TRIES = 3
PAUSE_S = 0.2
"""Before SDK 2.28 neuron-ls failed when it was called twice at once (release notes of dev-tools)."""
_SIGNED = re.compile(r"process (\d+) of ")


@dataclass(frozen=True)
class User:
    """A process that uses a device. `cores`: physical ones that it locked as we do; None: neuron-ls does not say which it uses,
    so all of the device count as used. `ours`: it was started by this process."""

    device: int
    pid: int
    command: str
    cores: tuple[int, ...] | None
    ours: bool

    @property
    def program(self) -> str:
        """The first two words of its command: what follows may be a secret."""
        return plain(" ".join(self.command.split()[:2]))[:80] or "of another user"


@dataclass
class Host:
    """`topology`: as it was found first; its cores do not change. Safe for several threads."""

    program: str
    environ: Mapping[str, str]
    topology: Topology
    _guard: threading.Lock = field(default_factory=threading.Lock)
    _asked: float = 0.0
    _known: Topology | None = None

    def users(self, locks: Mapping[int, tuple[int, ...]]) -> tuple[User, ...] | None:
        """Return who uses which device now; None when neuron-ls gives no answer. `locks`: the cores that each process has locked."""
        since = time.monotonic()
        with self._guard:
            if self._asked < since:
                self._asked = time.monotonic()
                self._known = topology_of(self.program, self.environ)
            known = self._known
        return None if known is None else users(known, locks)


def find_host(environ: Mapping[str, str], folder: Path) -> Host | None:
    """Return the devices of this host by the neuron-ls on PATH or in `folder`; None where there is no such program or no device."""
    path = shutil.which("neuron-ls", path=environ.get("PATH", "")) or shutil.which("neuron-ls", path=str(folder))
    if path is None:
        return None
    topology = topology_of(path, environ)
    return Host(path, environ, topology) if topology else None


def topology_of(program: str, environ: Mapping[str, str]) -> Topology | None:
    """Return what the program says; None when it gives no answer in `TRIES`."""
    from neff_bench.parsers.errors import ParseError
    from neff_bench.parsers.neuron_ls import ask
    from neff_bench.sdk.words import neuron_ls_forms

    def answer(arguments: Sequence[str]) -> bytes | None:
        try:
            asked = subprocess.run(
                [program, *arguments],
                env=dict(environ),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=TIMEOUT_S,
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        return asked.stdout if asked.returncode == 0 else None

    for attempt in range(TRIES):
        try:
            return ask(answer, neuron_ls_forms())
        except ParseError:
            if attempt + 1 < TRIES:
                time.sleep(PAUSE_S)
    return None


def users(topology: Topology, locks: Mapping[int, tuple[int, ...]]) -> tuple[User, ...]:
    """Return the processes of a topology, with the cores that they or what started them have locked."""
    found = []
    for device in topology.devices:
        for process in device.processes:
            line = ancestors(process.pid)
            holder = next((pid for pid in line if pid in locks), None)
            cores = (
                None
                if holder is None
                else tuple(core for core in sorted(locks[holder]) if core in device.physical_cores)
            )
            found.append(User(device.number, process.pid, process.command, cores, os.getpid() in line))
    return tuple(found)


def ancestors(pid: int) -> list[int]:
    """Return a process and those that it descends from, as far as /proc shows them."""
    line = [pid]
    while pid > 1:
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            break
        line.append(pid)
    return line


def signed_locks(directory: Path, prefix: str) -> dict[int, tuple[int, ...]]:
    """Return for each process the physical cores whose lock files name it."""
    found: dict[int, tuple[int, ...]] = {}
    for path in directory.glob(f"{prefix}-*.lock"):
        try:
            match = _SIGNED.match(path.read_text(errors="replace", encoding="utf-8"))
        except OSError:
            continue
        core = path.stem.removeprefix(f"{prefix}-")
        if match and core.isdecimal():
            found[int(match[1])] = (*found.get(int(match[1]), ()), int(core))
    return found
