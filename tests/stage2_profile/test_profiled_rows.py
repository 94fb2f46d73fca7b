"""What `profile-neffs` starts for a store, and what it writes of the rows."""

import os
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

from neff_bench.neffs.bundle import LOCK, PROFILES
from neff_bench.stage2_profile import directory
from neff_bench.stage2_profile.capture.tools import Tool
from neff_bench.stage2_profile.directory import commands_text, profile_directory
from neff_bench.stage2_profile.foreign.search import ForeignCase
from neff_bench.stage2_profile.metrics.hot_report import Hot
from neff_bench.stage2_profile.metrics.rows import Row
from neff_bench.stage2_profile.options import Options
from neff_bench.stage2_profile.pipeline import Pipeline


class Warm:
    """A warm parent that forks, or not; holds what it was asked."""

    def __init__(self, forks):
        self.forks, self.asked = forks, 0

    def fork(self):
        self.asked += 1
        return self.forks


@pytest.fixture
def asked(monkeypatch, store):
    """Ask for rows that nothing is done for; returns the calls of `profile_all`, with the pipeline, and the tools and pools that were made."""

    def ask(*, forks=None, **options):
        did = SimpleNamespace(calls=[], pools=[], tools=[], warned=[], warm=None if forks is None else Warm(forks))

        def profile_all(pipeline, found, workers, done):
            did.calls.append((pipeline, list(found), workers))
            rows = [Row(case=entry.name, status="profiled", total_time_us=float(at)) for at, entry in enumerate(found)]
            for row in rows:
                done(row)
            return rows

        def choose(kinds, options, warm):
            did.tools.append((sorted(kinds), warm))
            return {}

        monkeypatch.setattr(directory, "profile_all", profile_all)
        monkeypatch.setattr(directory, "chosen_tools", choose)
        monkeypatch.setattr(directory, "make_pools", lambda cores, kinds, options: did.pools.append(cores) or {})
        monkeypatch.setattr(directory, "warn_of_disk", lambda store, found, pipeline: did.warned.append(store))
        monkeypatch.setattr(directory, "warm_parent", lambda environ: nullcontext(did.warm))
        did.found, did.rows = directory.profiled_rows(Options(directory=store, **options))
        return did

    return ask


def test_all_steps_need_tools_and_cores_viewing_no_cores_and_parsing_neither(asked, make_bundle, store):
    bundle = make_bundle()
    for given, tools, pools in (
        ({}, 1, 1),
        ({"capture_only": True}, 1, 1),
        ({"view_only": True}, 1, 0),
        ({"parse_only": True}, 0, 0),
    ):
        did = asked(cold=True, cores=None, **given)
        assert (len(did.tools), len(did.pools), len(did.warned)) == (tools, pools, pools)
        assert (did.found, [row.case for row in did.rows]) == ([bundle], [bundle.name])
    assert asked(cold=True, cores="2-3", jobs=5).pools == [(2, 3)]
    (pipeline, found, workers), *_ = asked(cold=True, jobs=5).calls
    assert (found, workers, pipeline.options.detail, pipeline.compare, pipeline.options.warm) == (
        [bundle],
        5,
        False,
        None,
        None,
    )
    assert (
        pipeline.options.environ["OPENBLAS_NUM_THREADS"] == str(max(1, (os.cpu_count() or 1) // 5))
        and pipeline.rows is not None
    )
    assert pipeline.verified is not None and asked(cold=True).warned == [store]


@pytest.mark.parametrize(
    ("given", "detail"),
    [
        ({}, False),
        ({"hot": 3}, True),
        ({"search": "x"}, True),
        ({"output": Path("x.html")}, True),
        ({"detail": True}, True),
        ({"output": Path("x.csv")}, False),
    ],
)
def test_a_whole_profile_is_made_where_the_answer_needs_it(asked, make_bundle, given, detail):
    make_bundle()
    assert asked(cold=True, **given).calls[0][0].options.detail == detail


def test_a_page_of_many_has_whole_profiles_of_the_slowest(asked, make_bundle, make_case, monkeypatch):
    monkeypatch.setattr(directory, "TIMELINES_MAX", 1)
    monkeypatch.setattr(directory, "slowest", lambda rows: frozenset([rows[-1].case]))
    bundles = [make_bundle(make_case(kernel=kernel)) for kernel in "ab"]
    first, second = asked(cold=True, force=True, output=Path("x.html"), jobs=3).calls
    assert (first[0].options.detail, first[0].options.force, len(first[1])) == (False, True, 2)
    assert (second[0].options.detail, second[0].options.force, second[1:]) == (True, False, ([bundles[1]], 3))
    assert len(asked(cold=True, output=Path("x.html"), parse_only=True).calls) == 1
    assert len(asked(cold=True, output=Path("x.html"), only=("a", "b")).calls) == 1
    assert [row.total_time_us for row in asked(cold=True, output=Path("x.html")).rows] == [0.0, 0.0]


@pytest.mark.parametrize(
    ("toolchains", "captured", "given", "forks", "fork_asked", "compares", "warm_tools"),
    [
        (["sim"], False, {}, True, 1, True, True), (["sim"], False, {}, False, 1, False, True), (["sim"], True, {}, True, 0, False, False), (["sim"], True, {"force": True}, True, 1, True, True),
        (["sim", "neuron"], False, {}, True, 1, False, True), (["neuron"], False, {}, True, 0, False, True), (["sim"], False, {"toolchain": "neuron"}, True, 0, False, True), (["sim"], False, {"view_only": True}, True, 0, False, False),
        (["sim"], False, {}, None, 0, False, False), (["sim"] * 33, False, {}, True, 1, None, True),
    ],
)  # fmt: skip
def test_a_warm_parent_forks_where_something_is_to_be_simulated(
    asked, make_bundle, make_case, toolchains, captured, given, forks, fork_asked, compares, warm_tools
):
    for at, toolchain in enumerate(toolchains):
        bundle = make_bundle(make_case(kernel=f"k{at}"), toolchain=toolchain)
        if captured:
            (bundle.path / PROFILES).mkdir()
    did = asked(forks=forks, **given)
    pipeline = did.calls[0][0]
    assert (did.warm.asked if did.warm else 0) == fork_asked and pipeline.options.warm is did.warm
    assert (pipeline.compare is not None) == (len(toolchains) <= directory.FEW if compares is None else compares)
    assert [warm is not None for _, warm in did.tools] == [warm_tools]


def test_each_row_is_told_as_it_is_ready_and_reused_ones_by_their_word(asked, make_bundle, capsys):
    bundle = make_bundle()
    assert asked(cold=True).rows[0].status == "profiled"
    assert f"{bundle.name}: profiled" in capsys.readouterr().err


def test_the_lock_that_a_killed_holder_left_goes_unless_profiles_are_only_parsed(asked, make_bundle):
    bundle = make_bundle()
    (bundle.path / PROFILES).mkdir()
    lock = bundle.path / PROFILES / LOCK
    for given, stays in (({"parse_only": True}, True), ({}, False)):
        lock.write_bytes(b"")
        asked(cold=True, **given)
        assert lock.exists() == stays


@pytest.mark.parametrize(
    ("toolchain", "tool", "room", "says"),
    [
        ("neuron", Tool("neuron-profile", (), "2.29", "neuron"), False, "traced True"), ("neuron", Tool("nrtpy", (), "2.34", "neuron"), False, "traced False"), ("sim", Tool("neuron-profile", (), "2.29", "neuron"), False, ""),
        ("neuron", "no profiler", False, ""), ("neuron", Tool("neuron-profile", (), "2.29", "neuron"), True, ""),
    ],
)  # fmt: skip
def test_too_little_disk_is_told_before_the_first_capture_on_a_device(
    monkeypatch, capsys, make_bundle, store, toolchain, tool, room, says
):
    from neff_bench.stage2_profile.capture import disk

    bundle = make_bundle(toolchain=toolchain)
    monkeypatch.setattr(
        disk,
        "shortage",
        lambda place, bundles, options, traced: None if room else f"{place} {bundles == [bundle]} traced {traced}",
    )
    directory.warn_of_disk(store, [bundle, ForeignCase("c")], Pipeline(Options(), {"neuron": tool}))
    assert capsys.readouterr().err.strip().replace("\n", " ").endswith(f"{store} True {says}" if says else "")


@pytest.mark.parametrize(("given", "shown"), [({}, {"a"}), ({"only": ("a", "b")}, {"a", "b"})])
def test_a_page_shows_the_slowest_or_those_that_were_named(monkeypatch, tmp_path, given, shown):
    from neff_bench.stage2_profile.report import page

    rows = [Row(case=name, status="profiled", run="1") for name in "ab"]
    monkeypatch.setattr(directory, "profiled_rows", lambda options: ([*"AB"], rows))
    monkeypatch.setattr(directory, "slowest", lambda rows: frozenset("a"))
    monkeypatch.setattr(directory, "profile_files", lambda entry, run: (entry, run))
    monkeypatch.setattr(directory, "left_out", lambda place, row: "left out")
    monkeypatch.setattr(page, "report_page", lambda place, rows, files: repr(files).encode())
    assert profile_directory(Options(directory=tmp_path, output=tmp_path / "x.html", **given)) == 0
    assert (tmp_path / "x.html").read_text() == repr(
        [(name.upper(), "1") if name in shown else "left out" for name in "ab"]
    )


def test_commands_and_hot_lines_are_written_in_place_of_the_table(monkeypatch, tmp_path, capsys):
    rows = [Row(case="a", status="profiled", command="x"), Row(case="b", status="profiled")]
    monkeypatch.setattr(directory, "profiled_rows", lambda options: ([*"AB"], rows))
    assert profile_directory(Options(directory=tmp_path, show_commands=True)) == 0
    assert capsys.readouterr().out == commands_text(tmp_path, rows)
    counts = []
    monkeypatch.setattr(
        directory,
        "hot_spots",
        lambda entry, row, chosen, count: counts.append((entry, count))
        or Hot(row, problem="broke" if entry == "B" else None),
    )
    for given in ({"hot": 3}, {"search": "x"}):
        assert profile_directory(Options(directory=tmp_path, **given)) == 1
    assert counts == [("A", 3), ("B", 3), ("A", 10), ("B", 10)] and "1 of 2 failed" in capsys.readouterr().err


def test_what_was_verified_and_learned_is_kept_for_the_next_call(asked, make_bundle, monkeypatch):
    make_bundle()
    saved = []
    monkeypatch.setattr(directory.Verified, "save", lambda self: saved.append("verified"))
    monkeypatch.setattr(directory.RowIndex, "save", lambda self: saved.append("rows"))
    asked(cold=True)
    assert saved == ["verified", "rows"]
