from __future__ import annotations

import csv
import io
import json

import pytest

from neff_bench.stage2_profile import directory
from neff_bench.stage2_profile.metrics.rows import Row
from neff_bench.stage2_profile.report import files
from neff_bench.stage2_profile.report.layout import _models, answer
from neff_bench.terminal.formats import Page
from neff_bench.terminal.formats import render as render_answer


def render(rows, format, **page) -> str:
    return render_answer(answer(rows), format, Page(**page))


def row(**changes) -> Row:
    fields = {
        "case": "mlp_nkilib_b1_s128_h1024_i512_bfloat16_trn2_lnc2",
        "kernel": "mlp",
        "implementation": "nkilib",
        "dims": (("b", 1), ("s", 128), ("h", 1024), ("i", 512)),
        "dtype": "bfloat16",
        "target": "trn2",
        "lnc": 2,
        "source": "simulated",
        "status": "profiled",
        "check": "passed",
        "total_time_us": 56.0,
        "tensor_active_us": 14.0,
        "mfu_percent": 4.57,
        "mfu_peak_tflops": 157.2864,
        "tool": "neuron-sim 0.1.0+sim",
        "model": "7",
        "time_error": "within 12 %",
    }
    return Row(**{**fields, **changes})


def test_the_table_shows_times_and_engines_in_percent_of_the_total():
    line = next(line for line in render([row()], "table").splitlines() if "s128" in line)
    words = line.split()
    assert words[:5] == ["mlp", "b1", "s128", "h1024", "i512"]
    assert "56.00" in words
    assert "25.0" in words


@pytest.mark.parametrize(
    "wide",
    [
        {"dims": (("b", 64), ("s", 16384), ("h", 16384), ("i", 65536)), "total_time_us": 123456789.0},
        {"reason": "x" * 500, "status": "failed"},
        {"kernel": "linear_projection", "implementation": "neuronxcc"},
        {"warnings": ("a warning of " + "many words " * 30,)},
    ],
)
def test_the_table_fits_120_columns(wide):
    assert max(len(line) for line in render([row(), row(**wide)], "table").splitlines()) <= 120


@pytest.mark.parametrize("format", ["table", "csv", "json", "md"])
def test_the_code_path_of_the_kernel_is_told(format):
    assert "TKG" in render([row(kernel_path="TKG")], format)
    assert "TKG" not in render([row()], format)


@pytest.mark.parametrize("format", ["table", "md"])
def test_what_is_simulated_says_so_with_model_and_error(format):
    text = " ".join(render([row()], format).split())
    assert "SIMULATED by neuron-sim (7): instructions and bytes are exact." in text


def test_a_row_without_a_range_or_with_inexact_counts_is_marked_and_the_foot_says_why():
    known = {"total_time_low_us": 43.0, "total_time_high_us": 80.0, "case": "known"}
    error = "-60 to +90 % on hardware, the farthest of 9 rows of 3 repositories: the simulator's own compiler made it, AWS's may make another; counts are not exact"
    lines = render([row(**known), row(time_error=error)], "table").splitlines()
    assert [line for line in lines if "56.0 (43-80)" in line]
    assert [line for line in lines if "56.0" in line and "~*" in line]
    assert lines[-1] == "~ no range, * widest range: the simulator's own compiler made it, AWS's may make another."
    assert "exact unless *" in lines[-3]


@pytest.mark.parametrize(
    ("errors", "said"),
    [
        ([None], "held on hardware for 8 of 10 kernels ("),
        ([None, "the model was never compared"], "held on hardware for 8 of 10 kernels, not * ("),
        (["the model was never compared"], "as wide as the largest errors yet seen ("),
    ],
)
def test_the_foot_promises_eight_of_ten_only_to_rows_whose_range_does(errors, said):
    known = {"total_time_low_us": 43.0, "total_time_high_us": 80.0}
    text = render(
        [row(**known, time_error=why and f"-60 to +90 %, the farthest of 9 rows: {why}") for why in errors], "table"
    )
    assert said in text and ("*" in text) == (errors != [None])


@pytest.mark.parametrize(
    ("operations", "said"),
    [
        (("", None), "(neff-bench explain range)."),
        (("reciprocal on Vector", None), "(neff-bench explain range); never compared with it: reciprocal on Vector."),
        (
            ("iota on GpSimd; a on Vector", "iota on GpSimd; b on Vector"),
            "; never compared with it: iota on GpSimd and 2 more.",
        ),
    ],
)
def test_the_foot_names_what_was_never_compared_with_hardware(operations, said):
    known = {"total_time_low_us": 43.0, "total_time_high_us": 80.0}
    rows = [row(**known, uncompared_operations=one) for one in operations]
    marked = row(**known, uncompared_operations="all_reduce", time_error="-60 to +90 %, the farthest of 9 rows: x")
    plain, both = (render(some, "table", width=200).splitlines() for some in (rows, [*rows, marked]))
    assert plain[-1].endswith(said) and plain[-2].startswith("SIMULATED")
    assert both[-2] == plain[-1].replace("kernels", "kernels, not *")


def test_the_foot_over_marked_rows_alone_calls_nothing_exact():
    text = render([row(time_error="-60 to +90 %, the farthest of 9 rows: the model was never compared")], "table")
    assert "its counts may not be exact." in text and "exact unless" not in text


def test_counts_of_a_trace_that_names_no_model_are_not_called_exact():
    assert "(model not recorded): its exactness is not known" in (text := render([row(model=None)], "table"))
    assert "are exact" not in text


def test_several_reasons_and_the_models_of_several_chips_take_one_line_each():
    said = "-60 to +90 % on hardware, the farthest of 9 rows of 3 repositories: {}; counts are not exact"
    marked = [
        row(case=reason, time_error=said.format(reason), model=f"{chip}-7.aa")
        for chip, reason in (("trn1", "one"), ("trn2", "other"))
    ]
    lines = render(marked, "table").splitlines()
    assert lines[-1] == "~ no range, * widest range: for several reasons, see time_error in --format json."
    assert "(model 7.aa)" in lines[-2]


def test_a_time_with_a_range_is_rounded_once():
    shown = row(total_time_us=41.947448, total_time_low_us=31.0, total_time_high_us=58.0)
    assert "41.9 (31-58)" in render([shown], "table")


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize(
    "error",
    [
        None,
        "-60 to +90 %, the farthest of 9 rows: the simulator's own compiler made it, AWS's may make another; counts are not exact",
    ],
)
def test_a_row_with_a_name_of_forty_characters_takes_one_line_and_the_foot_three(width, error):
    long = {
        "kernel": "my_attention_kernels.flash_attention_fwd",
        "total_time_low_us": 43.0,
        "total_time_high_us": 80.0,
        "time_error": error,
    }
    lines = render(
        [row(**long, model="trn2-2.cb36e931", tool="neuron-sim 0.2.0", dims=(("M", 1024), ("K", 1024), ("N", 1024)))],
        "table",
        width=width,
    ).splitlines()
    (line,) = (line for line in lines if "my_attention_kernels.flash_attention_fwd" in line)
    assert "M1024 K1024 N1024 56.0 (43-80)" in line
    assert len(lines[lines.index("") :]) <= 1 + 3
    assert max(map(len, lines)) <= width


@pytest.mark.parametrize("format", ["table", "md"])
def test_simulated_rows_beside_measured_ones_are_named(format):
    text = " ".join(render([row(), row(case="other", source="measured", tool="neuron-explorer 2.32")], format).split())
    assert "not comparable with them: mlp_nkilib" in text
    assert "Measured with neuron-explorer 2.32" in text


@pytest.mark.parametrize("format", ["table", "csv", "json", "md"])
def test_a_failed_row_shows_its_reason_and_no_numbers(format):
    text = render([row(status="failed", check=None, total_time_us=None, reason="the core is busy")], format)
    assert "the core is busy" in " ".join(text.split())
    assert " 0.0" not in text


def test_unknown_is_empty_in_csv_and_null_in_json():
    (record,) = csv.DictReader(io.StringIO(render([row()], "csv")))
    assert record["hbm_read_bytes"] == ""
    assert json.loads(render([row()], "json"))[0]["hbm_read_bytes"] is None


def test_no_color_without_being_asked():
    assert "\x1b" not in render([row()], "table")
    assert "\x1b" in render([row()], "table", color=True)


def test_markdown_cells_cannot_break_the_table():
    assert "a\\|b" in render([row(status="failed", reason="a|b")], "md")


def test_a_dimension_with_the_name_of_a_column_does_not_take_its_place():
    (record,) = json.loads(render([row(dims=(("lnc", 7), ("M", 128)))], "json"))
    assert (record["lnc"], record["dims"]) == (2, {"lnc": 7, "M": 128})
    assert "dim_lnc" in render([row(dims=(("lnc", 7),))], "csv").splitlines()[0].split(",")


def test_what_is_said_of_several_rows_is_said_once():
    common = {"reason": "the bundle has no reference", "check": "unchecked"}
    rows = [row(case="a", **common), row(case="b", **common), row(case="c", warnings=("it spills",), model="8")]
    foot = render(rows, "table", width=120)
    assert "unchecked: 2 of 3 cases (a, ...): the bundle has no reference" in foot
    assert "warning: c: it spills" in foot
    assert "SIMULATED by neuron-sim (7, 8): instructions" in foot
    assert "unchecked: all 2 cases: the bundle has no reference" in render(rows[:2], "table", width=120)


def test_the_table_shows_the_time_by_the_clock_that_is_asked_for():
    times = {"execution_time_us": 49.3, "execution_time_low_us": 33.0, "execution_time_high_us": 72.0}
    line = render_answer(answer([row(**times)], "execution"), "table")
    assert "execution us" in line and "49.3 (33-72)" in line and "total us " not in line
    assert "execution us" not in render_answer(answer([row(**times)]), "table")


def test_a_page_of_many_cases_has_whole_profiles_made_of_the_slowest_alone(
    store, make_bundle, make_case, profile_neffs, tmp_path, monkeypatch
):
    monkeypatch.setattr(directory, "TIMELINES_MAX", 2)
    monkeypatch.setattr(files, "TIMELINES_MAX", 2)
    for rows in (2, 3, 4):
        make_bundle(make_case(dims=(("M", rows), ("K", 3), ("N", 4))))

    def whole():
        return len([*store.rglob("profile-*.json")])

    done = profile_neffs("--output", tmp_path / "x.html")
    assert (done.exit_code, whole()) == (0, 2)
    assert (tmp_path / "x.html").read_text().count("No timeline: this page has those") == 1
    profile_neffs("--only", "*", "--output", tmp_path / "x.html")
    assert whole() == 3


def test_a_row_says_in_a_line_its_time_or_why_it_has_none():
    assert repr(row(total_time_low_us=50.0, total_time_high_us=60.0)).endswith(
        "128 h1024 i512 bfloat16 trn2/2: 56.00 us (50.0 to 60.0), simulated, profiled, passed>"
    )
    assert ": no such NEFF, simulated, failed, passed>" in repr(
        row(total_time_us=None, status="failed", reason="no such NEFF")
    )


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ({"trn2-abc"}, "trn2-abc"),
        ({"trn2-abc", "trn1-abc"}, "model abc"),
        ({"trn2-abc", "trn1-def"}, "trn1-def, trn2-abc"),
        ({"old", "older"}, "old, older"),
    ],
)
def test_models_that_differ_in_the_chip_alone_are_one(names, said):
    assert _models(names) == said


@pytest.mark.parametrize(("times", "about"), [([None, None], ""), ([None, 56.0], "engines, DMA: % of total us")])
def test_what_percents_are_of_is_said_where_a_row_has_a_time(times, about):
    (grid,) = answer([row(total_time_us=time) for time in times]).grids
    assert grid.about == about
