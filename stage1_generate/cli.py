"""Declares `generate-neffs`: from a shapes file to a store of bundles."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from neff_bench.chips.calibration_option import calibration_option
from neff_bench.errors import WrongCall
from neff_bench.stage1_generate.options import Options
from neff_bench.system.signals import Ended, Stop, stoppable
from neff_bench.terminal import streams
from neff_bench.terminal.command import command
from neff_bench.terminal.options import takes
from neff_bench.terminal.text import listed

if TYPE_CHECKING:
    from neff_bench.neffs.case import Case
    from neff_bench.neffs.store import Store
    from neff_bench.stage1_generate.jobs.build import Builder, Outcome, State
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
@takes(Options)
@calibration_option
def generate(options: Options) -> int:
    """Build the NEFFs of a shapes file, on any CPU host, and write each case with its inputs and references to a bundle.

    Cases that are already built are left alone. Nothing here touches a device.
    """
    options.check()
    with stoppable() as stop, debug_variables(options.debug_info):
        if options.script is not None:
            return _capture_framework(options.script, options, stop)
        cases = _selected(options)
        if options.only_list:
            streams.line("\n".join(case.name for case in cases))
        if options.only_list or not cases:
            return 0
        from neff_bench.neffs.store import Store
        from neff_bench.stage1_generate.jobs.closure import known_imports
        from neff_bench.stage1_generate.jobs.keys import Keys
        from neff_bench.stage1_generate.toolchains.find import choose

        chosen = choose(options.toolchain, options.nkilib)
        known = known_imports(options.out)
        keys = Keys(chosen, str(options.shapes.parent.resolve()) if options.shapes else None, known)
        work = _jobs(cases, keys, options)
        known.save()
        states = _states(work, Store(options.out), options.force)
        if options.dry_run:
            _print_plan(work, states, chosen)
            return 0
        # What never was built goes before what failed, so that failures cannot starve the rest.
        waiting = [job for wanted in ("build", "retry") for job, found in zip(work, states) if found == wanted]
        return _build(work, waiting, keys, options, stop)


@contextmanager
def debug_variables(wanted: bool) -> Iterator[None]:
    """Yield the variables that put source lines into a NEFF, for all that is started meanwhile; they are part of the keys."""
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


def _capture_framework(script: Path, options: Options, stop: Stop) -> int:
    import os

    from neff_bench.neffs.store import Store
    from neff_bench.stage1_generate.jobs.framework import Script, capture, environment

    variables = environment(os.environ, options.target, options.lnc, options.disable_dge)
    what = Script(str(script.resolve()), options.script_arguments, variables)

    def go_on() -> None:
        if stop.number is not None:
            raise Ended(stop.number)

    try:
        names = capture(what, Store(options.out), options.timeout_s, streams.warning, go_on)
    except Ended:
        streams.error(f"interrupted: {script} was ended, nothing was written")
        return stop.exit_code(1)
    streams.line("\n".join(names))
    return stop.exit_code(0)


def _selected(options: Options) -> list[Case]:
    """Return the cases that --only, --skip and --shard leave; nothing where the shard has no case. Raises `WrongCall`."""
    from dataclasses import replace

    from neff_bench.neffs.case import check_only, matches

    cases = _read(options)
    names = [(case.kernel, case.name) for case in cases]
    check_only(options.only, names, listed(case.name for case in cases))
    selected = [
        case
        for case, of in zip(cases, names)
        if (not options.only or matches(of, options.only)) and not matches(of, options.skip)
    ]
    if not selected:
        raise WrongCall(f"--skip leaves none of the {len(cases)} cases")
    if options.disable_dge:
        selected = [replace(case, flags=(*case.flags, "--disable-dge")) for case in selected]
    if options.shard is not None:
        selected = [case for case in selected if options.shard.holds(case.name)]
        if not selected:
            streams.notice(f"--shard {options.shard} has no case")
    return selected


def _read(options: Options) -> list[Case]:
    from neff_bench.stage1_generate.shapes.read import read_preset, read_shapes

    overrides: dict[str, object] = {"target": options.target, "lnc": options.lnc}
    if (options.shapes is None) == (options.preset is None):
        raise WrongCall("give either --shapes FILE or --preset NAME (see --help)")
    return read_shapes(options.shapes, overrides) if options.shapes else read_preset(str(options.preset), overrides)


def _jobs(cases: list[Case], keys: Keys, options: Options) -> list[Job]:
    from neff_bench.stage1_generate.jobs.job import Job

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


def _build(work: list[Job], waiting: list[Job], keys: Keys, options: Options, stop: Stop) -> int:
    """Build what waits, print the summary, return the exit code."""
    import time

    if not waiting:
        from neff_bench.neffs.store import Store
        from neff_bench.terminal.answer import many

        with suppress(OSError):  # a store that may not be written stays as it is
            Store(options.out).sweep()
        streams.line(f"nothing to build: {options.out} is up to date ({many(len(work), 'case')})")
        return 0
    from neff_bench.terminal.progress import progress

    with _builder(waiting, keys, options, stop) as (builder, workers):
        from neff_bench.system.compiled import slow_notice

        streams.notice(f"building with the {_TOOLCHAINS[keys.toolchain.name]}")
        if keys.toolchain.name == "sim" and (slow := slow_notice()) is not None:
            streams.notice(slow)
        start = time.monotonic()
        with progress(len(waiting), "building") as step:

            def report(outcome: Outcome) -> None:
                step(_text(outcome), failed=outcome.status in ("failed", "not built"))

            outcomes = builder.build_all(waiting, workers, report)
    streams.line(f"{_counts(outcomes, len(work) - len(waiting))} in {time.monotonic() - start:.1f} s: {options.out}")
    if stop.number is not None:
        streams.error(f"interrupted by {stop.name}; run again to build the rest")
    good = all(outcome.status in ("built", "up to date") for outcome in outcomes)
    return stop.exit_code(0 if good else 1)


@contextmanager
def _builder(waiting: list[Job], keys: Keys, options: Options, stop: Stop) -> Iterator[tuple[Builder, int]]:
    """Yield what builds, on this host or on those of a cluster, and how many cases at a time."""
    import os
    from contextlib import nullcontext
    from dataclasses import replace

    from neff_bench.neffs.store import Store
    from neff_bench.stage1_generate.jobs.build import Builder
    from neff_bench.stage1_generate.jobs.warm import warm_parent

    builder = Builder(Store(options.out), keys.toolchain, options, stop)
    if options.ray is None:
        with (None if options.cold else warm_parent(waiting)) or nullcontext() as warm:
            if warm is not None:
                warm.fork()
            yield replace(builder, warm=warm), options.jobs or os.cpu_count() or 1
        return
    from neff_bench.stage1_generate.jobs.on_ray import elsewhere
    from neff_bench.system.cluster import connected

    with connected(options.ray) as cluster:
        streams.notice(f"the cluster has {cluster.total('CPU')} CPUs")
        with elsewhere(cluster, builder.store, keys, options.shared_store) as there:
            yield replace(builder, elsewhere=there), cluster.calls("CPU", options.jobs)


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
