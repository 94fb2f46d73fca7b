"""Cells of the table of rows, and what is said under it."""

import pytest

from neff_bench.neffs.findings import Finding
from neff_bench.stage2_profile.metrics.rows import Row
from neff_bench.stage2_profile.report.layout import (
    SHAPES_MAX,
    _cases,
    _models,
    _number,
    _percent,
    answer,
    cells,
    html_of,
    notes,
    state,
    table_columns,
)
from neff_bench.terminal.answer import HIDDEN

FINDING = Finding(kind="race", text="two cores write y", file="k.py", line=3)


def row(**changes):
    fields = {
        "case": "c",
        "status": "profiled",
        "source": "measured",
        "tool": "neuron-profile 2",
        "total_time_us": 50.0,
    }
    return Row(**{**fields, **changes})


def cell(name, clock="profile", **changes):
    names = [column.name or column.head for column in table_columns(clock)]
    return cells(row(**changes), clock)[names.index(name)]


@pytest.mark.parametrize(
    ("name", "changes", "text"),
    [
        ("kernel", {}, "c"), ("kernel", {"kernel": "mlp"}, "mlp"), ("kernel", {"kernel": "mlp", "kernel_path": "TKG"}, "mlp TKG"),
        ("implementation", {}, ""), ("implementation", {"implementation": "nki"}, "nki"),
        ("dims", {"dims": (("M", 128), ("K", 4))}, "M128 K4"), ("dims", {"shapes": "128x4 4"}, "128x4 4"),
        ("dims", {"shapes": "x" * SHAPES_MAX}, "x" * SHAPES_MAX), ("dims", {"shapes": "x" * (SHAPES_MAX + 1)}, "x" * (SHAPES_MAX - 2) + ".."),
        ("dims", {"ranks": 4}, "4 ranks"), ("dims", {"ranks": 4, "slowest_rank": 0}, "4 ranks, slowest 0"),
        ("dims", {"ranks": 4, "rank": 0, "shapes": "8"}, "8 rank 0 of 4"), ("dims", {"rank": 1}, ""),
        ("dtype", {"dtype": "bfloat16"}, "bf16"), ("dtype", {"dtype": "strange"}, "strange"), ("dtype", {}, ""),
        ("lnc", {"lnc": 2}, "2"), ("lnc", {}, ""), ("target", {"target": "trn2"}, "trn2"), ("target", {}, ""),
        ("total_time_us", {}, "50.00"), ("total_time_us", {"total_time_low_us": 1.0}, "50.000"), ("total_time_us", {"total_time_us": None}, "-"),
        ("tensor_active_us", {"tensor_active_us": 12.5}, "25.0"), ("tensor_active_us", {"tensor_active_us": 12.5, "total_time_us": None}, "-"),
        ("check", {}, "profiled"), ("check", {"check": "passed"}, "passed"),
        ("marks", {}, ""), ("marks", {"source": "simulated"}, "~"), ("marks", {"source": "simulated", "total_time_low_us": 1.0}, ""),
        ("marks", {"source": "simulated", "total_time_us": None}, ""),
        ("marks", {"source": "simulated", "time_error": "the farthest of 9 rows: x; counts are not exact"}, "~*"),
        ("marks", {"time_error": "the farthest of 9 rows: x; counts are not exact"}, ""),
    ],
)  # fmt: skip
def test_each_cell_says_what_the_row_knows(name, changes, text):
    assert cell(name, **changes) == text


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [(None, 2, "-"), (0.0, 2, "0.00"), (99999.49, 2, "99999.49"), (99999.5, 2, "100000"), (123456.7, 1, "123457"), (5, 0, "5")],
)  # fmt: skip
def test_a_large_number_has_no_digits_behind_the_point(value, digits, text):
    assert _number(value, digits) == text


@pytest.mark.parametrize(
    ("part", "total", "text"),
    [(1.0, 8.0, "12.5"), (None, 8.0, "-"), (1.0, None, "-"), (1.0, 0.0, "-"), (0.0, 8.0, "0.0")],
)
def test_a_share_needs_both_numbers(part, total, text):
    assert _percent(part, total) == text


def test_a_line_names_one_case_or_counts_them():
    assert [_cases(["a"], 3), _cases(["a", "b"], 3), _cases(["a", "b"], 2), _cases(["a"], 1)] == [
        "a", "2 of 3 cases (a, ...)", "all 2 cases", "a",
    ]  # fmt: skip


def test_columns_of_the_clock_that_is_asked_for_are_shown_and_the_others_hidden():
    for clock, first in (("profile", "total_time_us"), ("execution", "execution_time_us")):
        columns = {column.name or column.head: column for column in table_columns(clock)}
        assert columns[first].head and columns[first].rank == 0 and columns[first].right and columns[first].meaning
        assert columns["tensor_active_us"].meaning.endswith(", in percent of the total time")
        assert not columns[first].meaning.endswith("percent of the total time")
    hidden = [
        {column.name: column for column in table_columns(clock)}[name].rank
        for clock, name in (("execution", "total_time_us"), ("profile", "execution_time_us"))
    ]
    assert hidden == [HIDDEN, HIDDEN]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([row()], ["Measured with neuron-profile 2."]),
        ([row(tool=None)], ["Measured with a tool that gives no name."]),
        ([row(tool="NTFF version 6")], ["Measured on a device; read from its trace (NTFF version 6)."]),
        ([row(tool="NTFF version 6"), row(tool="NTFF version 5")], ["Measured on a device; read from traces (NTFF version 5, NTFF version 6)."]),
        ([row(), row(tool="NTFF version 6")], ["Measured with NTFF version 6, neuron-profile 2."]),
        ([row(executions=1)], ["Measured with neuron-profile 2."]),
        ([row(executions=2, total_time_iqr_us=0.5), row(executions=5)],
         ["Measured with neuron-profile 2; medians over 5 executions, largest interquartile range of the total 0.50 us."]),
        ([row(), row(case="s", source="simulated", tool="neuron-sim 1", model="trn2-2", total_time_low_us=1.0)],
         ["Measured with neuron-profile 2; rows that are simulated are not comparable with them: s.",
          "SIMULATED by neuron-sim (trn2-2): instructions and bytes are exact.",
          "(range): held on hardware for 8 of 10 kernels (neff-bench explain range)."]),
        ([row(source="simulated", tool="NTFF version 4", model="m", total_time_low_us=1.0)],
         ["SIMULATED by neuron-sim (m): instructions and bytes are exact.",
          "(range): held on hardware for 8 of 10 kernels (neff-bench explain range)."]),
        ([row(status="failed", source=None, reason="broke", total_time_us=None)], ["failed: c: broke"]),
        ([row(status="failed", source=None, reason="broke", check="wrong"), row(status="failed", source=None, reason="broke", check="wrong")],
         ["wrong: all 2 cases: broke"]),
    ],
)  # fmt: skip
def test_what_is_said_under_the_numbers(rows, said):
    assert notes(rows) == said


def test_the_table_of_a_notebook_is_escaped():
    html = html_of([row(case="<b>"), row(kernel="k")])
    assert "<td>&lt;b&gt;</td>" in html and html.endswith("<p>Measured with neuron-profile 2.</p>")
    assert html.count("<tr>") == 3 and state(row()) == "profiled"


def test_columns_keep_their_place_on_a_narrow_terminal_by_what_they_say():
    columns = {column.name or column.head: column for column in table_columns("profile")}
    assert [
        columns[name].rank
        for name in (
            "mfu_percent",
            "tensor_active_us",
            "dma_active_us",
            "vector_active_us",
            "scalar_active_us",
            "gpsimd_active_us",
        )
    ] == [1, 2, 3, 4, 5, 6]
    assert columns["instruction_count"].rank in (6, HIDDEN) and {
        column.rank for column in columns.values() if not column.right
    } == {0}
    assert {name for name, column in columns.items() if column.bound} == {"total_time_low_us", "total_time_high_us"}
    assert {name for name, column in columns.items() if column.common} == {
        "implementation",
        "dtype",
        "target",
        "lnc",
        "check",
    }
    assert {name for name, column in columns.items() if column.wraps} == {"kernel", "dims"}
    assert {name for name, column in columns.items() if not column.right} == {
        "kernel",
        "implementation",
        "dims",
        "dtype",
        "target",
        "lnc",
        "marks",
        "check",
    }
    assert {column.name for column in table_columns("execution") if column.bound} == {
        "execution_time_low_us",
        "execution_time_high_us",
    }


@pytest.mark.parametrize(
    ("name", "changes", "text"),
    [
        ("mfu_percent", {"mfu_percent": 12.34}, "12.3"), ("compile_time_s", {"compile_time_s": 1.234}, "1.23"), ("dma_packet_count", {"dma_packet_count": 1234}, "1234"),
        ("total_active_time_us", {"total_active_time_us": 1.239}, "1.24"), ("mfu_peak_tflops", {"mfu_peak_tflops": 91.76}, "91.8"), ("arithmetic_intensity", {"arithmetic_intensity": 2.55}, "2.5"),
    ],
)  # fmt: skip
def test_a_number_has_as_many_digits_as_its_unit_deserves(name, changes, text):
    assert cell(name, **changes) == text


SIMULATED = {"source": "simulated", "tool": "neuron-sim 1", "model": "m", "total_time_low_us": 1.0}
FAR = "the farthest of 9 rows: no matmul; more"


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([row(**SIMULATED, time_error=FAR)], ["SIMULATED by neuron-sim (m): its counts may not be exact.", "(range): as wide as the largest errors yet seen (neff-bench explain range).", "* widest range: no matmul."]),
        ([row(**SIMULATED, time_error=FAR), row(**SIMULATED)],
         ["SIMULATED by neuron-sim (m): instructions, bytes exact unless *.", "(range): held on hardware for 8 of 10 kernels, not * (neff-bench explain range).", "* widest range: no matmul."]),
        ([row(**{**SIMULATED, "model": None, "total_time_low_us": None})],
         ["SIMULATED by neuron-sim (model not recorded): its exactness is not known.", "~ no range: the trace does not say how far off its times are."]),
        ([row(**{**SIMULATED, "total_time_low_us": None}), row(**SIMULATED, time_error=FAR)],
         ["SIMULATED by neuron-sim (m): instructions, bytes exact unless *.", "(range): as wide as the largest errors yet seen (neff-bench explain range).", "~ no range, * widest range: for several reasons, see time_error in --format json."]),
        ([row(**SIMULATED, uncompared_operations="iota; sort"), row(**SIMULATED, uncompared_operations="iota"), row(**SIMULATED, time_error=FAR, uncompared_operations="never")],
         ["SIMULATED by neuron-sim (m): instructions, bytes exact unless *.", "(range): held on hardware for 8 of 10 kernels, not * (neff-bench explain range); never compared with it: iota and 1 more.", "* widest range: no matmul."]),
        ([row(**{**SIMULATED, "model": "trn1-9"}), row(**{**SIMULATED, "model": "trn2-9"}), row(**{**SIMULATED, "tool": None, "model": "trn2-9"})],
         ["SIMULATED by neuron-sim (model 9): instructions and bytes are exact.", "(range): held on hardware for 8 of 10 kernels (neff-bench explain range)."]),
        ([row(**{**SIMULATED, "tool": "other 2"}), row(**SIMULATED)],
         ["SIMULATED by neuron-sim (m), other (m): instructions and bytes are exact.", "(range): held on hardware for 8 of 10 kernels (neff-bench explain range)."]),
    ],
)  # fmt: skip
def test_what_is_said_of_what_is_simulated(rows, said):
    found = notes(rows)
    assert [line.replace("and 1 more", "").split("iota")[0] for line in found] == [
        line.replace("and 1 more", "").split("iota")[0] for line in said
    ]


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ({"trn2-9"}, "trn2-9"),
        ({"trn1-9", "trn2-9"}, "model 9"),
        ({"trn1-9", "trn2-8"}, "trn1-9, trn2-8"),
        ({"b", "a"}, "a, b"),
        ({"a", "trn2-9"}, "a, trn2-9"),
    ],
)
def test_models_that_differ_in_the_chip_alone_are_one(names, said):
    assert _models(names) == said


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"reason": "broke", "check": "wrong"}, ["wrong: c: broke"]), ({"findings": (FINDING,)}, [f"finding: c: {FINDING}"]), ({"findings": (FINDING,), "reason": f"{FINDING}; more", "check": "suspect"}, [f"suspect: c: {FINDING}; more"]),
        ({"warnings": ("odd",)}, ["warning: c: odd"]), ({"findings": (FINDING,), "reason": "other"}, ["profiled: c: other", f"finding: c: {FINDING}"]),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_before_where_the_numbers_come_from(changes, said):
    assert notes([row(**changes)]) == [*said, "Measured with neuron-profile 2."]


def test_an_answer_has_the_rows_of_ranks_and_says_of_what_shares_are():
    ranks = (row(case="c.rank0", rank=0, ranks=2),)
    found = answer([row(ranks=2, by_rank=ranks)])
    assert (
        len(found.records) == len(found.document) == len(found.grids[0].lines) == 2
        and found.grids[0].about == "engines, DMA: % of total us"
    )
    assert (
        answer([row(total_time_us=None)]).grids[0].about == ""
        and answer([row(total_time_us=None), row()]).grids[0].about != ""
    )
    assert "dims" in found.document[0] and found.records[0]["case"] == "c" and "case" in found.fields
