"""Says what `profile-neffs` does once its options are known."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from neff_bench.errors import WrongCall, meant
from neff_bench.neffs.bundle import MANIFEST, PROFILES, Bundle, read_bundle
from neff_bench.neffs.case import matches
from neff_bench.neffs.errors import BundleError, StoreError
from neff_bench.neffs.store import OWN, Store
from neff_bench.neffs.verified import Verified
from neff_bench.parsers.errors import ParseError
from neff_bench.parsers.formats.ntff import SUFFIX as NTFF
from neff_bench.sdk.identify import identify
from neff_bench.sdk.installed import judged_by
from neff_bench.stage2_profile.capture.cores import make_pools
from neff_bench.stage2_profile.capture.grant import parse_cores
from neff_bench.stage2_profile.capture.runs import UNTRACED, check_file, read_run, remove_left_lock
from neff_bench.stage2_profile.capture.safety import check_store
from neff_bench.stage2_profile.capture.tools import NEURON_TOOLS, Kind, Tool, choose_tools, find_tool
from neff_bench.stage2_profile.capture.warm import warm_parent
from neff_bench.stage2_profile.errors import ProfileError, ToolMissing
from neff_bench.stage2_profile.metrics import hot_report
from neff_bench.stage2_profile.metrics.by_rank import shown_execution
from neff_bench.stage2_profile.metrics.forked_check import FEW, compare_forked
from neff_bench.stage2_profile.metrics.hot import Event, hot_instructions, hot_lines, parse_search, read_events
from neff_bench.stage2_profile.metrics.hot_report import Hot
from neff_bench.stage2_profile.metrics.rows import Row, of_release
from neff_bench.stage2_profile.options import Options
from neff_bench.stage2_profile.pipeline import Entry, Pipeline, profile_all
from neff_bench.stage2_profile.report.files import TIMELINES_MAX, ProfileFiles, left_out, slowest
from neff_bench.stage2_profile.report.layout import answer
from neff_bench.stage2_profile.row_index import RowIndex
from neff_bench.stage2_profile.view.simulated import simulated_events
from neff_bench.system.compiled import slow_notice
from neff_bench.system.warm import WarmParent
from neff_bench.terminal.output import write_answer, write_bytes, write_text
from neff_bench.terminal.progress import progress
from neff_bench.terminal.streams import error, notice
from neff_bench.terminal.text import listed, plain, shell_word

HOT = 10
"""Lines and instructions of each engine when only --search is given."""


def profile_directory(options: Options) -> int:
    """Profile a store and print its rows; returns the exit code. Raises `WrongCall` and `ProfileError`."""
    chosen, page_file, table_format = parse_search(options.search), options.page, options.format
    if page_file and (options.wants_hot or options.show_commands):
        raise WrongCall(f"--output {page_file}: a page has all lines; --hot, --search and --show-commands make none")
    if options.nrtpy and (options.wants_hot or page_file):
        raise WrongCall("--tool nrtpy leaves no trace: no page, no --hot and no --search; leave it out for these")
    found, rows = profiled_rows(options)
    if page_file:
        from neff_bench.stage2_profile.report.page import report_page

        shown = {row.case for row in rows} if options.only else slowest(rows)
        files = [
            profile_files(entry, row.run) if row.case in shown else left_out(options.directory, row)
            for entry, row in zip(found, rows, strict=True)
        ]
        found.clear()  # a page of many cases needs their memory
        write_bytes(report_page(options.directory, rows, files), page_file)
    elif options.show_commands:
        write_text(commands_text(options.directory, rows), options.output)
    elif options.wants_hot:
        hots = [hot_spots(entry, row, chosen, options.hot or HOT) for entry, row in zip(found, rows, strict=True)]
        write_answer(hot_report.answer(hots, options.search), table_format, options.output)
        rows = [replace(row, status="failed") if hot.problem else row for row, hot in zip(rows, hots, strict=True)]
    else:
        write_answer(answer(rows, options.clock), table_format, options.output)
    failed = sum(row.failed for row in rows)
    if failed:
        error(f"{failed} of {len(rows)} failed")
    return 1 if failed else 0


def profiled_rows(options: Options) -> tuple[list[Entry], list[Row]]:
    """Return what is in a store, and a row for each of it, after the steps that are asked for. Raises `WrongCall` and `ProfileError`."""
    options.check()
    cores = parse_cores(options.cores) if options.cores is not None else None
    workers, threads = shares(options.jobs, cores, os.cpu_count() or 1)
    options = options.with_threads(threads)
    found = chosen_entries(options)
    if not found:
        return [], []
    if options.steps != "parse":
        check_store(options.directory)
    found = bare_bundles(found, options)
    some = slowest_alone(options, len(found))
    whole = options.wants_hot or (options.page is not None and not some)
    options = replace(options, detail=options.detail or whole)
    kinds = {bundle.manifest.toolchain for bundle in built(found)}
    store = store_of(options.directory)
    pipeline = Pipeline(options, verified=Verified(store))
    if options.ray is not None:
        from neff_bench.stage2_profile.on_ray import elsewhere

        with elsewhere(store, options) as there:
            pipeline = replace(pipeline, tools=there.tools(kinds), elsewhere=there)
            return found, _rows(pipeline, store, found, there.calls)
    with nullcontext() if options.cold else warm_parent(options.environ) as warm:
        pipeline = replace(pipeline, options=(options := replace(options, warm=warm)))
        if options.steps != "parse":
            new = any(not (bundle.path / PROFILES).is_dir() for bundle in built(found))
            captures = options.steps != "view" and (options.force or new)
            if warm is not None and captures and "sim" in kinds and options.toolchain != "neuron":
                if warm.fork() and kinds == {"sim"} and len(found) <= FEW:
                    pipeline = replace(pipeline, compare=partial(compare_forked, options))
            pipeline = replace(pipeline, tools=chosen_tools(kinds, options, warm if captures else None))
        if options.steps in ("all", "capture"):
            pipeline = replace(pipeline, pools=make_pools(cores, kinds, options))
            warn_of_disk(store, found, pipeline)
        return found, _rows(pipeline, store, found, workers, some)


def shares(jobs: int | None, cores: Sequence[int] | None, cpus: int) -> tuple[int, int]:
    """Return how many bundles are profiled at a time, and how many threads each has."""
    workers = jobs or max(cpus, len(cores or ()))
    return workers, max(1, cpus // workers)


def slowest_alone(options: Options, count: int) -> bool:
    """Return whether only the slowest of so many cases get a whole profile for a page."""
    return options.page is not None and not (options.only or options.ray) and count > TIMELINES_MAX


def built(found: Iterable[Entry]) -> list[Bundle]:
    """Return the bundles that were built."""
    return [entry for entry in found if isinstance(entry, Bundle) and entry.manifest.status == "built"]


def warn_of_disk(store: Path, found: Sequence[Entry], pipeline: Pipeline) -> None:
    """Say so before the first capture on a device when the disk will not hold the traces of all."""
    tool = pipeline.tools.get("neuron")
    measured = [bundle for bundle in built(found) if bundle.manifest.toolchain == "neuron"]
    if measured and isinstance(tool, Tool):
        from neff_bench.stage2_profile.capture.disk import shortage

        said = shortage(store, measured, pipeline.options, traced=tool.name != UNTRACED)
        if said is not None:
            notice(said)


def _rows(pipeline: Pipeline, store: Path, found: list[Entry], workers: int, some: bool = False) -> list[Row]:
    """Return the rows, those of an earlier call where they still hold; says on stderr as each is ready. `some`: the slowest get a whole profile."""
    before = known_rows(store, pipeline.tools, pipeline.options)
    pipeline = replace(pipeline, rows=before)
    with progress(len(found), "profiling") as step:

        def done(row: Row) -> None:
            status = pipeline.reused.get(row.case, row.status)
            step(f"{row.case}: {status}", failed=row.failed)  # the table says why

        rows = profile_all(pipeline, found, workers, done)
    if some and pipeline.options.steps != "parse":
        chosen = slowest(rows)
        places = [place for place, row in enumerate(rows) if row.case in chosen]
        whole = replace(pipeline, options=replace(pipeline.options, detail=True, force=False))
        again = profile_all(whole, [found[place] for place in places], workers, lambda row: None)
        for place, row in zip(places, again, strict=True):
            rows[place] = row
    if pipeline.options.steps != "parse":
        for entry in found:
            if isinstance(entry, Bundle):
                remove_left_lock(entry.path)
    if pipeline.verified is not None:
        pipeline.verified.save()
    before.save()
    release = judged_by(pipeline.options.sdk)
    return [of_release(row, release) for row in rows]


def chosen_entries(options: Options) -> list[Entry]:
    """Return what --only, --skip and --shard leave of the directory; nothing where the shard has no case. Raises `WrongCall`."""
    entries = list(find_entries(options.directory))
    found = selected(entries, options.only, options.skip)
    if not found:
        near = "".join(meant(glob, (name for entry in entries for name in _names(entry))) for glob in options.only[:1])
        left = f" that --only and --skip leave{near}; there is {listed(entry.name for entry in entries)}"
        why = left if entries else "; generate-neffs makes them"
        raise WrongCall(f"{options.directory}: no bundle and no profile{why}")
    if options.shard is not None:
        found = [entry for entry in found if options.shard.holds(entry.name)]
        if not found:
            notice(f"--shard {options.shard} has no case")
    return found


def store_of(directory: Path) -> Path:
    """Return the store that `directory` is, or that the one bundle that it is lies in."""
    return directory.parent if (directory / MANIFEST).is_file() else directory


def bare_bundles(found: list[Entry], options: Options) -> list[Entry]:
    """Return the entries with a bundle for each NEFF without a profile, where a tool could profile it. Raises `WrongCall`."""
    if options.inputs is not None and not options.inputs.is_dir():
        raise WrongCall(f"--inputs {options.inputs}: no such directory")
    if all(isinstance(entry, Bundle) for entry in found):
        return found
    from neff_bench.stage2_profile.foreign.bare import with_bundles

    make = captured_by(options, lambda: isinstance(_found("neuron", options), Tool))
    return with_bundles(options.directory, found, options.inputs, make=make)


def captured_by(options: Options, has_profiler: Callable[[], bool]) -> list[Kind]:
    """Return the kinds of tools that could capture a NEFF that has no bundle."""
    if options.parse_only or options.view_only:
        return []
    kinds: tuple[Kind, ...] = ("sim", "neuron")
    return [
        kind
        for kind in kinds
        if options.toolchain == kind or (options.toolchain == "auto" and (kind == "sim" or has_profiler()))
    ]


def known_rows(store: Path, tools: Mapping[Kind, Tool | str], options: Options) -> RowIndex:
    """Return the rows of an earlier call that asked for the same."""
    if options.steps == "parse":
        return RowIndex(store, "parsed", ())
    versions = [(tool.name, tool.kind, tool.version) if isinstance(tool, Tool) else tool for tool in tools.values()]
    asked = (options.steps, *options.executions, options.most_captures, options.until_percent, versions)
    return RowIndex(store, "profiled", asked)


def hot_spots(entry: Entry, row: Row, chosen: Callable[[Event], bool], count: int) -> Hot:
    """Return the slowest lines and instructions of a row, from its whole profile; or why there are none."""
    if row.status != "profiled":
        return Hot(row, problem=row.reason or row.status)
    try:
        path = detail_path(entry, row.run)
        if path is None:
            return Hot(row, problem="no whole profile; run profile-neffs --hot where the profiler is")
        neff = getattr(entry, "neff", None)
        simulated = path.suffix == NTFF and row.source == "simulated"
        events = simulated_events(path, neff) if simulated and neff is not None else read_events(path, neff)
    except (ParseError, ProfileError, OSError) as error:
        return Hot(row, problem=str(error))
    return Hot(row, hot_lines(events, chosen, count), hot_instructions(events, chosen, count))


def detail_path(entry: Entry, run: str | None) -> Path | None:
    """Return the whole profile of a run, a JSON file or a directory of Parquet tables; of a case from elsewhere also its Parquet tables or its trace. None when there is none. Raises `RunDamaged`."""
    if not isinstance(entry, Bundle):
        summary: Path | None = getattr(entry, "summary_json", None)
        tables = summary if summary is not None and summary.is_dir() else None
        return getattr(entry, "detail_json", None) or tables or getattr(entry, "ntff", None)
    directory = entry.path / PROFILES / (run or "")
    record = read_run(directory)
    place = shown_execution(directory, record)
    detail = record.executions[place].detail if place is not None else None
    if detail is None:
        return None
    check_file(directory, record, detail)
    return directory / detail


def profile_files(entry: Entry, run: str | None) -> ProfileFiles:
    """Return the files that the timeline of a case is read from, or why there are none. `run`: the one that its row is of."""
    if not isinstance(entry, Bundle):
        problem = None if hasattr(entry, "ntff") else str(entry)
        trace = getattr(entry, "ntff", None)
        return ProfileFiles(detail_path(entry, None), trace, getattr(entry, "neff", None), problem=problem)
    if run is None:
        return ProfileFiles(problem="it has no profile")
    try:
        directory = entry.path / PROFILES / run
        record = read_run(directory)
        place = shown_execution(directory, record)
        trace = directory / record.executions[place].ntff if place is not None else None
        return ProfileFiles(detail_path(entry, run) or trace, trace, entry.path / str(entry.manifest.neff), entry.path)
    except (ProfileError, OSError) as error:
        return ProfileFiles(problem=str(error))


def commands_text(directory: Path, rows: Sequence[Row]) -> str:
    """Return the shell lines that repeat the profile of each row that has one."""
    lines = [f"cd {shell_word(str(directory.resolve()))}"]
    for row in rows:
        lines += ["", f"# {plain(row.case)}: {row.status}", (row.command or "# no profile").replace(" && ", " &&\n  ")]
    return "\n".join(lines) + "\n"


def find_entries(directory: Path) -> list[Entry]:
    """Return the bundles of a store, the one bundle that `directory` is, or the profiles from elsewhere below it, in the order of the table: numbers
    as numbers, what cannot be read last. Raises `WrongCall` when there is nothing of it."""
    if os.path.isfile(directory / MANIFEST):
        try:
            return [read_bundle(directory)]
        except BundleError as error:
            return [error]
    try:
        store = Store(directory)
        names = store.names()
    except StoreError as error:
        raise WrongCall(str(error)) from None
    if any(os.path.exists(directory / name / MANIFEST) for name in names) or os.path.exists(directory / OWN):
        return sorted(store.bundles(), key=_order)
    from neff_bench.stage2_profile.foreign.search import find_foreign

    return sorted(find_foreign(directory), key=_order)


def _order(entry: Entry) -> tuple[Any, ...]:
    words = [int(word) if word.isdecimal() else word for word in re.split(r"(\d+)", entry.name)]
    if not isinstance(entry, Bundle):
        return (1, words)
    case = entry.manifest.case
    return (0, case.kernel, case.implementation, case.dims, case.dtype, case.target, case.lnc, words)


def selected(found: Iterable[Entry], only: Sequence[str], skip: Sequence[str]) -> list[Entry]:
    """Return the entries that a glob of `only` is for (or there is none) and no glob of `skip`."""
    return [entry for entry in found if (not only or matches(_names(entry), only)) and not matches(_names(entry), skip)]


def _names(entry: Entry) -> tuple[str, ...]:
    return (entry.manifest.case.kernel, entry.name) if isinstance(entry, Bundle) else (entry.name,)


def chosen_tools(kinds: Iterable[str], options: Options, warm: WarmParent | None = None) -> dict[Kind, Tool | str]:
    """Return the tool for each kind of NEFF, or why these NEFFs cannot be profiled; says on stderr which tools were chosen. `warm`: see
    `find_simulator`."""
    tools = choose_tools(kinds, options, lambda kind: _found(kind, options, warm))
    for found in tools.values():
        if isinstance(found, Tool):
            notice(f"{'reading profiles' if options.steps == 'view' else 'profiling'} with {found}")
            if found.kind == "sim" and (slow := slow_notice()) is not None:
                notice(slow)
            if found.name in NEURON_TOOLS and not identify("tools", found.version).known:
                notice(
                    f"{found.name} {found.version} is of no known release of the SDK; taken for {found.release.name}"
                )
    return tools


def _found(kind: Kind, options: Options, warm: WarmParent | None = None) -> Tool | str:
    try:
        return find_tool(kind, options, warm)
    except ToolMissing as error:
        return str(error)
