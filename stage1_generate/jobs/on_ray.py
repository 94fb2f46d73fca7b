"""Builds on the hosts of a Ray cluster: a case travels out, its bundle, or on a shared file system its outcome alone, comes back."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from neff_bench.neffs.bundle import LOG
from neff_bench.neffs.errors import BundleError
from neff_bench.neffs.parcel import Shared, pack_bundle, shared, unpack_bundle, workplace
from neff_bench.neffs.store import Store
from neff_bench.neffs.verified import Verified
from neff_bench.sdk.environment import of_role
from neff_bench.stage1_generate.errors import GenerateError
from neff_bench.stage1_generate.jobs.build import Builder, Failure, Outcome, publish_built, publish_failure
from neff_bench.stage1_generate.jobs.job import Job
from neff_bench.stage1_generate.jobs.keys import JAX_ENVIRONMENT, Keys
from neff_bench.stage1_generate.jobs.warm import warm_parent
from neff_bench.stage1_generate.own_kernel import implementation_of
from neff_bench.stage1_generate.toolchains.find import Toolchain, choose
from neff_bench.system.cluster import Cluster, ended_in_order, host
from neff_bench.system.warm import WarmParent

_CPUS = 1


@dataclass(frozen=True)
class Asked:
    """Says what holds for all cases. `environment`: the variables of this host that shape a NEFF. `shared`: the store, where the hosts share it."""

    environment: dict[str, str]
    shared: Shared | None = None


@dataclass(frozen=True)
class Answer:
    """Holds what comes back. `outcome` None: the host would build something else; `depends_on` says of what. `bundle`: packed;
    None where the store is shared, and for a case that left none."""

    outcome: Outcome | None
    depends_on: dict[str, str]
    host: str
    bundle: bytes | None = None


@dataclass(frozen=True)
class Elsewhere:
    """Builds one job on a host that Ray chooses. `keys`: of the jobs, as this host made them."""

    cluster: Cluster
    store: Store
    keys: Keys
    asked: Asked

    def __call__(self, job: Job, go_on: Callable[[], None]) -> Outcome:
        """Build one job on the cluster. Raises `ClusterError` when it cannot do it, `BundleError` when what comes back is damaged."""
        answer = self.cluster.call(build_here, job, self.asked, cpus=_CPUS, resources={}, go_on=go_on)
        if answer.outcome is None:
            ours = self.keys.depends_on(job.case)
            other = {name for name, _ in ours.items() ^ answer.depends_on.items()}
            what = ", ".join(sorted(other)) or "the case"
            raise GenerateError(
                f"{answer.host} would build another NEFF (other: {what}); install the same versions and sources there"
            )
        if answer.bundle is not None and answer.outcome.status in ("built", "failed"):
            publish(self.store, job, answer.bundle)
        return answer.outcome


def publish(store: Store, job: Job, data: bytes) -> None:
    """Publish a bundle that came from another host, whole; call it under the case's lock. A failed one never replaces a good
    one with the same key. Raises `BundleError` when it is damaged or of another case."""

    def fill(directory: Path) -> Failure | None:
        manifest = unpack_bundle(data, directory).manifest
        if (manifest.case, manifest.key) != (job.case, job.key):
            raise BundleError(store.path / job.case.name, "another case came back than was asked for")
        return (manifest, (directory / LOG).read_bytes()) if manifest.status == "failed" else None

    failure = publish_built(store, job.case.name, fill)
    if failure is not None:
        publish_failure(store, *failure)


@contextmanager
def elsewhere(cluster: Cluster, store: Store, keys: Keys, is_shared: bool) -> Iterator[Elsewhere]:
    """Give a `Builder` what it needs to build on other hosts."""
    environment = {name: os.environ[name] for name in (*of_role("neff"), *JAX_ENVIRONMENT) if name in os.environ}
    with shared(store.path) if is_shared else nullcontext() as there:
        yield Elsewhere(cluster, store, keys, Asked(environment, there))


def build_here(job: Job, asked: Asked) -> Answer:
    """Build one job on a worker, in the shared store or in one of its own."""
    for name in (*of_role("neff"), *JAX_ENVIRONMENT):
        os.environ.pop(name, None)
    os.environ.update(asked.environment)
    if asked.shared is not None and (why := asked.shared.unseen()) is not None:
        return Answer(Outcome(job.case.name, "failed", why), {}, host())
    if job.folder is not None and not os.path.isdir(job.folder):
        why = f"{host()} has no {job.folder}; the files of your own kernels must lie under the same path on every host"
        return Answer(Outcome(job.case.name, "failed", why), {}, host())
    try:
        toolchain = choose(job.toolchain, Path(job.nkilib) if job.nkilib else None)
        keys = _keys(toolchain, job.folder)
        if keys.key(job.case) != job.key:
            return Answer(None, keys.depends_on(job.case), host())
        implementation = implementation_of(job.case, job.folder)
    except GenerateError as error:
        return Answer(Outcome(job.case.name, "failed", f"{host()}: {error}"), {}, host())
    warm = None if job.options.cold else _warm(implementation.route, job)

    def build(stop: threading.Event) -> Answer:
        """Return all of it in a thread, where no cancellation interrupts the removal of files."""

        def built(store: Store) -> Outcome:
            return Builder(store, toolchain, job.options, stop, warm).build(job, Verified(store.path))

        if asked.shared is not None:
            return Answer(built(Store(asked.shared.path)), {}, host())
        with workplace().scratch(job.case.name) as directory:
            store = Store(directory / "store")
            outcome = built(store)  # nothing is in it yet
            there = store.path / job.case.name
            return Answer(outcome, {}, host(), pack_bundle(there) if there.is_dir() else None)

    return ended_in_order(build)


@cache
def _keys(toolchain: Toolchain, folder: str | None) -> Keys:
    return Keys(toolchain, folder)


_WARM: dict[tuple[str, str], WarmParent | None] = {}
"""The warm parents of this worker, by toolchain and route; they end with it, and it ends with the command."""


def _warm(route: str, job: Job) -> WarmParent | None:
    if (job.toolchain, route) not in _WARM:
        _WARM[job.toolchain, route] = warm_parent([job])
    return _WARM[job.toolchain, route]
