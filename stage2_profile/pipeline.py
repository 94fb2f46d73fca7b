"""Turns bundles into rows: which step each bundle still needs, in parallel, one row for each whatever happens."""

from __future__ import annotations

import errno
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from neff_bench.errors import NeffBenchError
from neff_bench.neffs.bundle import LOCK, PROFILES, Bundle, read_bundle, used_files
from neff_bench.neffs.errors import BundleError
from neff_bench.neffs.verified import Verified
from neff_bench.stage2_profile.capture import runs
from neff_bench.stage2_profile.capture.cores import CorePool
from neff_bench.stage2_profile.capture.device_step import capture
from neff_bench.stage2_profile.capture.disk import check_disk
from neff_bench.stage2_profile.capture.safety import check_links
from neff_bench.stage2_profile.capture.tools import Kind, Tool
from neff_bench.stage2_profile.errors import CaptureFailed, ProfileError, RunDamaged
from neff_bench.stage2_profile.metrics.by_rank import read_summaries
from neff_bench.stage2_profile.metrics.check import Compare
from neff_bench.stage2_profile.metrics.derived import half_width_percent, total_times_s
from neff_bench.stage2_profile.metrics.rows import Row
from neff_bench.stage2_profile.metrics.summarise import (
    failed_row,
    is_complete,
    missing_output,
    run_row,
    with_verdict,
    without_damage,
)
from neff_bench.stage2_profile.options import Options
from neff_bench.stage2_profile.row_index import RowIndex
from neff_bench.stage2_profile.view.profile_view import view, view_detail
from neff_bench.system.lock import holder

if TYPE_CHECKING:
    from neff_bench.stage2_profile.foreign.search import ForeignCase


Entry: TypeAlias = "Bundle | BundleError | ForeignCase"
"""What is found in a directory: a bundle, what should be one and is not, or a profile from elsewhere."""

WAIT_S = 0.1


Elsewhere: TypeAlias = Callable[[Bundle], Row]
"""Captures a bundle on another host, in the store itself where that is shared; else it is called under the lock of the bundle's profiles, and its runs
are published here."""


@dataclass(frozen=True)
class Pipeline:
    """Holds what is done to each bundle.

    `tools`: the profiler for each kind of NEFF, or the reason why there is none. `pools`: the cores for each. `verified`: which bundles were compared with their checksums before.
    `reused`: gets a word for each bundle whose capture is taken as it is: `cached`, or `read` where the profiler's tool read it.
    `compare`: see `check_outputs`. `rows`: those of an earlier call. `elsewhere`: captures and views on another host, None to do so on this one.
    """

    options: Options
    tools: dict[Kind, Tool | str] = field(default_factory=dict)
    pools: dict[Kind, CorePool] = field(default_factory=dict)
    verified: Verified | None = None
    reused: dict[str, str] = field(default_factory=dict)
    compare: Compare | None = None
    rows: RowIndex | None = None
    elsewhere: Elsewhere | None = None

    def row(self, found: Entry) -> Row:
        """Return the row of one entry. Never raises: what is wrong with one entry, or with us, costs one row."""
        if self.options.stop.is_set():
            return _interrupted(found)
        try:
            return self._row(found)
        except Exception as error:  # the boundary of one case
            return Row(case=found.name, status="failed", reason=f"internal error, please report it: {error!r}")

    def _row(self, found: Entry) -> Row:
        if isinstance(found, BundleError):
            return Row(case=found.name, status="failed", reason=found.what)
        if not isinstance(found, Bundle):
            from neff_bench.stage2_profile.foreign.rows import foreign_row

            self.reused[found.name] = "read"
            return foreign_row(found)
        if found.manifest.status != "built":
            return replace(failed_row(found, found.manifest.reason or "no reason was given"), check="not built")
        try:
            return self._profiled(found)
        except BundleError as error:
            return self._row_now(found) or failed_row(found, error.what)
        except NeffBenchError as error:
            return failed_row(found, str(error))
        except OSError as error:
            if error.errno == errno.ENOSPC:
                return failed_row(found, f"no space left on the disk of {found.path}")
            return failed_row(found, f"{error.filename or found.path}: {error.strerror or error}")

    def _row_now(self, before: Bundle) -> Row | None:
        """Return the row of a bundle that was replaced since it was listed, None for one that was not."""
        try:
            now = read_bundle(before.path)
        except BundleError:
            return None
        return None if now.manifest == before.manifest else self._row(now)

    def _profiled(self, bundle: Bundle) -> Row:
        more = self.options.force or self.options.detail
        row = self.rows.row(bundle) if self.rows is not None and not more else None
        if row is None:
            return self._made(bundle)
        self.reused[bundle.name] = "cached"
        return row

    def _keep(self, bundle: Bundle, row: Row, path: Path, record: runs.Run) -> Row:
        """Let a later call reuse a row all of which is recorded and verified."""
        if self.rows is not None and row.status == "profiled" and bundle.verified and is_complete(bundle, record):
            if record.verified:
                made_from = {path: record, **dict(runs.series(bundle.path, record))}
                files = [
                    f"{PROFILES}/{run.name}/{file}"
                    for run, said in made_from.items()
                    for file in runs.number_files(said)
                ]
                self.rows.keep(bundle, row, files, with_inputs=self.options.steps != "parse")
        return row

    def _made(self, bundle: Bundle) -> Row:
        if self.options.steps == "parse":
            best = runs.best_run(bundle.path, bundle.manifest.neff_sha256)
            if best.found is not None:
                self.reused[bundle.name] = "cached"
                row = run_row(bundle, *best.found, read_traces=True)
                return with_warnings(row, best.damaged) if best.damaged else self._keep(bundle, row, *best.found)
            if best.damaged:
                return failed_row(bundle, f"{best.damaged[0]}; run profile-neffs to profile it again")
            return failed_row(bundle, "no profile yet; run profile-neffs on the store", "unprofiled")
        tool = self.tools[bundle.manifest.toolchain]
        if isinstance(tool, str):
            raise ProfileError(tool)
        best = self._best(bundle, tool)
        check_links(bundle)
        self._verify(bundle)
        finished = self._finished(bundle, tool, best)
        if finished is not None:
            self.reused[bundle.name] = "cached"
            return finished
        if self.elsewhere is not None and self.options.shared_store:
            return self.elsewhere(bundle)  # the host there holds the lock
        patience_s = self.options.lock_timeout_s
        end = time.monotonic() + patience_s
        while not self.options.stop.is_set():
            with runs.locked(bundle.path) as descriptor:
                if descriptor is not None and read_bundle(bundle.path).manifest != bundle.manifest:
                    raise BundleError(bundle.path, "was built again meanwhile")
                if descriptor is not None and self.elsewhere is not None:
                    return self.elsewhere(bundle)
                if descriptor is not None:
                    return self._locked(bundle, tool, descriptor)
            if time.monotonic() > end:
                who = holder(bundle.path / PROFILES / LOCK)
                raise CaptureFailed(f"its profiles are held by {who} after {patience_s:g} s (--lock-timeout)")
            time.sleep(WAIT_S)
        raise CaptureFailed("interrupted")

    def _best(self, bundle: Bundle, tool: Tool) -> runs.Best:
        """Return the best run of the kind that this tool makes."""
        return runs.best_run(bundle.path, bundle.manifest.neff_sha256, traced=tool.name != runs.UNTRACED)

    def _verify(self, bundle: Bundle) -> None:
        files = used_files(bundle.manifest)
        wrong = (self.verified or Verified(bundle.path.parent)).wrong(bundle.path, files)
        if wrong is not None:
            raise BundleError(bundle.path, f"{wrong}; build the case again (generate-neffs --force)")

    def _finished(self, bundle: Bundle, tool: Tool, best: runs.Best) -> Row | None:
        """Return the row of a bundle for which nothing has to be run or written, None for any other."""
        if self.options.force or self.options.detail:
            return None
        usable = self._usable(bundle, tool, best)
        if usable is None or not is_complete(bundle, usable[1]) or wants_more(bundle, usable[1], self.options):
            return None
        row = run_row(bundle, *usable)
        if row.status == "failed":
            return None
        self.reused[bundle.name] = "cached"
        return with_warnings(row, best.damaged) if best.damaged else self._keep(bundle, row, *usable)

    def _locked(self, bundle: Bundle, tool: Tool, descriptor: int) -> Row:
        best = self._best(bundle, tool)
        usable = None if self.options.force else self._usable(bundle, tool, best)
        if usable is None and self.options.steps == "view":
            return failed_row(bundle, _no_capture(tool, best))
        path, record = usable or self._capture(bundle, tool, descriptor)
        taken = record if usable else None
        if record.status == "captured" and self.options.steps != "capture":
            record = view(bundle, path, record, tool, self.options, (descriptor,))
        if record.status == "viewed" and self.options.detail:
            record = view_detail(bundle, path, record, tool, self.options, (descriptor,))
        if taken is not None and not wants_more(bundle, record, self.options):
            self.reused[bundle.name] = "cached" if record is taken else "read"
        record = with_verdict(bundle, path, record, self.compare)
        notes = self._repeated(bundle, tool, record, descriptor) if self.options.steps == "all" else ()
        return with_warnings(run_row(bundle, path, record), (*notes, *(best.damaged if usable else ())))

    def _capture(self, bundle: Bundle, tool: Tool, descriptor: int, series: str | None = None) -> tuple[Path, runs.Run]:
        """Return one capture, where the disk has room for what it is expected to leave. Raises `CaptureFailed`."""
        if tool.kind == "neuron":
            check_disk(bundle, self.options, traced=tool.name != runs.UNTRACED)
        return capture(bundle, tool, self.options, self.pools[tool.kind], (descriptor,), series)

    def _repeated(self, bundle: Bundle, tool: Tool, first: runs.Run, descriptor: int) -> tuple[str, ...]:
        """Capture again as often as is asked for. What a failed repetition leaves to be said."""
        while not self.options.stop.is_set() and wants_more(bundle, first, self.options):
            path, record = self._capture(bundle, tool, descriptor, first.series)
            if record.status == "captured":
                record = view(bundle, path, record, tool, self.options, (descriptor,))
            if record.status != "viewed":
                return (f"capture {path.name} of the series: {record.reason}",)
        return still_wide(bundle, first, self.options)

    def _usable(self, bundle: Bundle, tool: Tool, best: runs.Best) -> tuple[Path, runs.Run] | None:
        """Return a run that need not be captured again: of this NEFF, by this kind of tool, with the executions asked for, with all
        outputs, and with undamaged traces where they are still needed."""
        if best.found is None:
            return None
        path, record = best.found
        if record.status == "failed" or record.kind != tool.kind:
            return None
        asked = self.options.executions
        if self.options.steps != "view" and (record.num_exec, record.profile_nth_exec, record.warmup) != asked:
            return None
        if record.kind == "sim" and record.tool_version != tool.version:
            return None  # another model, other times
        if record.kind != "sim":
            if self.options.steps == "all" and self.options.most_captures > 1 and record.series is None:
                return None  # a series is of its own
            traces = self.options.steps in ("all", "capture") and self.options.system_trace
            if traces and not (path / runs.SYSTEM).is_dir():
                return None
        if self.options.steps != "view" and missing_output(bundle, record) is not None:
            return None
        return self._readable(bundle, path, record)

    def _readable(self, bundle: Bundle, path: Path, record: runs.Run) -> tuple[Path, runs.Run] | None:
        """Return the run without what is damaged in it; None when a file is damaged that only a new capture can replace."""
        record = without_damage(path, record)
        try:
            for rank in record.by_rank:
                if rank.timing is not None:
                    runs.check_file(path, record, rank.timing)
            for execution in record.executions:
                if execution.summary is None or (self.options.detail and execution.detail is None):
                    runs.check_file(path, record, execution.ntff)
            if not is_complete(bundle, record):
                for file in runs.rank_files(record):
                    runs.check_file(path, record, file)
        except RunDamaged:
            if self.options.steps == "view":
                raise
            return None
        return path, record


def _no_capture(tool: Tool, best: runs.Best) -> str:
    """Return why there is nothing to view, and how to get it."""
    if best.found is not None and best.found[1].status != "failed":
        record = best.found[1]
        if record.kind == tool.kind == "sim":  # the timing model is part of the version
            return f"captured by {record.tool} {record.tool_version}, this is {tool.name} {tool.version}: capture again without --view-only"
    where = "" if tool.kind == "sim" else " on a host with the device"
    return f"nothing captured yet; run profile-neffs --capture-only{where}"


def with_warnings(row: Row, more: Sequence[str]) -> Row:
    """Return the row with further warnings."""
    return replace(row, warnings=(*row.warnings, *more)) if more else row


def groups_by_lnc(found: Iterable[Entry]) -> list[list[Entry]]:
    """Sort the bundles by LNC: cores change their LNC as seldom as possible, and never two at once."""
    groups: dict[int, list[Entry]] = {}
    for entry in found:
        groups.setdefault(entry.manifest.case.lnc if isinstance(entry, Bundle) else 0, []).append(entry)
    return [groups[lnc] for lnc in sorted(groups)]


def profile_all(pipeline: Pipeline, found: Sequence[Entry], jobs: int, done: Callable[[Row], None]) -> list[Row]:
    """Return the rows of all bundles, in the order of `found`; `done` is called as each is ready. The pipeline's stop ends the running tools."""
    rows: dict[str, Row] = {}
    stop: threading.Event = pipeline.options.stop
    for group in groups_by_lnc(found):
        if stop.is_set():
            break
        with ThreadPoolExecutor(max_workers=max(1, min(jobs, len(group)))) as workers:
            for future in as_completed([workers.submit(pipeline.row, entry) for entry in group]):
                row = future.result()
                rows[row.case] = row
                done(row)
    return [rows.get(entry.name) or _interrupted(entry) for entry in found]


def _interrupted(entry: Entry) -> Row:
    if isinstance(entry, Bundle):
        return failed_row(entry, "interrupted")
    return Row(case=entry.name, status="failed", reason="interrupted")


def wants_more(bundle: Bundle, run: runs.Run, options: Options) -> bool:
    """Return whether the series of a run is to be longer. A simulated time is the same in every capture."""
    if options.most_captures <= 1 or run.kind == "sim" or run.status != "viewed":
        return False
    totals = _totals_s(bundle, run)
    if len(totals) >= options.most_captures:
        return False
    if options.until_percent is None:
        return True
    wide = half_width_percent(totals)
    return wide is None or wide > options.until_percent


def still_wide(bundle: Bundle, run: runs.Run, options: Options) -> tuple[str, ...]:
    """Return what must be said of a series that ended at its bound."""
    if options.until_percent is None or run.kind == "sim" or run.series is None:
        return ()
    totals = _totals_s(bundle, run)
    wide = half_width_percent(totals)
    if wide is not None and wide <= options.until_percent:
        return ()
    known = "is not known" if wide is None else f"is {wide:.2g} %"
    return (f"after {len(totals)} captures half the confidence interval {known}, --until {options.until_percent:g}%",)


def _totals_s(bundle: Bundle, run: runs.Run) -> list[float]:
    return total_times_s([read_summaries(*one) for one in runs.series(bundle.path, run)])
