"""`profile-neffs --output x.html` and `neff-bench compare --output x.html`: the rows with their timelines."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from neff_bench.stage2_profile.cli import profile
from neff_bench.stage2_profile.compare import page
from neff_bench.stage2_profile.compare.cli import compare
from neff_bench.stage2_profile.metrics.rows import Row
from neff_bench.stage2_profile.report import page as report
from neff_bench.stage2_profile.report.files import ProfileFiles, left_out, slowest
from neff_bench.stage2_profile.report.page import report_page, rooflines_of, roots_of
from neff_bench.viewer.page.plots import roofline_svg
from neff_bench.viewer.roofline import Point, roofline
from tests.viewer.page.profiles import rows_in, simulated_json


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A directory with a profile from elsewhere, and a file that is damaged."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "left").mkdir()
    profile = simulated_json(tmp_path / "left", tiles=1)
    (tmp_path / "left" / "file.neff").unlink()
    (tmp_path / "left" / "bad.ntff").write_bytes(b"\x06" + bytes(300))
    return profile


def events_of(page):
    return int(re.search(r'neff-bench-events" content="(\d+)"', page.read_text())[1])


def test_a_page_has_the_rows_and_every_event(store, tmp_path):
    done = CliRunner().invoke(profile, ["left", "--parse-only", "--output", "x.html"])
    text = (tmp_path / "x.html").read_text()
    assert done.exit_code == 1 and done.stdout == ""  # of the damaged one
    assert events_of(tmp_path / "x.html") == rows_in(store)
    assert "bad.ntff" in text and "No timeline" in text and 'class="point simulated"' in text


def test_a_page_is_no_list_of_hot_lines(store):
    done = CliRunner().invoke(profile, ["left", "--parse-only", "--hot", "3", "--output", "x.html"])
    assert done.exit_code == 2 and "a page has all lines" in done.stderr


def test_two_profiles_stand_over_each_other(store, tmp_path):
    (tmp_path / "other").mkdir()
    other = simulated_json(tmp_path / "other", tiles=2)
    done = CliRunner().invoke(compare, [str(store), str(other), "--output", "diff.html"])
    assert done.exit_code == 1 and done.stdout == ""  # twice the work is worse
    assert events_of(tmp_path / "diff.html") == rows_in(store) + rows_in(other) != 2 * rows_in(store)
    text = (tmp_path / "diff.html").read_text()
    assert all(f"Difference by {what}" in text for what in ("engine and queue", "source line", "counter"))
    assert "<title>A: " in text and "<title>B: " in text  # of the roofline


def test_up_to_five_profiles_stand_over_each_other(store, tmp_path):
    (tmp_path / "other").mkdir()
    other = simulated_json(tmp_path / "other", tiles=2)
    done = CliRunner().invoke(compare, [str(store), str(other), str(store), "--output", "diff.html"])
    text = (tmp_path / "diff.html").read_text()
    assert done.exit_code == 1 and "worse" in done.stderr  # B has twice the work
    assert events_of(tmp_path / "diff.html") == 2 * rows_in(store) + rows_in(other)
    assert text.count('<article class="case"') == 1 and "<dt>C total</dt>" in text
    assert "B takes" in text and "C takes 1.0000 times" in text
    for words in ([str(store)] * 6, [str(store)] * 3):
        done = CliRunner().invoke(compare, [*words, *(["--output", "x.html"] if len(words) > 5 else [])])
        assert done.exit_code == 2 and "two are compared, or up to 5 on a page" in done.stderr


def test_a_comparison_of_many_has_the_timelines_of_those_that_differ_most(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = [{"case": f"case{n:02}", "total_time_us": 10.0 + n, "status": "profiled"} for n in range(22)]
    after = [
        {**row, "total_time_us": factor * row["total_time_us"]} for row, factor in zip(before, [2, 0.5] + 20 * [1])
    ]
    (tmp_path / "a.json").write_text(json.dumps(before))
    (tmp_path / "b.json").write_text(json.dumps(after))
    CliRunner().invoke(compare, ["a.json", "b.json", "--output", "diff.html"])
    articles = re.split("<article", (tmp_path / "diff.html").read_text())[1:]
    assert [number for number, text in enumerate(articles) if "cases that differ most" in text] == [2, 3]
    assert len(articles) == 22


def test_rows_without_a_timeline_are_compared_all_the_same(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.json").write_text('[{"case": "x", "total_time_us": 2.0, "status": "profiled"}]')
    done = CliRunner().invoke(compare, ["a.json", "a.json", "--output", "diff.html"])
    assert done.exit_code == 0 and "No timeline: A:" in (tmp_path / "diff.html").read_text()


def test_a_row_without_files_says_why(tmp_path):
    rows = [Row(case="x", status="failed", reason="not built: <b>"), Row(case="y", status="unprofiled")]
    page = report_page(tmp_path, rows, [ProfileFiles(problem="no"), ProfileFiles()]).decode()
    assert "No timeline: not built: &lt;b&gt;" in page and "No timeline: nothing was profiled" in page


def test_of_many_cases_the_slowest_have_a_timeline_and_the_others_say_how_to_get_one(tmp_path):
    rows = [Row(case=f"case {number}", status="profiled", total_time_us=float(number)) for number in range(22)]
    shown = slowest([*rows, Row(case="lost", status="failed")])
    assert shown == {f"case {number}" for number in range(2, 22)}
    page = report_page(tmp_path, rows[:1], [left_out(tmp_path, rows[0])]).decode()
    assert "No timeline: this page has those of the 20 slowest cases" in page
    assert "--only &#x27;case 0&#x27; --output page.html writes this one" in page


def test_the_name_of_a_plot_lists_few_points():
    points = [Point(f"case {number}", 20.0, 1e13, True) for number in range(5000)]
    drawn = roofline_svg(roofline("trn2", 1), points)
    assert drawn.count("<circle") == 5000 and "4980 more" in drawn and drawn.count("case 4999") == 1


def test_rows_of_one_target_stand_under_one_roof(tmp_path):
    row = Row(
        case="x",
        status="profiled",
        target="trn2",
        lnc=2,
        model_flops=10**9,
        total_time_us=10.0,
        arithmetic_intensity=20.0,
    )
    rows = [
        row,
        replace(row, case="y", source="simulated"),
        replace(row, case="z", target="trn1"),
        replace(row, case="w", model_flops=None),
    ]
    assert [(roofs.target, [one.label for one in points]) for roofs, points in rooflines_of(rows)] == [
        ("trn2", ["x", "y"]),
        ("trn1", ["z"]),
    ]
    page = report_page(tmp_path, rows, [ProfileFiles()] * 4).decode()
    assert page.count("Roofline of the rows") == 2 and "y: 20 FLOP/byte, 100 TFLOPS, simulated" in page


def test_source_files_are_found_where_the_kernel_was_compiled(tmp_path):
    (tmp_path / "kernel.json").write_text('{"path": ["/kernels"]}')
    assert Path("/kernels") in roots_of(ProfileFiles(bundle=tmp_path))
    (tmp_path / "kernel.json").write_text('{"path": 3}')
    assert roots_of(ProfileFiles(bundle=tmp_path)) == (tmp_path / "sources", *roots_of(ProfileFiles()))


def test_a_trace_is_not_held_against_a_whole_profile(store, tmp_path, monkeypatch):
    trace = tmp_path / "trace.ntff"
    trace.write_bytes((tmp_path / "left" / "bad.ntff").read_bytes())
    files = ProfileFiles(store), ProfileFiles(trace, trace)
    case = page._case("x", dict(zip("AB", files)))
    assert case.problem == "one side is a trace, the other a whole profile without its trace; give both as one"


BOUND = {
    "model_flops": 1000,
    "total_time_us": 10.0,
    "arithmetic_intensity": 2.0,
    "target": "trn2",
    "lnc": 1,
    "dtype": "bfloat16",
}


@pytest.mark.parametrize(
    ("changes", "point"),
    [
        ({}, Point("c", 2.0, 1e8, False)), ({"source": "simulated"}, Point("c", 2.0, 1e8, True)), ({"model_flops": None}, None), ({"total_time_us": None}, None), ({"total_time_us": 0.0}, None),
        ({"arithmetic_intensity": None}, None),
    ],
)  # fmt: skip
def test_a_row_has_a_point_where_its_flops_its_time_and_its_bytes_are_known(changes, point):
    assert report._point(Row(case="c", status="profiled", **{**BOUND, **changes})) == point


def test_the_roof_of_a_row_is_that_of_its_chip_lnc_and_dtype():
    row = Row(case="c", status="profiled", **BOUND)
    assert report._roofs(row) == roofline("trn2", 1, "bfloat16") != report._roofs(replace(row, lnc=2))
    assert (
        report._roofs(replace(row, target="trn2/x")) == report._roofs(row)
        and report._roofs(replace(row, target=None)) is None
    )
    groups = rooflines_of(
        [row, replace(row, case="d"), replace(row, lnc=2), replace(row, target=None), replace(row, model_flops=None)]
    )
    assert [
        (roof == roofline("trn2", lnc), [point.label for point in points])
        for lnc, (roof, points) in zip((1, 2), groups, strict=True)
    ] == [(True, ["c", "d"]), (True, ["c"])]


def test_a_case_without_a_timeline_says_why(tmp_path):
    row = Row(case="c", status="failed", reason="broke")
    assert (
        report._case(row, ProfileFiles(problem="x")).problem == "broke"
        and report._case(replace(row, reason=None), ProfileFiles(problem="x")).problem == "x"
    )
    assert report.timeline_or_problem(
        ProfileFiles()
    ) == "nothing was profiled" and "none.json" in report.timeline_or_problem(ProfileFiles(tmp_path / "none.json"))


def test_a_case_has_its_timeline_its_reason_and_its_point(store):
    row = Row(case="c", status="profiled", check="suspect", reason="odd", **BOUND)
    found = report._case(row, ProfileFiles(store))
    assert (found.name, found.problem, len(found.sides), found.sides[0].letter) == ("c", None, 1, "")
    assert "suspect: odd" in found.notes and found.roofs == report._roofs(row) and found.points == (report._point(row),)
    bare = report._case(Row(case="c", status="profiled"), ProfileFiles(store))
    assert bare.points and bare.roofs is not None and not any(note.startswith("profiled: ") for note in bare.notes)


def test_rows_of_ranks_lead_to_no_timeline_of_their_own(tmp_path, monkeypatch):
    told = []
    monkeypatch.setattr(
        report,
        "document",
        lambda title, cases, grid, links, roofs: told.extend((title, links, len(list(cases)))) or b"",
    )
    rows = [
        Row(
            case="a",
            status="profiled",
            ranks=2,
            by_rank=(Row(case="a0", status="profiled"), Row(case="a1", status="profiled")),
        ),
        Row(case="b", status="profiled"),
    ]
    report_page(tmp_path, rows, [ProfileFiles(), ProfileFiles()])
    assert told == [f"neff-bench {tmp_path.name}", [0, None, None, 1], 2]
