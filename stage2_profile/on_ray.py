"""Captures on the hosts of a Ray cluster: a bundle travels out with its runs, the new runs come back and are published here.

Each capture uses the one of Ray's `neuron_cores` that it is granted. Simulated NEFFs ask for one too where the cluster has any, else for a CPU. Where the
hosts share the store's file system, they work in it themselves and only the row comes back.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

from neff_bench.errors import NeffBenchError
from neff_bench.neffs.bundle import PROFILES, Bundle, files_below, read_bundle
from neff_bench.neffs.errors import BundleError
from neff_bench.neffs.parcel import Shared, pack, pack_bundle, shared, unpack, unpack_bundle, workplace
from neff_bench.stage2_profile.capture import runs
from neff_bench.stage2_profile.capture.cores import CorePool, make_pools
from neff_bench.stage2_profile.capture.grant import Grant
from neff_bench.stage2_profile.capture.tools import Kind, Tool, choose_tools, find_tool
from neff_bench.stage2_profile.capture.warm import warm_parent
from neff_bench.stage2_profile.errors import CaptureFailed
from neff_bench.stage2_profile.metrics.rows import Row
from neff_bench.stage2_profile.metrics.summarise import failed_row
from neff_bench.stage2_profile.options import CaptureTool, Options
from neff_bench.stage2_profile.pipeline import Pipeline
from neff_bench.system.cluster import NEURON_CORES, Cluster, connected, ended_in_order, granted_core, host
from neff_bench.system.files import sync
from neff_bench.system.warm import WarmParent
from neff_bench.terminal.streams import notice

ARRIVED = f"{runs.WORK}arrived"
_CPUS: dict[Kind, float] = {"neuron": 0.1, "sim": 1}
"""A capture on a device waits for the device, and must not wait for CPUs that builds hold."""


@dataclass(frozen=True)
class Asked:
    """Says what holds for all bundles. `simulator`: the version of this host's. `core`: whether a core is asked for. `shared`: the store, where the
    hosts share it."""

    options: Options
    simulator: str
    core: bool
    shared: Shared | None = None


@dataclass(frozen=True)
class Answer:
    """Holds what comes back. `runs`: the new ones, packed; None where the store is shared."""

    row: Row
    runs: bytes | None = None


@dataclass(frozen=True)
class Elsewhere:
    """Captures a bundle on a host that Ray chooses; see `pipeline.Elsewhere`."""

    cluster: Cluster
    options: Options
    asked: Asked

    @property
    def calls(self) -> int:
        """How many captures to have under way."""
        return self.cluster.calls(NEURON_CORES if self.asked.core else "CPU", self.options.jobs)

    def tools(self, kinds: Iterable[str]) -> dict[Kind, Tool | str]:
        """Return the tools of the hosts; the profiler of each is found there."""

        def known(kind: Kind) -> Tool | str:
            if kind == "sim":
                tool = Tool("neuron-sim", (), self.asked.simulator, "sim")
                notice(f"profiling with {tool}")
                return tool
            name = runs.UNTRACED if self.options.nrtpy else "the profiler of each host"
            return Tool(name, (), "of each host", "neuron") if self.asked.core else _NO_CORES

        return choose_tools(kinds, self.options, known)

    def __call__(self, bundle: Bundle) -> Row:
        """Profile one bundle on the cluster. Raises `ClusterError` when it cannot do it, `RunDamaged` when what comes back is damaged."""

        def go_on() -> None:
            if self.options.stop.is_set():
                raise CaptureFailed("interrupted")

        asked = self.asked_for(bundle)
        data = None if self.asked.shared else pack_bundle(bundle.path)
        resources = {NEURON_CORES: 1} if asked.core else {}
        cpus = _CPUS[bundle.manifest.toolchain]
        answer = self.cluster.call(profile_here, bundle.name, data, asked, cpus=cpus, resources=resources, go_on=go_on)
        if answer.runs is not None:
            adopt(bundle, answer.runs)
        return answer.row

    def asked_for(self, bundle: Bundle) -> Asked:
        """Return what is asked for one bundle. A simulated one of several ranks needs no core. Raises `CaptureFailed` for the capture of a
        measured one: Ray grants single cores, and ranks run on cores side by side."""
        ranks = bundle.manifest.case.ranks
        if ranks == 1 or self.options.steps == "view":
            return self.asked
        if bundle.manifest.toolchain == "neuron":
            raise CaptureFailed(
                f"{ranks} ranks need {ranks} logical cores side by side, and Ray grants single ones; call profile-neffs on a host with "
                "devices, without --ray"
            )
        return replace(self.asked, core=False)


_NO_CORES = (
    "no host of the cluster has NeuronCores; start Ray on each with ray start --resources '{\"neuron_cores\": N}', "
    "N logical cores"
)


def adopt(bundle: Bundle, data: bytes) -> None:
    """Publish packed runs, whole; call it under the lock of the bundle's profiles. Raises `BundleError` and `RunDamaged`."""
    arrived = bundle.path / PROFILES / ARRIVED
    arrived.mkdir()  # what a killed holder of the lock left of it is gone
    try:
        unpack(data, arrived)
        publish_arrived(bundle.path, arrived)
    finally:
        shutil.rmtree(arrived)


def unadopted(bundle: Path, before: Mapping[str, bytes]) -> list[str]:
    """Return the names of the runs that are not as `records` found them."""
    return [name for name, record in records(bundle).items() if before.get(name) != record]


def records(bundle: Path) -> dict[str, bytes]:
    """Return the content of `run.json` of each run, by name."""
    return {path.name: (path / runs.RECORD).read_bytes() for path in runs.run_directories(bundle)}


def publish_arrived(bundle: Path, arrived: Path) -> None:
    """Publish runs of this bundle that another host made, under their own names: new ones whole, and what was added to one that is here, its
    record last. `arrived`: a directory on the same disk with a directory for each. Call it under the lock. Raises `RunDamaged` before anything is published."""
    found = [(arrived / name, runs.read_run(arrived / name)) for name in sorted(os.listdir(arrived), key=runs.order)]  # type: ignore[arg-type]
    for path, run in found:
        for name in run.files:
            runs.check_file(path, run, name)
    for path, run in found:
        final = bundle / PROFILES / path.name
        if not final.exists():
            (path / runs.RECORD).unlink()  # it is written anew, and is no file of the run
            runs.publish(path.rename(final.with_name(f"{runs.WORK}{path.name}")), run)
            continue
        for name in run.files:
            sync(path / name)
            os.replace(path / name, final / name)
        runs.write_run(final, run)


@contextmanager
def elsewhere(store: Path, options: Options) -> Iterator[Elsewhere]:
    """Give `Pipeline` what it needs to profile on other hosts. Raises `WrongCall` without a cluster."""
    with connected(str(options.ray)) as cluster:
        cores = cluster.total(NEURON_CORES)
        notice(f"the cluster has {cluster.total('CPU')} CPUs and {cores} {NEURON_CORES}")
        simulator = find_tool("sim", options).version
        with shared(store) if options.shared_store else nullcontext() as there:
            yield Elsewhere(cluster, options, Asked(options, simulator, cores > 0, there))


def profile_here(name: str, data: bytes | None, asked: Asked) -> Answer:
    """Capture and view one bundle on a worker, in the shared store or in one of its own. All of it runs in a thread, where no
    cancellation interrupts the removal of files."""
    return ended_in_order(partial(_profiled, name, data, asked))


def _profiled(name: str, data: bytes | None, asked: Asked, stop: threading.Event) -> Answer:
    if data is None and asked.shared is not None:
        try:
            why = asked.shared.unseen()
            if why is None:
                return Answer(_row(read_bundle(asked.shared.path / name), asked, stop))
        except BundleError as error:
            why = error.what
        return Answer(Row(case=name, status="failed", reason=why))
    with workplace().scratch(name) as directory:
        path = directory / name
        try:
            bundle = unpack_bundle(data or b"", path)
        except BundleError as error:
            return Answer(Row(case=name, status="failed", reason=f"{host()}: {error.what}"))
        before = records(path)
        row = _row(bundle, asked, stop)
        there = path / PROFILES
        new = unadopted(path, before)
        return Answer(row, pack(there, (file for run in new for file in files_below(there, run))))


def _row(bundle: Bundle, asked: Asked, stop: threading.Event) -> Row:
    kind: Kind = bundle.manifest.toolchain
    try:
        tool = _tool(kind, asked.options.tool)
        if kind == "sim" and tool.version != asked.simulator:
            why = f"{host()} has neuron-sim {tool.version}, this host {asked.simulator}; install the same, with the same calibration"
            return failed_row(bundle, why)
        core = granted_core() if asked.core or kind == "neuron" else None
        return _pipeline(bundle, tool, core, asked, stop).row(bundle)
    except NeffBenchError as error:
        return failed_row(bundle, f"{host()}: {error}")


def _pipeline(bundle: Bundle, tool: Tool, core: int | None, asked: Asked, stop: threading.Event) -> Pipeline:
    warm = None if asked.options.cold else _warm()
    options = replace(asked.options, environ=dict(os.environ), stop=stop, warm=warm).with_threads(1)
    return Pipeline(options, {tool.kind: tool}, {tool.kind: _pool(bundle, core, options)})


def _pool(bundle: Bundle, core: int | None, options: Options) -> CorePool:
    """Return the granted core, which a measured capture finds in the environment. Simulated cores are numbered in the same way."""
    kind: Kind = bundle.manifest.toolchain
    simulated = () if core is None else Grant(str(core), (core,), None).physical(bundle.manifest.case.lnc)
    return make_pools(simulated if kind == "sim" else None, [kind], options)[kind]


@cache
def _tool(kind: Kind, tool: CaptureTool) -> Tool:
    """Return the tool of this host. Raises `ToolMissing`."""
    return find_tool(kind, Options(tool=tool))


@cache
def _warm() -> WarmParent:
    """Return the warm parent of this worker; it ends with it, and the worker with the command."""
    return warm_parent(os.environ)
