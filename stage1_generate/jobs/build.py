"""Build cases in parallel, each in a worker process of its own, into a store."""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Protocol

import orjson

from neff_bench.errors import NeffBenchError
from neff_bench.neffs.bundle import LOG, MANIFEST, Manifest, files_of, missing_file, read_bundle, write_manifest
from neff_bench.neffs.errors import BundleError, NeffsError
from neff_bench.neffs.store import Store
from neff_bench.neffs.verified import Verified
from neff_bench.stage1_generate.errors import GenerateError
from neff_bench.stage1_generate.jobs.job import Job
from neff_bench.stage1_generate.jobs.worker import DISK_FULL, refused, started
from neff_bench.stage1_generate.jobs.worker_process import run_module
from neff_bench.stage1_generate.toolchains.command import reason
from neff_bench.system.warm import WarmParent

WORKER = "neff_bench.stage1_generate.jobs.worker"
_TAIL_BYTES = 8192


@dataclass(frozen=True)
class Outcome:
    """What became of one case. `reason`: for `failed` and `not built`. `time_s`: wall time of this build, 0 without one."""

    name: str
    status: Literal["built", "up to date", "failed", "not built"]
    reason: str | None = None
    time_s: float = 0.0


class Cancelled(GenerateError):
    """The run is ending; this case is left as it was."""


class Elsewhere(Protocol):
    """Another host that builds."""

    @property
    def shared(self) -> bool:
        """Whether it writes to the store itself; else it is called under the case's lock, and what it built is published
        here."""

    def __call__(self, job: Job, go_on: Callable[[], None]) -> Outcome:
        """Build one job there. `go_on` may raise to end it."""


State = Literal["up to date", "retry", "build"]


def state(store: Store, job: Job, verified: Verified, tell: Callable[[str], None] = lambda line: None) -> State:
    """What the store has of a case under its key: all of it (`up to date`), a failure (`retry`), or nothing (`build`).

    `tell` gets a line for a bundle that was good and is damaged.
    """
    try:
        bundle = store.find(job.case.name)
        if bundle is None or bundle.manifest.key != job.key:
            return "build"
        if bundle.manifest.status == "failed":
            return "retry"
        wrong = verified.wrong(bundle.path, files_of(bundle.manifest))
    except BundleError as error:
        wrong = error.what
    if wrong is None:
        return "up to date"
    tell(f"{job.case.name}: {wrong}")
    return "build"


def build_all(
    jobs: Sequence[Job],
    store: Store,
    workers: int,
    timeout_s: float,
    lacks: Callable[[Job], str | None],
    report: Callable[[Outcome], None],
    force: bool = False,
    fail_fast: bool = False,
    stop: threading.Event | None = None,
    warm: WarmParent | None = None,
    elsewhere: Elsewhere | None = None,
) -> list[Outcome]:
    """Build every job; `report` gets each outcome as it comes.

    `lacks`: why a job cannot be built at all, None when it can; `timeout_s`: of one case. `stop`: when it is set, workers
    are ended; what was published by then stays, what was not is as before. `warm`: the parent to fork workers from, None to
    start each cold. `elsewhere`: builds a case on another host, None to build on this one.
    """
    store.create()
    store.sweep()
    stop, verified = stop or threading.Event(), Verified(store.path)
    outcomes = []

    def one(job: Job) -> Outcome:
        outcome = build_one(job, store, timeout_s, lacks, verified, force, stop, warm, elsewhere)
        if fail_fast and outcome.status == "failed":
            stop.set()
        return outcome

    with ThreadPoolExecutor(workers) as pool:
        for future in as_completed([pool.submit(one, job) for job in jobs]):
            outcomes.append(future.result())
            report(outcomes[-1])
    return outcomes


def build_one(
    job: Job,
    store: Store,
    timeout_s: float,
    lacks: Callable[[Job], str | None],
    verified: Verified,
    force: bool,
    stop: threading.Event,
    warm: WarmParent | None,
    elsewhere: Elsewhere | None = None,
) -> Outcome:
    """Build one job; see `build_all`. What is wrong with a case is its outcome."""

    def go_on() -> None:
        if stop.is_set():
            raise Cancelled

    name = job.case.name
    start = time.monotonic()
    try:
        go_on()
        if elsewhere is not None and elsewhere.shared:
            return elsewhere(job, go_on)  # the host there holds the lock
        with store.lock(name, waiting=go_on):
            # Another process may have built it while we waited for the lock.
            if not force and state(store, job, verified) == "up to date":
                return Outcome(name, "up to date")
            if elsewhere is not None:
                return elsewhere(job, go_on)
            why_not = lacks(job) or refused(job)
            if why_not is not None:
                return publish_failure(store, replace(started(job), reason=why_not), b"")
            return _run_worker(job, store, timeout_s, start, go_on, warm)
    except Cancelled:
        return Outcome(name, "not built", "the run was ended")
    except NeffBenchError as error:
        return Outcome(name, "failed", str(error), time.monotonic() - start)
    except OSError as error:
        return Outcome(name, "failed", f"{error.filename or store.path}: {error.strerror}", time.monotonic() - start)


def _run_worker(
    job: Job, store: Store, timeout_s: float, start: float, go_on: Callable[[], None], warm: WarmParent | None
) -> Outcome:
    failure: tuple[Manifest, bytes] | None = None

    class NotBuilt(GenerateError):
        pass

    def fill(directory: Path) -> None:
        nonlocal failure
        died = _work(job, directory, timeout_s, go_on, warm)
        manifest = _manifest(directory)
        if died is None and manifest is not None and manifest.status == "built":
            return
        reason = died or (manifest.reason if manifest else None) or "the worker ended without a result"
        if os.strerror(errno.ENOSPC) in reason:
            reason = f"no space left on the disk of {store.path}"
        failure = (replace(manifest or started(job), status="failed", reason=reason), _log(directory))
        raise NotBuilt

    try:
        store.publish(job.case.name, fill)
    except NotBuilt:
        if failure is None:
            raise
        time_s = time.monotonic() - start
        try:
            return replace(publish_failure(store, *failure), time_s=time_s)
        except (NeffsError, OSError):  # not even the reason can be kept; it is still told
            return Outcome(job.case.name, "failed", failure[0].reason, time_s)
    return Outcome(job.case.name, "built", None, time.monotonic() - start)


def _work(
    job: Job, directory: Path, timeout_s: float, go_on: Callable[[], None], warm: WarmParent | None
) -> str | None:
    """Run the worker in `directory` to its end. Returns how it died, None when it ended by itself with a result."""
    returncode = run_module(WORKER, orjson.dumps(job), directory, timeout_s, go_on, warm)
    if returncode is None:
        return f"took longer than {timeout_s:g} s (--timeout)"
    if returncode == DISK_FULL:
        return os.strerror(errno.ENOSPC)
    if returncode in (0, 1) and (directory / MANIFEST).is_file():
        return None
    return reason(returncode, _log(directory)[-_TAIL_BYTES:].decode(errors="replace"))


def publish_failure(store: Store, manifest: Manifest, log: bytes) -> Outcome:
    """A failed case becomes a bundle, but never in place of a good one with the same key."""
    name = manifest.case.name

    def fill(directory: Path) -> None:
        (directory / LOG).write_bytes(log)
        write_manifest(directory, manifest)

    try:
        kept = store.find(name)
    except BundleError:
        kept = None
    if kept is None or kept.manifest.key != manifest.key or missing_file(kept) is not None or not kept.neff_path:
        store.publish(name, fill)
    return Outcome(name, "failed", manifest.reason)


def _manifest(directory: Path) -> Manifest | None:
    try:
        return read_bundle(directory).manifest
    except BundleError:
        return None


def _log(directory: Path) -> bytes:
    try:
        return (directory / LOG).read_bytes()
    except OSError:
        return b""
