"""`generate-neffs`: from a shapes file to a store of bundles."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from neff_bench.chips import LISTED
from neff_bench.chips.calibration_option import calibration_option
from neff_bench.errors import WrongCall
from neff_bench.neffs import DEFAULT_STORE
from neff_bench.system.shard import SHARD, Shard
from neff_bench.system.signals import Ended, Stop, stoppable
from neff_bench.terminal import streams
from neff_bench.terminal.cluster import cluster_options
from neff_bench.terminal.command import command

if TYPE_CHECKING:
    from neff_bench.neffs.case import Case
    from neff_bench.neffs.store import Store
    from neff_bench.stage1_generate.jobs.build import Outcome, State
    from neff_bench.stage1_generate.jobs.job import Job
    from neff_bench.stage1_generate.jobs.keys import Keys
    from neff_bench.stage1_generate.toolchains.find import Toolchain

EPILOG = """\b
Examples:
  generate-neffs --shapes shapes.yaml --out neffs.out
  generate-neffs --shapes shapes.yaml --only 'mlp_*' --nkilib ../nki-library
  generate-neffs --shapes shapes.yaml --list
  generate-neffs --shapes shapes.yaml --ray auto          # on all hosts of a Ray cluster
  generate-neffs --capture-framework-neff train.py --out neffs.out -- --steps 1

\b
Exit code: 0 every case is built, 1 some are not, 2 wrong call.
"""


@command("generate-neffs", epilog=EPILOG)
@click.option("--shapes", type=click.Path(path_type=Path), help="YAML file with the cases.")
@click.option("--preset", help="A named list of matmul shapes instead of a file: llm, tiling, sweep, boundary, ...")
@click.option(
    "--out", default=DEFAULT_STORE, show_default=True, type=click.Path(path_type=Path), help="Directory of the bundles."
)
@click.option(
    "--toolchain",
    type=click.Choice(["auto", "neuron", "sim"]),
    default="auto",
    show_default=True,
    help="AWS Neuron SDK or the embedded one; auto takes the SDK where it is installed.",
)
@click.option("--target", help=f"Chip instead of the file's: {LISTED}.")
@click.option("--lnc", type=int, help="Physical cores per logical core instead of the file's: 1 or 2.")
@click.option("--nkilib", type=click.Path(path_type=Path), help="Checkout of nki-library (else $NKILIB_PATH).")
@click.option("--jobs", type=click.IntRange(min=1), help="Cases built at the same time.  [default: number of cores]")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=1800,
    show_default=True,
    help="Seconds for a case.",
)
@click.option(
    "--memory",
    type=click.FloatRange(min=0, min_open=True),
    help="GiB of address space for a case.  [default: 90% of the memory with sim, no limit with neuron]",
)
@calibration_option
@click.option("--only", multiple=True, metavar="GLOB", help="Only cases whose name matches; may be repeated.")
@click.option("--skip", multiple=True, metavar="GLOB", help="Not the cases whose name matches; may be repeated.")
@click.option("--shard", type=SHARD, help="Only part I of N of the cases; `neff-bench merge` puts stores together.")
@cluster_options
@click.option("--list", "only_list", is_flag=True, help="Print the names of the cases and build nothing.")
@click.option("--dry-run", is_flag=True, help="Print what would be built, and why, and build nothing.")
@click.option("--force", is_flag=True, help="Build also what is up to date.")
@click.option("--fail-fast", is_flag=True, help="End the run with the first case that fails.")
@click.option(
    "--capture-framework-neff",
    "script",
    metavar="SCRIPT",
    type=click.Path(path_type=Path),
    help="Run your own Python script instead (its arguments after --) and make bundles of the NEFFs that it compiles.",
)
@click.option(
    "--cold", is_flag=True, help="Start each worker and compiler as a program of its own; slower, and the same files."
)
@click.option("--disable-dge", is_flag=True, help="Compile without descriptor generation on the device.")
@click.option(
    "--debug-info",
    is_flag=True,
    help="Compile source lines in, for profile-neffs --hot (the SDK's toolchain; sim always does).",
)
@click.option("-v", "--verbose", is_flag=True, help="Raise the compiler's own log level; it goes to compile.log.")
@click.argument("script_arguments", nargs=-1, metavar="[-- SCRIPT_ARGUMENT]...")
def generate(
    shapes: Path | None,
    preset: str | None,
    out: Path,
    toolchain: Literal["auto", "neuron", "sim"],
    target: str | None,
    lnc: int | None,
    nkilib: Path | None,
    jobs: int | None,
    timeout: float,
    memory: float | None,
    only: tuple[str, ...],
    skip: tuple[str, ...],
    shard: Shard | None,
    ray: str | None,
    shared_store: bool,
    only_list: bool,
    dry_run: bool,
    force: bool,
    fail_fast: bool,
    script: Path | None,
    cold: bool,
    disable_dge: bool,
    debug_info: bool,
    verbose: bool,
    script_arguments: tuple[str, ...],
) -> int:
    """Build the NEFFs of a shapes file, on any CPU host, and write each case with its inputs and references to a bundle.

    Cases that are already built are left alone. Nothing here touches a device.
    """
    if shared_store and ray is None:
        raise WrongCall("--shared-store says how --ray works; give --ray ADDRESS too")
    with stoppable() as stop, debug_variables(debug_info):
        if script is not None and ray is not None:
            raise WrongCall("--capture-framework-neff runs your script on this host; leave --ray out")
        if script is not None:
            return _capture_framework(script, script_arguments, out, target, lnc, timeout, disable_dge, stop)
        if script_arguments:
            hint = f"; for a shapes file say --shapes {script_arguments[0]}" if shapes is None else ""
            raise WrongCall(f"{script_arguments[0]}: unexpected argument{hint} (see --help)")
        cases = _select(_read(shapes, preset, {"target": target, "lnc": lnc}), only, skip)
        if disable_dge:
            from dataclasses import replace

            cases = [replace(case, flags=(*case.flags, "--disable-dge")) for case in cases]
        if shard is not None:
            cases = [case for case in cases if shard.holds(case.name)]
            if not cases:
                streams.notice(f"--shard {shard} has no case")
                return 0
        if only_list:
            streams.line("\n".join(case.name for case in cases))
            return 0
        from neff_bench.neffs.store import Store
        from neff_bench.stage1_generate.jobs import closure
        from neff_bench.stage1_generate.jobs.job import default_memory_bytes
        from neff_bench.stage1_generate.jobs.keys import Keys
        from neff_bench.stage1_generate.jobs.known_imports import KnownImports
        from neff_bench.stage1_generate.toolchains.find import choose

        chosen = choose(toolchain, nkilib)
        store = Store(out)
        known = KnownImports(out, Path(closure.__file__))
        keys = Keys(chosen, str(shapes.parent.resolve()) if shapes else None, known)
        limit = int(memory * 2**30) if memory else None
        if limit is None and ray is None:
            limit = default_memory_bytes(chosen.name)
        work = _jobs(cases, keys, limit, verbose)
        known.save()
        states = _states(work, store, force)
        if dry_run:
            _print_plan(work, states, chosen)
            return 0
        # What never was built goes before what failed, so that failures cannot starve the rest.
        waiting = [job for wanted in ("build", "retry") for job, found in zip(work, states) if found == wanted]
        how = _How(jobs, timeout, force, fail_fast, cold, ray, shared_store)
        return _build(work, waiting, store, keys, how, stop)


@contextmanager
def debug_variables(wanted: bool) -> Iterator[None]:
    """The variables that put source lines into a NEFF, for all that is started meanwhile; they are part of the keys."""
    import os

    from neff_bench.sdk.environment import for_lines

    before = dict(os.environ)
    if wanted:
        os.environ.update(for_lines())
    try:
        yield
    finally:
        if wanted:
            os.environ.clear()
            os.environ.update(before)


def _capture_framework(
    script: Path,
    arguments: tuple[str, ...],
    out: Path,
    target: str | None,
    lnc: int | None,
    timeout_s: float,
    disable_dge: bool,
    stop: Stop,
) -> int:
    import os

    from neff_bench.neffs.store import Store
    from neff_bench.stage1_generate.jobs.framework import Script, capture, environment

    if not script.is_file():
        raise WrongCall(f"--capture-framework-neff: {script}: no such file")
    what = Script(str(script.resolve()), arguments, environment(os.environ, target, lnc, disable_dge))

    def go_on() -> None:
        if stop.number is not None:
            raise Ended(stop.number)

    try:
        names = capture(what, Store(out), timeout_s, streams.warning, go_on)
    except Ended:
        streams.error(f"interrupted: {script} was ended, nothing was written")
        return stop.exit_code(1)
    streams.line("\n".join(names))
    return stop.exit_code(0)


def _read(shapes: Path | None, preset: str | None, overrides: dict[str, object]) -> list[Case]:
    from neff_bench.stage1_generate.shapes.read import read_preset, read_shapes

    if (shapes is None) == (preset is None):
        raise WrongCall("give either --shapes FILE or --preset NAME (see --help)")
    return read_shapes(shapes, overrides) if shapes is not None else read_preset(str(preset), overrides)


def _select(cases: list[Case], only: tuple[str, ...], skip: tuple[str, ...]) -> list[Case]:
    from fnmatch import fnmatchcase

    for glob in only:
        if not any(fnmatchcase(case.name, glob) for case in cases):
            raise WrongCall(f"--only {glob}: matches none of the {len(cases)} cases (see --list)")
    selected = [
        case
        for case in cases
        if (not only or any(fnmatchcase(case.name, glob) for glob in only))
        and not any(fnmatchcase(case.name, glob) for glob in skip)
    ]
    if not selected:
        raise WrongCall(f"--skip leaves none of the {len(cases)} cases")
    return selected


def _jobs(
    cases: list[Case],
    keys: Keys,
    memory_bytes: int | None,
    verbose: bool,
) -> list[Job]:
    from neff_bench.stage1_generate.jobs.job import Job, Options

    options = Options(memory_bytes, verbose)
    toolchain = keys.toolchain
    nkilib = str(toolchain.nkilib) if toolchain.nkilib else None
    return [
        Job(case, keys.key(case), toolchain.name, nkilib, options, keys.folder if case.own else None) for case in cases
    ]


def _states(work: list[Job], store: Store, force: bool) -> list[State]:
    from neff_bench.neffs.verified import Verified
    from neff_bench.stage1_generate.jobs.build import state

    if force:
        return ["build"] * len(work)
    verified = Verified(store.path)
    states = [state(store, job, verified, _tell_damaged) for job in work]
    verified.save()
    return states


def _tell_damaged(line: str) -> None:
    streams.warning(f"{line}; it is built again")


def _print_plan(work: list[Job], states: list[State], toolchain: Toolchain) -> None:
    from neff_bench.stage1_generate.jobs.worker import refused
    from neff_bench.stage1_generate.own_kernel import implementation_of

    for job, found in zip(work, states):
        implementation = implementation_of(job.case, job.folder)
        why_not = toolchain.lacks(implementation.needs, implementation.route) or refused(job)
        text = f"fail ({why_not})" if why_not and found != "up to date" else found
        streams.line(f"{text:10} {job.case.name}")


@dataclass(frozen=True)
class _How:
    """The options of the work itself. `workers`: cases at a time, None for what there is room for."""

    workers: int | None
    timeout_s: float
    force: bool
    fail_fast: bool
    cold: bool
    ray: str | None
    shared: bool


def _build(work: list[Job], waiting: list[Job], store: Store, keys: Keys, how: _How, stop: Stop) -> int:
    """Build what waits, print the summary, return the exit code."""
    import time

    if not waiting:
        streams.line(f"nothing to build: all {len(work)} cases in {store.path} are up to date")
        return 0
    from neff_bench.terminal.progress import progress

    with _place(waiting, store, keys, how, stop) as build_with:
        streams.notice(f"building with the {_TOOLCHAINS[keys.toolchain.name]}")
        start = time.monotonic()
        with progress(len(waiting), "building") as step:

            def report(outcome: Outcome) -> None:
                step(_text(outcome), failed=outcome.status in ("failed", "not built"))

            outcomes = build_with(report)
    streams.line(f"{_counts(outcomes, len(work) - len(waiting))} in {time.monotonic() - start:.1f} s: {store.path}")
    if stop.number is not None:
        streams.error(f"interrupted by {stop.name}; run again to build the rest")
    good = all(outcome.status in ("built", "up to date") for outcome in outcomes)
    return stop.exit_code(0 if good else 1)


@contextmanager
def _place(
    waiting: list[Job], store: Store, keys: Keys, how: _How, stop: Stop
) -> Iterator[Callable[[Callable[[Outcome], None]], list[Outcome]]]:
    """The function that builds what waits, on this host or on those of a cluster; it is given what is to get each outcome."""
    import os
    from contextlib import nullcontext
    from functools import partial

    from neff_bench.stage1_generate.jobs.build import build_all
    from neff_bench.stage1_generate.jobs.warm import warm_parent
    from neff_bench.stage1_generate.own_kernel import implementation_of

    def lacks(job: Job) -> str | None:
        implementation = implementation_of(job.case, job.folder)
        return keys.toolchain.lacks(implementation.needs, implementation.route)

    build = partial(build_all, waiting, store, timeout_s=how.timeout_s, lacks=lacks, force=how.force)
    build = partial(build, fail_fast=how.fail_fast, stop=stop)
    if how.ray is None:
        workers = min(how.workers or os.cpu_count() or 1, len(waiting))
        with (None if how.cold else warm_parent(waiting)) or nullcontext() as warm:
            if warm is not None:
                warm.fork()
            yield lambda report: build(workers=workers, report=report, warm=warm)
        return
    from neff_bench.stage1_generate.jobs.on_ray import elsewhere
    from neff_bench.system.cluster import connected

    with connected(how.ray) as cluster:
        streams.notice(f"the cluster has {cluster.total('CPU')} CPUs")
        workers = min(cluster.calls("CPU", how.workers), len(waiting))
        with elsewhere(cluster, store, keys, how.timeout_s, how.force, how.cold, how.shared) as there:
            yield lambda report: build(workers=workers, report=report, elsewhere=there)


_TOOLCHAINS = {
    "sim": "embedded simulated toolchain (neuron-sim): the NEFFs run in it, not on a device",
    "neuron": "AWS Neuron SDK",
}


def _text(outcome: Outcome) -> str:
    time = f" {outcome.time_s:.2f} s" if outcome.status == "built" else ""
    why = f": {outcome.reason}" if outcome.reason else ""
    return f"{outcome.status} {outcome.name}{time}{why}"


def _counts(outcomes: list[Outcome], up_to_date: int) -> str:
    count = dict.fromkeys(("built", "up to date", "failed", "not built"), 0)
    for outcome in outcomes:
        count[outcome.status] += 1
    count["up to date"] += up_to_date
    return ", ".join(f"{number} {status}" for status, number in count.items() if number or status == "built")


def main() -> None:
    """Entry point of `generate-neffs`."""
    generate(prog_name="generate-neffs")


if __name__ == "__main__":
    main()
