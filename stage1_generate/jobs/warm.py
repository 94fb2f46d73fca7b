"""Declares the warm parent of stage 1: what the workers of these jobs, and the commands that they run, will import."""

from __future__ import annotations

from collections.abc import Iterable

from neff_bench.stage1_generate.jobs.job import Job
from neff_bench.stage1_generate.own_kernel import implementation_of
from neff_bench.stage1_generate.toolchains.compiler_process import python_environment
from neff_bench.system.warm import WarmParent

_WORKER = (
    "neff_bench.stage1_generate.jobs.worker",
    "neff_bench.stage1_generate.jobs.tensors",
    "neff_bench.stage1_generate.kernels.*",
    "neff_bench.stage1_generate.toolchains.sim.compile",
    "neff_bench.parsers.neff",
    "neff_bench.parsers.source_files",
    "numpy.random",
    "orjson",
    "resource",
)
_SIMULATOR = (
    "neff_bench.simulator.commands.cli",
    "neff_bench.simulator.commands.compile",
    "neff_bench.simulator.execution.findings",
    "neff_bench.simulator.execution.races",
    "neff_bench.simulator.nki.annotations",
    "neff_bench.simulator.nki.beta.*",
    "neff_bench.simulator.nki.collectives",
    "neff_bench.simulator.nki.compiler",
    "neff_bench.simulator.nki.constants",
    "neff_bench.simulator.nki.isa",
    "neff_bench.simulator.nki.keywords",
    "neff_bench.simulator.nki.language.*",
    "neff_bench.simulator.nki.load",
    "neff_bench.simulator.nki.simulate",
    "neff_bench.simulator.native:compiled_passes",
    "neff_bench.simulator.timing.model:fingerprint",
)
_TRACER = ("neff_bench.stage1_generate.toolchains.hlo", "neff_bench.simulator.hlo.lower", "jax")


def warm_parent(jobs: Iterable[Job]) -> WarmParent | None:
    """Return the warm parent, which starts with the first worker. None for the SDK, whose compilers are not known to survive a fork."""
    jobs = list(jobs)
    if any(job.toolchain == "neuron" for job in jobs):
        return None
    traces = any(implementation_of(job.case, job.folder).route == "xla" for job in jobs)
    return WarmParent([*_WORKER, *_SIMULATOR, *(_TRACER if traces else ())], python_environment())
