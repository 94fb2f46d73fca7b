"""The page of a comparison: which cases it looks at."""

import math
from pathlib import Path
from types import SimpleNamespace

import pytest

from neff_bench.errors import WrongCall
from neff_bench.stage2_profile.compare import page
from neff_bench.stage2_profile.compare.verdict import Pair, Pairing
from neff_bench.stage2_profile.report.files import ProfileFiles
from neff_bench.terminal.answer import Column, Grid
from tests.stage2_profile.conftest import case


def test_whole_profiles_are_made_of_the_compared_cases_alone(make_bundle, store, monkeypatch):
    viewed = []
    monkeypatch.setattr(page, "profiled_rows", lambda options: viewed.append(options.only))
    one, two = make_bundle(case(lnc=1)), make_bundle(case(lnc=2))
    page._Files(store, [{"case": two.name}])
    assert one.name != two.name and viewed == [(two.name,)]


def grid(*lines):
    return Grid([Column("case"), Column("metric")], [list(line) for line in lines])


def test_each_line_says_its_case():
    assert page._labelled(grid(["a", "1"], ["", "2"], ["b", "3"])) == [["a", "1"], ["a", "2"], ["b", "3"]]


@pytest.mark.parametrize(
    ("totals", "change"),
    [((10.0, 20.0), (math.log(2), 10.0)), ((10.0, 5.0, 40.0), (math.log(4), 10.0)), ((10.0, None), (0.0, 10.0)), ((None, 10.0), (0.0, 0.0)), ((0.0, 5.0), (0.0, 0.0)), ((4.0, 4.0), (0.0, 4.0))],
)  # fmt: skip
def test_a_group_changes_as_much_as_the_side_that_differs_most(totals, change):
    first, *others = ({"case": "c", "total_time_us": total} for total in totals)
    group = page._Group(Pair("l", first, others[0]), 3)
    group.sides.update(dict(enumerate(others, 1)))
    assert group.change == pytest.approx(change) and (group.label, group.number) == ("l", 3)


def test_files_of_a_row_are_those_of_its_entry_of_one_profile_or_none(tmp_path, monkeypatch, make_bundle, store):
    monkeypatch.setattr(page, "profiled_rows", lambda options: None)
    monkeypatch.setattr(page, "profile_files", lambda entry, run: (entry.name, run))
    bundle = make_bundle()
    files = page._Files(store, [{"case": bundle.name}])
    assert files.of({"case": bundle.name, "run": "3"}) == (bundle.name, "3") and files.of({"case": bundle.name}) == (
        bundle.name,
        None,
    )
    assert (
        files.of({"case": bundle.name, "rank": 0}) is page.OF_A_RANK and files.of({"case": "other"}) is page.NO_TIMELINE
    )
    (tmp_path / "x.json").write_text("{}")
    one = page._Files(tmp_path / "x.json", [{"case": "c"}]).of({"case": "whatever"})
    assert (one.profile, one.trace) == (tmp_path / "x.json", None)
    assert page._Files(None, [{"case": "c"}]).of({"case": "c"}) is page.NO_TIMELINE
    assert not page._is_trace(None) and not page._is_trace(tmp_path / "none")


def test_whole_profiles_are_viewed_and_what_goes_wrong_keeps_the_traces(store, monkeypatch):
    asked = []

    def profiled(options):
        asked.append(options)
        raise WrongCall("no tool")

    monkeypatch.setattr(page, "profiled_rows", profiled)
    page._make_whole_profiles(store, ["a", "b"])
    assert (asked[0].only, asked[0].steps, asked[0].detail, asked[0].directory) == (("a", "b"), "view", True, store)


def test_a_trace_and_a_whole_profile_are_compared_as_traces(monkeypatch):
    monkeypatch.setattr(page, "_is_trace", lambda path: path is not None and path.suffix == ".ntff")
    read = []
    monkeypatch.setattr(page, "timeline_or_problem", lambda files: read.append(files.profile) or f"no {files.profile}")
    trace, whole = ProfileFiles(Path("t.ntff"), Path("t.ntff")), ProfileFiles(Path("w.json"), Path("w.ntff"))
    assert page._case("l", {"A": trace, "B": whole}).problem == "A: no t.ntff; B: no w.ntff"
    assert page._case("l", {"A": whole, "B": whole}).problem == "A: no w.json; B: no w.json"
    assert (
        "give both as one" in page._case("l", {"A": trace, "B": ProfileFiles(Path("w.json"))}).problem
        and len(read) == 4
    )


@pytest.mark.parametrize(
    ("sides", "heads"), [(1, ["case", "metric"]), (2, ["case", "side", "metric", "A", "of the side", "ratio", "is"])]
)
def test_several_sides_have_a_column_that_says_which(monkeypatch, sides, heads):
    shown = {}
    monkeypatch.setattr(
        page, "_Files", lambda path, records: SimpleNamespace(of=lambda record: ProfileFiles(problem=f"{path}"))
    )
    monkeypatch.setattr(
        page,
        "document",
        lambda title, cases, grid, links: shown.update(title=title, cases=cases, grid=grid, links=links) or b"page",
    )
    before = {"case": "c", "total_time_us": 1.0}
    pairings = [Pairing([Pair("l", before, {"case": "c", "total_time_us": 2.0})]) for _ in range(sides)]
    assert (
        page.comparison_page(
            [grid(["l", "m"], ["", "n"])] * sides,
            pairings,
            Path("a"),
            [Path(x) for x in "bc"[:sides]],
        )
        == b"page"
    )
    assert [column.head for column in shown["grid"].columns] == heads and shown["title"] == "neff-bench compare"
    lines = (
        [["l", "m"], ["l", "n"]] if sides == 1 else [["l", "B", "m"], ["l", "B", "n"], ["l", "C", "m"], ["l", "C", "n"]]
    )
    assert shown["grid"].lines == lines and shown["links"] == [0] * len(lines)
    (one,) = shown["cases"]
    assert one.name == ("l" if sides == 1 else "c") and one.problem == "; ".join(
        f"{letter}: {place}" for letter, place in zip("ABC", "abc"[: sides + 1], strict=False)
    )


def test_cases_beyond_those_that_differ_most_are_left_out(monkeypatch):
    monkeypatch.setattr(page, "TIMELINES_MAX", 1)
    monkeypatch.setattr(
        page, "_Files", lambda path, records: SimpleNamespace(of=lambda record: ProfileFiles(problem=str(len(records))))
    )
    shown = []
    monkeypatch.setattr(page, "document", lambda title, cases, grid, links: shown.extend((cases, links)) or b"")
    pairs = [
        Pair(name, {"case": name, "total_time_us": 1.0}, {"case": name, "total_time_us": after})
        for name, after in (("a", 2.0), ("b", 9.0), ("c", 0.5))
    ]
    page.comparison_page([grid(["b", "m"], ["x", "n"])], [Pairing(pairs)], Path("a"), [Path("b")])
    assert [case.problem for case in shown[0]] == [page.LEFT_OUT, "A: 1; B: 1", page.LEFT_OUT] and shown[1] == [1, None]
