"""Builds cases in parallel, each in a worker process of its own, into a store."""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from neff_bench.errors import NeffBenchError
from neff_bench.neffs.bundle import LOG, MANIFEST, Manifest, files_of, read_bundle, write_manifest
from neff_bench.neffs.checksums import wrong_size
from neff_bench.neffs.errors import BundleError, NeffsError
from neff_bench.neffs.store import Store
from neff_bench.neffs.verified import Verified
from neff_bench.stage1_generate.errors import GenerateError
from neff_bench.stage1_generate.jobs.job import Job, encode
from neff_bench.stage1_generate.jobs.worker import DISK_FULL, refused, started
from neff_bench.stage1_generate.jobs.worker_process import run_module
from neff_bench.stage1_generate.options import Options
from neff_bench.stage1_generate.own_kernel import implementation_of
from neff_bench.stage1_generate.toolchains.compiler_process import reason
from neff_bench.stage1_generate.toolchains.find import Toolchain
from neff_bench.system.warm import WarmParent

WORKER = "neff_bench.stage1_generate.jobs.worker"
_TAIL_BYTES = 8192


@dataclass(frozen=True)
class Outcome:
    """Holds what became of one case. `reason`: for `failed` and `not built`. `time_s`: wall time of this build, 0 without one."""

    name: str
    status: Literal["built", "up to date", "failed", "not built"]
    reason: str | None = None
    time_s: float = 0.0


class Cancelled(GenerateError):
    """The run is ending; this case is left as it was."""


Elsewhere = Callable[[Job, Callable[[], None]], Outcome]
"""Builds one job on another host, in the store itself where that is shared; else it is called under the case's lock, and what it built is published
here. The function that it gets is called meanwhile and may raise to end it."""

State = Literal["up to date", "retry", "build"]


def state(store: Store, job: Job, verified: Verified, tell: Callable[[str], None] = lambda line: None) -> State:
    """Return what the store has of a case under its key: all of it (`up to date`), a failure (`retry`), or nothing (`build`).

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


@dataclass(frozen=True)
class Builder:
    """Builds jobs into a store, each case within `options.timeout_s`.

    `stop`: when it is set, workers are ended; what was published by then stays, what was not is as before. `warm`: the parent
    to fork workers from, None to start each cold. `elsewhere`: builds a case on another host, None to build on this one.
    """

    store: Store
    toolchain: Toolchain
    options: Options
    stop: threading.Event = field(default_factory=threading.Event)
    warm: WarmParent | None = None
    elsewhere: Elsewhere | None = None

    def build_all(
        self, jobs: Sequence[Job], workers: int, report: Callable[[Outcome], None] = lambda outcome: None
    ) -> list[Outcome]:
        """Build every job, so many at a time; `report` gets each outcome as it comes."""
        self.store.create()
        self.store.sweep()
        verified, outcomes = Verified(self.store.path), []

        def one(job: Job) -> Outcome:
            outcome = self.build(job, verified)
            if self.options.fail_fast and outcome.status == "failed":
                self.stop.set()
            return outcome

        with ThreadPoolExecutor(workers) as pool:
            for future in as_completed([pool.submit(one, job) for job in jobs]):
                outcomes.append(future.result())
                report(outcomes[-1])
        return outcomes

    def build(self, job: Job, verified: Verified) -> Outcome:
        """Build one job. What is wrong with a case is its outcome."""
        name = job.case.name
        start = time.monotonic()
        try:
            self._go_on()
            if self.elsewhere is not None and self.options.shared_store:
                return self.elsewhere(job, self._go_on)  # the host there holds the lock
            with self.store.lock(name, waiting=self._go_on):
                # Another process may have built it while we waited for the lock.
                if not self.options.force and state(self.store, job, verified) == "up to date":
                    return Outcome(name, "up to date")
                if self.elsewhere is not None:
                    return self.elsewhere(job, self._go_on)
                why_not = self.lacks(job) or refused(job)
                if why_not is not None:
                    return publish_failure(self.store, replace(started(job), reason=why_not), b"")
                return self._run_worker(job, start)
        except Cancelled:
            return Outcome(name, "not built", "the run was ended")
        except NeffBenchError as error:
            return Outcome(name, "failed", str(error), time.monotonic() - start)
        except OSError as error:
            why = f"{error.filename or self.store.path}: {error.strerror}"
            return Outcome(name, "failed", why, time.monotonic() - start)

    def lacks(self, job: Job) -> str | None:
        """Return why a job cannot be built at all, None when it can."""
        implementation = implementation_of(job.case, job.folder)
        return self.toolchain.lacks(implementation.needs, implementation.route)

    def _go_on(self) -> None:
        if self.stop.is_set():
            raise Cancelled

    def _run_worker(self, job: Job, start: float) -> Outcome:
        def fill(directory: Path) -> Failure | None:
            died = self._work(job, directory)
            manifest = _manifest(directory)
            if died is None and manifest is not None and manifest.status == "built":
                return None
            reason = died or (manifest.reason if manifest else None) or "the worker ended without a result"
            if os.strerror(errno.ENOSPC) in reason:
                reason = f"no space left on the disk of {self.store.path}"
            return replace(started(job), reason=reason), _log(directory)

        failure = publish_built(self.store, job.case.name, fill, self._go_on)
        time_s = time.monotonic() - start
        if failure is None:
            return Outcome(job.case.name, "built", None, time_s)
        try:
            return replace(publish_failure(self.store, *failure), time_s=time_s)
        except (NeffsError, OSError):  # not even the reason can be kept; it is still told
            return Outcome(job.case.name, "failed", failure[0].reason, time_s)

    def _work(self, job: Job, directory: Path) -> str | None:
        """Run the worker in `directory` to its end. Returns how it died, None when it ended by itself with a result."""
        timeout_s = self.options.timeout_s
        returncode = run_module(WORKER, encode(job), directory, timeout_s, self._go_on, self.warm)
        if returncode is None:
            return f"took longer than {timeout_s:g} s (--timeout)"
        if returncode == DISK_FULL:
            return os.strerror(errno.ENOSPC)
        if returncode in (0, 1) and (directory / MANIFEST).is_file():
            return None
        return reason(returncode, _log(directory)[-_TAIL_BYTES:].decode(errors="replace"))


Failure = tuple[Manifest, bytes]
"""What is known of a case that failed, and its log."""


def publish_built(
    store: Store, name: str, fill: Callable[[Path], Failure | None], waiting: Callable[[], None] = lambda: None
) -> Failure | None:
    """Publish what `fill` writes, or nothing where it returns a failure, which is returned."""
    failure: Failure | None = None

    class NotBuilt(GenerateError):
        pass

    def filled(directory: Path) -> None:
        nonlocal failure
        failure = fill(directory)
        if failure is not None:
            raise NotBuilt

    with suppress(NotBuilt):
        store.publish(name, filled, waiting)
    return failure


def publish_failure(store: Store, manifest: Manifest, log: bytes) -> Outcome:
    """Publish a failed case as a bundle, but never in place of a good one with the same key."""
    name = manifest.case.name

    def fill(directory: Path) -> None:
        (directory / LOG).write_bytes(log)
        write_manifest(directory, manifest)

    try:
        kept = store.find(name)
    except BundleError:
        kept = None
    if (
        kept is None
        or kept.manifest.key != manifest.key
        or wrong_size(kept.path, files_of(kept.manifest))
        or not kept.neff_path
    ):
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
