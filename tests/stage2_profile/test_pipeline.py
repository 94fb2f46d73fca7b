"""Which step a bundle still needs, and the one row that comes of it whatever happens."""

import errno
import shutil
import threading
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from neff_bench.neffs.bundle import Bundle, read_bundle, write_manifest
from neff_bench.neffs.errors import BundleError
from neff_bench.stage2_profile import pipeline
from neff_bench.stage2_profile.capture import runs
from neff_bench.stage2_profile.capture.tools import Tool
from neff_bench.stage2_profile.errors import CaptureFailed, RunDamaged
from neff_bench.stage2_profile.foreign.search import ForeignCase
from neff_bench.stage2_profile.metrics.rows import Row
from neff_bench.stage2_profile.options import Options
from neff_bench.stage2_profile.pipeline import Pipeline, groups_by_lnc, profile_all, still_wide, wants_more
from tests.stage2_profile.capture.test_runs import RUN, publish

PROFILER = Tool("neuron-profile", (), "2.29", "neuron")
SIMULATOR = Tool("neuron-sim", (), "0.1", "sim")
NRTPY = Tool("nrtpy", (), "2.34", "neuron")


def run(**changes):
    """A run of the version whose files are not compared with checksums."""
    return msgspec.structs.replace(RUN, **{"outputs": {"out": "out"}, "schema": 1, **changes})


def elsewhere(bundle):
    return Row(case=bundle.name, status="profiled")


@pytest.fixture
def made(make_bundle, settings):
    """A pipeline that captures on another host, and a bundle."""

    def make(tool=PROFILER, **changes):
        fields = {"tools": {"neuron": tool}, "elsewhere": elsewhere, **changes}
        options = fields.pop("options", {})
        return Pipeline(settings(**options), **fields)

    return make


def test_one_row_comes_of_each_entry_whatever_it_is(make_bundle, made, tmp_path):
    bundle = make_bundle()
    assert made().row(bundle) == elsewhere(bundle)
    assert made().row(BundleError(Path("b"), "torn")) == Row(case="b", status="failed", reason="torn")
    foreign = made().row(ForeignCase("c", problem="lost"))
    assert (foreign.case, foreign.status, foreign.reason) == ("c", "failed", "lost")
    for reason, said in ((None, "no reason was given"), ("it broke", "it broke")):
        failed = replace(bundle, manifest=replace(bundle.manifest, status="failed", reason=reason))
        row = made().row(failed)
        assert (row.status, row.check, row.reason) == ("failed", "not built", said)


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (CaptureFailed("no core"), "no core"), (OSError(errno.ENOSPC, "x", "f"), "no space left on the disk of PATH"), (OSError(errno.EACCES, "denied", "f"), "f: denied"),
        (OSError("odd"), "PATH: odd"), (ValueError("a bug"), "internal error, please report it: ValueError('a bug')"), (BundleError(Path("b"), "torn"), "torn"),
    ],
)  # fmt: skip
def test_what_goes_wrong_with_one_bundle_is_the_reason_of_its_row(make_bundle, made, error, says):
    def broken(bundle):
        raise error

    bundle = make_bundle()
    row = made(elsewhere=broken).row(bundle)
    assert (row.case, row.status, row.reason) == (bundle.name, "failed", says.replace("PATH", str(bundle.path)))


def test_a_bundle_that_was_built_again_meanwhile_gets_the_row_of_what_is_there_now(make_bundle, made):
    before = make_bundle()
    old = replace(before, manifest=replace(before.manifest, created="2025"))
    now = made().row(old)
    assert now == elsewhere(before)
    write_manifest(before.path, replace(before.manifest, status="failed", reason="no longer builds"))
    assert made().row(before).reason == "no longer builds"
    (before.path / "case.json").write_bytes(b"{")
    assert made().row(before).status == "failed"


def test_without_a_tool_the_row_says_why(make_bundle, made):
    assert made(tool="no profiler here").row(make_bundle()).reason == "no profiler here"


def test_a_stop_leaves_rows_that_say_so(make_bundle, make_case, made):
    stop = threading.Event()
    bundles = [make_bundle(make_case(lnc=lnc)) for lnc in (1, 2)]
    case = ForeignCase("c")

    def stopping(bundle):
        stop.set()
        return elsewhere(bundle)

    pool, done = made(elsewhere=stopping, options={"stop": stop}), []
    rows = profile_all(pool, [case, *bundles], 1, done.append)
    assert [(row.case, row.status) for row in rows[:2]] == [("c", "unprofiled"), (bundles[0].name, "profiled")]
    assert (rows[2].reason, rows[2].kernel, len(done)) == ("interrupted", "matmul", 2)
    assert [pool.row(entry).reason for entry in (bundles[0], case)] == ["interrupted", "interrupted"]


def test_rows_come_in_the_order_of_what_was_found_and_no_two_lnc_at_once(make_bundle, make_case, made):
    bundles = [make_bundle(make_case(lnc=lnc, kernel=kernel)) for kernel, lnc in (("a", 2), ("b", 1), ("c", 2))]
    entries = [*bundles, ForeignCase("f")]
    assert [[entry.name for entry in group] for group in groups_by_lnc(entries)] == [
        ["f"],
        [bundles[1].name],
        [bundles[0].name, bundles[2].name],
    ]
    order = []
    rows = profile_all(made(), entries, 2, lambda row: order.append(row.case))
    assert [row.case for row in rows] == [entry.name for entry in entries]
    assert order[:2] == ["f", bundles[1].name] and sorted(order) == sorted(row.case for row in rows)
    assert profile_all(made(), [], 2, order.append) == []


def test_bundles_are_captured_at_once_as_far_as_jobs_go(make_bundle, make_case, made):
    bundles = [make_bundle(make_case(kernel=kernel)) for kernel in "abc"]
    together = threading.Barrier(2, timeout=20)

    def two(bundle):
        if bundle is not bundles[2]:
            together.wait()
        return elsewhere(bundle)

    rows = profile_all(made(elsewhere=two), bundles, 2, lambda row: None)
    assert [row.status for row in rows] == ["profiled"] * 3


def test_a_host_that_shares_the_store_holds_the_lock_itself(make_bundle, made):
    bundle = make_bundle()

    def locked(found):
        with runs.locked(found.path) as descriptor:
            return Row(case=found.name, status="profiled", reason="free" if descriptor is not None else "held")

    for shared, said in ((True, "free"), (False, "held")):
        options = {"shared_store": shared, "ray": "auto"}
        assert made(elsewhere=locked, options=options).row(bundle).reason == said


def test_profiles_that_another_process_holds_are_waited_for_as_long_as_is_asked(make_bundle, made):
    bundle = make_bundle()
    with runs.locked(bundle.path):
        row = made(options={"lock_timeout_s": 0.01}).row(bundle)
    assert row.reason.startswith("its profiles are held by process ") and row.reason.endswith(
        " after 0.01 s (--lock-timeout)"
    )


def test_a_damaged_bundle_is_not_captured(make_bundle, made):
    bundle = make_bundle()
    (bundle.path / "inp-x-000.bin").write_bytes(b"changed")
    row = made().row(bundle)
    assert row.reason.startswith("inp-x-000.bin ") and row.reason.endswith(
        "; build the case again (generate-neffs --force)"
    )


def published(bundle, **changes):
    return publish(bundle.path, **{"neff_sha256": bundle.manifest.neff_sha256, "status": "captured", **changes})


def test_what_is_only_parsed_needs_a_profile(make_bundle, made):
    bundle, parse = make_bundle(), made(elsewhere=None, tools={}, options={"parse_only": True})
    row = parse.row(bundle)
    assert (row.status, row.reason) == (
        "unprofiled",
        "no profile yet; run profile-neffs on the store",
    ) and parse.reused == {}
    path = published(bundle)
    (path / "run.json").write_bytes(b"{")
    row = parse.row(bundle)
    assert (
        row.status == "failed"
        and row.reason.startswith("profiles/1: run.json is damaged")
        and row.reason.endswith("; run profile-neffs to profile it again")
    )
    published(bundle, status="failed", reason="it broke")
    row = parse.row(bundle)
    assert (row.reason, parse.reused) == ("it broke", {bundle.name: "cached"}) and row.warnings[0].startswith(
        "profiles/1: "
    )


def test_traces_that_no_tool_has_viewed_are_read_where_profiles_are_only_parsed(make_bundle, made, monkeypatch):
    bundle, asked = make_bundle(), []
    path = published(bundle)
    monkeypatch.setattr(pipeline, "run_row", lambda *found, read_traces: asked.append((found[1], read_traces)) or "row")
    work = made(elsewhere=None, tools={}, options={"parse_only": True})
    monkeypatch.setattr(Pipeline, "_keep", lambda self, bundle, row, path, record: f"{row} kept")
    assert work.row(bundle) == "row kept" and asked == [(path, True)]


@pytest.mark.parametrize(
    ("record", "tool", "asked", "usable"),
    [
        ({}, PROFILER, {}, True), ({"status": "failed"}, PROFILER, {}, False), ({"kind": "sim"}, PROFILER, {}, False), ({}, PROFILER, {"num_exec": 4}, False),
        ({}, PROFILER, {"profile_nth_exec": 1}, False), ({"warmup": 1}, PROFILER, {}, False), ({}, PROFILER, {"num_exec": 4, "view_only": True}, True),
        ({"outputs": {}}, PROFILER, {}, False), ({"outputs": {}}, PROFILER, {"view_only": True}, True),
        ({"kind": "sim", "tool_version": "0.1"}, SIMULATOR, {}, True), ({"kind": "sim", "tool_version": "0.2"}, SIMULATOR, {}, False), ({"tool_version": "0.2"}, PROFILER, {}, True),
        ({}, PROFILER, {"captures": 2}, False), ({"series": "1"}, PROFILER, {"captures": 2}, True), ({}, PROFILER, {"captures": 1}, True),
        ({"kind": "sim", "tool_version": "0.1"}, SIMULATOR, {"captures": 2}, True), ({"kind": "sim", "tool_version": "0.1"}, SIMULATOR, {"system_trace": True}, True),
        ({}, PROFILER, {"system_trace": True}, False), ({}, PROFILER, {"system_trace": True, "capture_only": True}, False), ({}, PROFILER, {"system_trace": True, "view_only": True}, True),
    ],
)  # fmt: skip
def test_a_run_that_answers_what_is_asked_is_not_captured_again(make_bundle, made, record, tool, asked, usable):
    bundle = make_bundle()
    found = bundle.path / "profiles" / "1", run(**record)
    result = made(options=asked)._usable(bundle, tool, runs.Best(found))
    assert (result is not None) == usable
    if usable:
        assert result == found
    if asked.get("system_trace"):
        (found[0] / "system").mkdir(parents=True)
        assert made(options=asked)._usable(bundle, tool, runs.Best(found)) == found


def test_without_a_run_there_is_none_to_take(make_bundle, made):
    assert made()._usable(make_bundle(), PROFILER, runs.Best(None)) is None


EXECUTION = runs.Execution(rank=0, execution=2, ntff="2.ntff")


@pytest.mark.parametrize(
    ("lost", "execution", "detail", "usable"),
    [
        (None, EXECUTION, False, True), ("2.ntff", EXECUTION, False, False), ("out", EXECUTION, False, False), ("benchmark.json", EXECUTION, False, False),
    ],
)  # fmt: skip
def test_a_run_is_captured_again_where_a_file_is_damaged_that_is_still_needed(
    make_bundle, made, lost, execution, detail, usable
):
    bundle = make_bundle()
    with runs.locked(bundle.path):
        work = runs.new_work(bundle.path)
        for name in ("2.ntff", "out", "benchmark.json"):
            (work / name).write_bytes(b"1")
        path, record = runs.publish(
            work, run(schema=2, status="captured", executions=(execution,), timing="benchmark.json")
        )
    if lost:
        (path / lost).write_bytes(b"2")
    found = made(options={"detail": detail})._readable(bundle, path, record)
    assert (found == (path, record)) == usable and (found is None) == (not usable)
    if lost:
        with pytest.raises(RunDamaged, match=lost):
            made(options={"view_only": True})._readable(bundle, path, record)


def test_a_trace_that_was_viewed_is_needed_again_for_the_whole_profile_alone(make_bundle, made):
    bundle = make_bundle()
    with runs.locked(bundle.path):
        work = runs.new_work(bundle.path)
        for name in ("2.ntff", "summary-1.json"):
            (work / name).write_bytes(b"1")
        viewed = msgspec.structs.replace(EXECUTION, summary="summary-1.json")
        path, record = runs.publish(work, run(schema=2, outputs={}, executions=(viewed,)))
    (path / "2.ntff").unlink()
    assert made()._readable(bundle, path, record) == (path, record)
    assert made(options={"detail": True})._readable(bundle, path, record) is None
    whole = msgspec.structs.replace(record, executions=(msgspec.structs.replace(viewed, detail="detail.json"),))
    assert made(options={"detail": True})._readable(bundle, path, whole) == (path, whole)


@pytest.mark.parametrize(
    ("record", "tool", "says"),
    [
        (None, PROFILER, "nothing captured yet; run profile-neffs --capture-only on a host with the device"), (None, SIMULATOR, "nothing captured yet; run profile-neffs --capture-only"),
        (run(status="failed", kind="sim"), SIMULATOR, "nothing captured yet; run profile-neffs --capture-only"),
        (run(kind="sim", tool="neuron-sim", tool_version="0.0"), SIMULATOR, "captured by neuron-sim 0.0, this is neuron-sim 0.1: capture again without --view-only"),
        (run(), SIMULATOR, "nothing captured yet; run profile-neffs --capture-only"), (run(kind="sim"), PROFILER, "nothing captured yet; run profile-neffs --capture-only on a host with the device"),
        (run(), PROFILER, "nothing captured yet; run profile-neffs --capture-only on a host with the device"),
    ],
)  # fmt: skip
def test_what_cannot_be_viewed_says_what_is_to_be_done(record, tool, says):
    assert pipeline._no_capture(tool, runs.Best(record and (Path("1"), record))) == says


@pytest.fixture
def totals(monkeypatch):
    """The total times of the captures of a series."""

    def are(*seconds):
        monkeypatch.setattr(pipeline, "_totals_s", lambda bundle, run: list(seconds))

    return are


WIDE, NARROW = (1.0, 1.2, 1.0, 1.1, 1.1, 1.1), (1.0,) * 6


@pytest.mark.parametrize(
    ("asked", "record", "times", "more"),
    [
        ({}, {}, (), False), ({"captures": 1}, {}, (), False), ({"captures": 2}, {}, (1.0,), True), ({"captures": 2}, {}, (1.0, 1.0), False), ({"captures": 2}, {"kind": "sim"}, (1.0,), False),
        ({"captures": 2}, {"status": "captured"}, (1.0,), False), ({"until": "1%"}, {}, (1.0,), True), ({"until": "1%"}, {}, NARROW, False), ({"until": "1%"}, {}, WIDE, True),
        ({"until": "1%", "captures": 6}, {}, WIDE, False), ({"until": "20%"}, {}, WIDE, False), ({"captures": 7}, {}, NARROW, True),
    ],
)  # fmt: skip
def test_a_series_goes_on_until_it_is_long_or_narrow_enough(totals, asked, record, times, more):
    totals(*times)
    assert wants_more(None, run(**record), Options(**asked)) == more


@pytest.mark.parametrize(
    ("asked", "record", "times", "said"),
    [
        ({"captures": 2}, {"series": "1"}, (1.0,), ()), ({"until": "1%"}, {"series": None}, (1.0,), ()), ({"until": "1%"}, {"series": "1", "kind": "sim"}, (1.0,), ()),
        ({"until": "1%"}, {"series": "1"}, NARROW, ()), ({"until": "1%"}, {"series": "1"}, (1.0,), ("after 1 captures half the confidence interval is not known, --until 1%",)),
        ({"until": "1.5%"}, {"series": "1"}, WIDE, ("after 6 captures half the confidence interval is 9.1 %, --until 1.5%",)),
    ],
)  # fmt: skip
def test_a_series_that_stays_wide_says_how_wide(totals, asked, record, times, said):
    totals(*times)
    assert still_wide(None, run(**record), Options(**asked)) == said


def test_an_interval_that_is_as_narrow_as_is_asked_is_enough(monkeypatch, totals):
    totals(1.0)
    monkeypatch.setattr(pipeline, "half_width_percent", lambda values: 2.0)
    asked = Options(until="2%")
    assert not wants_more(None, run(series="1"), asked) and still_wide(None, run(series="1"), asked) == ()
    assert wants_more(None, run(series="1"), Options(until="1.9%"))


class Kept:
    """The rows of an earlier call: of the bundles in `known`."""

    def __init__(self, **known):
        self.known, self.kept = known, []

    def row(self, bundle):
        return self.known.get("row")

    def keep(self, bundle, row, files, *, with_inputs):
        self.kept.append((bundle.name, row.status, list(files), with_inputs))


@pytest.mark.parametrize(("asked", "taken"), [({}, True), ({"force": True}, False), ({"detail": True}, False)])
def test_the_row_of_an_earlier_call_is_taken_unless_more_is_asked(make_bundle, made, asked, taken):
    bundle, row = make_bundle(), Row(case="x", status="profiled", reason="earlier")
    work = made(rows=Kept(row=row), options=asked)
    assert (work.row(bundle) is row) == taken and work.reused == ({bundle.name: "cached"} if taken else {})
    assert made(rows=Kept()).row(bundle) == elsewhere(bundle)


@pytest.mark.parametrize(
    ("status", "verified", "complete", "schema", "asked", "kept"),
    [
        ("profiled", True, True, 2, {}, True), ("captured", True, True, 2, {}, False), ("profiled", False, True, 2, {}, False), ("profiled", True, False, 2, {}, False), ("profiled", True, True, 1, {}, False),
        ("profiled", True, True, 2, {"parse_only": True}, False),
    ],
)  # fmt: skip
def test_a_row_is_kept_for_later_where_all_of_it_is_recorded_and_verified(
    make_bundle, made, monkeypatch, status, verified, complete, schema, asked, kept
):
    monkeypatch.setattr(pipeline, "is_complete", lambda bundle, record: complete)
    bundle = make_bundle()
    if not verified:
        bundle = replace(bundle, verified=False)
    viewed = tuple(msgspec.structs.replace(EXECUTION, summary=f"summary-{number}.json") for number in (1, 2))
    record = run(schema=schema, executions=viewed, timing="t.json", series="7")
    path = bundle.path / "profiles" / "3"
    other = published(bundle, status="viewed", executions=viewed[:1], series="7")
    rows, row = Kept(), Row(case=bundle.name, status=status)
    assert (
        made(rows=rows, options=asked)._keep(
            bundle, row, path, msgspec.structs.replace(record, neff_sha256=bundle.manifest.neff_sha256)
        )
        is row
    )
    files = [f"profiles/3/{name}" for name in ("summary-1.json", "summary-2.json", "t.json")] + [
        f"profiles/{other.name}/summary-1.json"
    ]
    whole = [(bundle.name, "profiled", files, not asked.get("parse_only"))]
    assert rows.kept == (whole if kept or asked else [])
    assert made()._keep(bundle, row, path, record) is row


def test_warnings_are_added_behind_those_of_the_row():
    row = Row(case="c", status="profiled", warnings=("a",))
    assert pipeline.with_warnings(row, ()) is row and pipeline.with_warnings(row, ["b"]).warnings == ("a", "b")


def test_a_bundle_is_the_same_after_it_was_read_again(make_bundle, made):
    bundle = make_bundle()
    shutil.rmtree(bundle.path / "profiles", ignore_errors=True)
    assert isinstance(read_bundle(bundle.path), Bundle) and made()._row_now(bundle) is None
