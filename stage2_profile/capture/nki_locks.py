"""Takes the core locks of nki-library's test harness by its own rules, so that both tools exclude each other.

Its clients keep `locks.json` in one directory of the host: physical core -> time at which its lock ends, read and written under `flock` on `atomic_lock`
(aws-neuron/nki-library, test/utils/core_lock_client.py; protocols 2 to 5). A lock lasts 60 s and is renewed while the capture runs, so a killed process
blocks nobody for longer.
"""

from __future__ import annotations

import fcntl
import json
import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from neff_bench.stage2_profile.errors import CaptureFailed

DIRECTORY = Path("/tmp/neuronx-cc/core_locks")
VARIABLE = "NEFF_BENCH_NKI_LOCK_DIR"
OLDEST, NEWEST = 2, 5
"""Protocols that we speak: 2 is flock and JSON (1 had a directory for each core), 5 has a queue whose entries reserve cores."""
ENTRY_S, RENEW_S = 60, 15
STALE_S = 60
"""An entry of the queue that was not seen for so long is dropped by every client (STALE_THRESHOLD)."""
PATIENCE_S, POLL_S = 30.0, 0.1
_LOCKS = "physical_neuron_cores_lock_timeout"
_BYTES_MAX = 1 << 20


class CoreLocks:
    """The entries of this process. Safe for several threads."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._entries: dict[int, int] = {}
        self._guard = threading.Lock()
        self._renewing: threading.Thread | None = None

    def take(self, cores: tuple[int, ...]) -> str | None:
        """Lock physical cores, all or none; None when that is done, else why not. Raises `CaptureFailed` where the locks cannot
        be used: a protocol that we do not speak, or a directory that we may not write."""
        try:
            self._prepare()
            with self._locked() as held:
                if not held:
                    return f"{self._directory} is in use for {PATIENCE_S:g} s"
                state, now = self._read(), int(time.time())
                why = refusal(state, cores, now)
                if why is None:
                    self._write(state, dict.fromkeys(cores, now + ENTRY_S))
                    with self._guard:
                        self._entries.update(dict.fromkeys(cores, now + ENTRY_S))
        except OSError as error:
            raise CaptureFailed(
                f"{error.filename or self._directory}: cannot take the core locks of nki-library: {error.strerror}"
            ) from None
        if why is None:
            self._renew_from_now_on()
        return why

    def release(self, cores: tuple[int, ...]) -> None:
        """Drop our entries; one that somebody else has taken since stays."""
        with self._guard:
            ours = {core: self._entries.pop(core) for core in cores if core in self._entries}
        if not ours:
            return
        try:
            with self._locked() as held:
                if held:
                    state = self._read()
                    ended = [core for core, end in ours.items() if state[_LOCKS].get(str(core)) == end]
                    for core in ended:
                        del state[_LOCKS][str(core)]
                    self._write(state, {})
        except OSError:
            pass  # it ends by itself

    def renew(self) -> None:
        """Let our entries last as long again. Raises `OSError`."""
        with self._locked() as held:
            if held:
                state, end = self._read(), int(time.time()) + ENTRY_S
                with self._guard:  # one that is being released meanwhile must not come back
                    ours = [core for core, mine in self._entries.items() if state[_LOCKS].get(str(core)) == mine]
                    self._write(state, dict.fromkeys(ours, end))
                    self._entries.update(dict.fromkeys(ours, end))

    def _renew_from_now_on(self) -> None:
        with self._guard:
            if self._renewing is None:
                self._renewing = threading.Thread(target=self._renew, name="core-locks", daemon=True)
                self._renewing.start()

    def _renew(self) -> None:
        while True:
            time.sleep(RENEW_S)
            with self._guard:
                if not self._entries:
                    self._renewing = None
                    return
            try:
                self.renew()
            except OSError:
                continue

    def _prepare(self) -> None:
        """Make the directory as their clients do, and refuse a protocol that is not ours."""
        for path, mode in ((self._directory.parent, 0o1777), (self._directory, 0o777)):
            try:
                path.mkdir(parents=True)
                path.chmod(mode)
            except FileExistsError:
                pass
        try:
            version = json.loads(self._text("infra_version.json"))["minClientLockingVersion"]
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return  # their clients write 2 there
        if not isinstance(version, int) or not OLDEST <= version <= NEWEST:
            raise CaptureFailed(
                f"{self._directory / 'infra_version.json'}: this host locks cores by protocol {version!r}, "
                f"expected {OLDEST} to {NEWEST}; update neff-bench"
            )

    @contextmanager
    def _locked(self) -> Iterator[bool]:
        """Hold `atomic_lock` inside; yields whether it is ours."""
        path = self._directory / "atomic_lock"
        flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            descriptor = os.open(path, flags)
        except FileNotFoundError:
            descriptor = os.open(path, flags | os.O_CREAT, 0o666)
            os.fchmod(descriptor, 0o666)
        try:
            end, held = time.monotonic() + PATIENCE_S, False
            while not held and time.monotonic() < end:
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    held = True
                except BlockingIOError:
                    time.sleep(POLL_S)
            yield held
        finally:
            os.close(descriptor)

    def _text(self, name: str) -> str:
        descriptor = os.open(self._directory / name, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        with os.fdopen(descriptor, "rb") as file:
            return file.read(_BYTES_MAX).decode("utf-8", "replace")

    def _read(self) -> dict[str, Any]:
        """Return `locks.json`; one that is absent or damaged counts as empty, as it does for their clients."""
        try:
            state = json.loads(self._text("locks.json"))
            if isinstance(state[_LOCKS], dict):
                return dict(state)
        except (FileNotFoundError, ValueError, KeyError, TypeError, RecursionError):
            pass
        return {"version": OLDEST, _LOCKS: {}}

    def _write(self, state: dict[str, Any], ours: Mapping[int, int]) -> None:
        """Write the file whole, and writable for all: their clients open it for writing as whoever they are. Call it with `atomic_lock` held."""
        state[_LOCKS].update({str(core): end for core, end in ours.items()})
        beside = self._directory / f".locks.json.{os.getpid()}"
        beside.write_text(json.dumps(state), encoding="utf-8")
        beside.chmod(0o666)
        beside.replace(self._directory / "locks.json")


def refusal(state: Mapping[str, Any], cores: tuple[int, ...], now: int) -> str | None:
    """Return why these physical cores may not be taken at a time (seconds since 1970), None when they may."""
    draining = state.get("draining_enabled_with_timeout")
    if isinstance(draining, (int, float)) and now < draining:
        return f"nki-library drains this host until {_clock(draining)}"
    for core in cores:
        end = state[_LOCKS].get(str(core))
        if isinstance(end, (int, float)) and now < end:
            return f"core {core} is locked until {_clock(end)} in the core locks of nki-library"
    for entry in state.get("queue") or ():
        if not isinstance(entry, dict) or not isinstance(seen := entry.get("last_seen_ts"), (int, float)):
            continue  # damaged, or of a client that never came back
        region = entry.get("reserved_region") or entry.get("reserved_cores")
        reserved = [core for core in cores if isinstance(region, list) and core in region]
        if reserved and now < seen + STALE_S:
            return f"core {min(reserved)} is reserved in nki-library's queue"
    return None


def lock_directory(environ: Mapping[str, str]) -> Path:
    """Return where the locks of nki-library are."""
    return Path(environ.get(VARIABLE) or DIRECTORY)


def _clock(seconds: float) -> str:
    try:
        return time.strftime("%H:%M:%S", time.localtime(seconds))
    except (OverflowError, ValueError, OSError):
        return f"{seconds:g} s after 1970"
