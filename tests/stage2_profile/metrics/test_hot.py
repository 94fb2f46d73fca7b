from __future__ import annotations

import json
import re
from dataclasses import replace
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from neff_bench.errors import WrongCall
from neff_bench.stage2_profile.cli import profile
from neff_bench.stage2_profile.metrics.hot import (
    CONTROL,
    Event,
    Line,
    _waits,
    hot_instructions,
    hot_lines,
    parse_search,
    read_events,
)
from neff_bench.stage2_profile.metrics.hot_report import Hot, answer, cut
from neff_bench.stage2_profile.metrics.rows import Row

MATMUL = {"subgroup": "Tensor", "subgraph": "sg00", "opcode": "MATMUL", "operands": " moving=bfloat16 "}
KERNEL = {
    "summary": [{"total_time": 1e-5}],
    "metadata": [{}],
    "instruction": [
        {**MATMUL, "timestamp": 1000, "duration": 300, "evt_wait_time": 50, "nki_source_location": "/k/kernel.py:33"},
        {**MATMUL, "timestamp": 2000, "duration": 100, "nki_source_location": "/k/kernel.py:33"},
        {**MATMUL, "timestamp": 3000, "duration": 350, "nki_source_location": "/k/kernel.py:3"},
        {**MATMUL, "timestamp": 0, "duration": 250, "opcode": "EVENT_SEMAPHORE"},
        {"subgroup": "Vector", "opcode": "CAST", "timestamp": 5000, "duration": 70, "operands": ""},
        {"subgroup": "Unheard", "opcode": "X", "timestamp": 0, "duration": 9},
    ],
    "dma": [
        {"timestamp": 0, "duration": 500, "transfer_size": 4096, "variable": "weights", "queue_type": "data"},
        {"timestamp": 0, "duration": 400, "transfer_size": 4096, "variable": "weights", "queue_type": "data"},
        {"timestamp": 0, "duration": 20, "transfer_size": 16, "variable": "unknown", "queue_type": "instruction"},
    ],
}


@pytest.fixture
def kernel(tmp_path):
    path = tmp_path / "ntff.json"
    path.write_text(json.dumps(KERNEL))
    return path


def lines(path, search=None, count=10):
    return [
        (line.engine, line.where, line.count, line.time_us)
        for line in hot_lines(read_events(path), parse_search(search), count)
    ]


def test_lines_are_summed_by_engine_slowest_first_and_control_last(kernel):
    assert lines(kernel) == [
        ("Tensor", "/k/kernel.py:33", 2, pytest.approx(0.4)),
        ("Tensor", "/k/kernel.py:3", 1, pytest.approx(0.35)),
        ("Tensor", "(around the kernel)", 1, 0),
        ("Vector", "(CAST)", 1, pytest.approx(0.07)),
        ("DMA", "weights", 2, pytest.approx(0.9)),
        ("DMA", "(instruction fetch)", 1, pytest.approx(0.02)),
    ]


def test_percent_is_of_the_engine(kernel):
    first = hot_lines(read_events(kernel), parse_search("kernel.py:33"), 1)[0]
    assert first.percent == pytest.approx(100 * 400 / 750)
    assert first.wait_us == pytest.approx(0.05)


def test_an_instruction_that_only_waits_is_no_work_as_in_the_active_time_of_a_row(kernel):
    found = {
        line.where: line for line in hot_lines(read_events(kernel), parse_search(None), 9) if line.engine == "Tensor"
    }
    assert (found[CONTROL].time_us, found[CONTROL].wait_us) == (0, pytest.approx(0.25))


def test_a_wait_on_a_device_counts_from_when_its_engine_was_free(tmp_path):
    first = {**MATMUL, "timestamp": 500, "duration": 100, "evt_wait_time": 0, "nki_source_location": "k.py:1"}
    late = {**MATMUL, "timestamp": 2500, "duration": 100, "evt_wait_time": 1_900_000, "nki_source_location": "k.py:2"}
    path = tmp_path / "ntff.json"
    path.write_text(json.dumps({**KERNEL, "instruction": [first, late], "dma": []}))
    waits = {line.where: line.wait_us for line in hot_lines(read_events(path), parse_search(None), 9)}
    assert waits == {"k.py:1": 0, "k.py:2": pytest.approx(1.9)}


def test_count_is_for_each_engine(kernel):
    assert [entry[:2] for entry in lines(kernel, count=1)] == [
        ("Tensor", "/k/kernel.py:33"),
        ("Tensor", "(around the kernel)"),
        ("Vector", "(CAST)"),
        ("DMA", "weights"),
    ]


def test_instructions_are_listed_longest_first_without_control(kernel):
    events = hot_instructions(read_events(kernel), parse_search(None), 2)
    assert [(event.engine, event.duration_us) for event in events] == [
        ("Tensor", 0.35),
        ("Tensor", 0.3),
        ("Vector", 0.07),
        ("DMA", 0.5),
        ("DMA", 0.4),
    ]


@pytest.mark.parametrize(
    ("search", "found"),
    [
        ("kernel.py:33", {"/k/kernel.py:33"}),
        ("kernel.py:3", {"/k/kernel.py:3"}),
        ("kernel.py", {"/k/kernel.py:33", "/k/kernel.py:3"}),
        ("/:3+$/", {"/k/kernel.py:33", "/k/kernel.py:3"}),
        ("/CAST|weights/", {"(CAST)", "weights"}),
        ("bfloat16", {"/k/kernel.py:33", "/k/kernel.py:3", "(around the kernel)"}),
        ("a.b", set()),
        ("/./", {"/k/kernel.py:33", "/k/kernel.py:3"}),
    ],
)
def test_search_is_text_or_a_regular_expression(kernel, search, found):
    assert {entry[1] for entry in lines(kernel, search)} == found


def test_a_bad_expression_is_a_wrong_call():
    with pytest.raises(WrongCall, match="not a regular expression"):
        parse_search("/(/")


def run(*words):
    return CliRunner().invoke(profile, [str(word) for word in words])


def test_the_command_lists_lines_and_instructions(kernel):
    result = run(kernel.parent, "--hot", 5)
    assert result.exit_code == 0, result.output
    assert "slowest source lines" in result.stdout
    assert re.search(r"k/kernel.py:33\s+MATMUL\s+2\s+0.400\s+53.3", result.stdout)
    assert "slowest instructions" in result.stdout


def test_json_has_both_kinds(kernel):
    records = json.loads(run(kernel.parent, "--search", "kernel.py:33", "--format", "json").stdout)
    assert [(record["kind"], record["time_us"]) for record in records] == [
        ("line", 0.4),
        ("instruction", 0.3),
        ("instruction", 0.1),
    ]


def test_nothing_found_is_said(kernel):
    assert "nothing matches 'no such line'" in run(kernel.parent, "--search", "no such line").stdout


def test_a_profile_without_events_is_a_reason(tmp_path):
    (tmp_path / "ntff.json").write_text(json.dumps({"n_" + "0" * 40: {"total_time": 1e-5}}))
    result = run(tmp_path, "--hot", 1)
    assert "no whole profile" in result.stdout


def test_a_bad_expression_runs_nothing(kernel):
    result = run(kernel.parent, "--search", "/(/")
    assert result.exit_code == 2
    assert result.stdout == ""


def test_a_line_holds_what_its_helpers_did_with_the_innermost_beside_it(tmp_path):
    helper = {**MATMUL, "nki_source_location": "/k/tiles.py:7", "timestamp": 0, "duration": 300}
    rows = [
        {**helper, "nki_call_stack": ["/k/kernel.py:33"]},
        {**helper, "nki_call_stack": ["/k/kernel.py:40"], "timestamp": 500},
        {**MATMUL, "nki_source_location": "/k/kernel.py:33", "duration": 20, "timestamp": 900},
    ]
    path = tmp_path / "ntff.json"
    path.write_text(json.dumps({**KERNEL, "instruction": rows, "dma": []}))
    events = read_events(path)
    found = {line.where: (line.count, line.innermost) for line in hot_lines(events, parse_search(None), 10)}
    assert found == {
        "/k/tiles.py:7": (2, "/k/tiles.py:7"),
        "/k/kernel.py:33": (2, "/k/tiles.py:7"),
        "/k/kernel.py:40": (1, "/k/tiles.py:7"),
    }
    for text, count in (("kernel.py:40", 1), ("tiles.py:7", 2)):
        assert len([event for event in events if parse_search(text)(event)]) == count


def test_operands_are_cut_between_words():
    assert cut("a " * 40) == "a " * 29 + "a ..." and cut("short") == "short"


def test_a_measured_profile_without_source_lines_says_how_to_get_them():
    line = Line("Vector", "(COPY)", "(COPY)", "COPY", 1, 1.0, 100.0, 0.0)

    def said(where, source):
        hot = Hot(Row(case="c", status="profiled", source=source), [replace(line, where=where)], [])
        return any("--debug-info" in note for grid in answer([hot], None).grids for note in grid.notes)

    assert said("(COPY)", "measured")
    assert not said("kernel.py:33", "measured")
    assert not said("(COPY)", "simulated")


@pytest.mark.parametrize(("where", "told"), [("input2", True), ("kernel.py:33", False), (CONTROL, False)])
def test_what_stands_in_place_of_a_source_line_is_said(where, told):
    hot = Hot(Row(case="c", status="profiled"), [Line("DMA", where, where, "", 1, 1.0, 100.0, 0.0)], [])
    assert any("In place of a source line" in note for grid in answer([hot], None).grids for note in grid.notes) is told


def test_what_an_instruction_waits_for_does_not_take_the_place_of_its_operands():
    waits, tensors = "S[14] (qGpSimdDynamic)>=96 S[6] (Vector)++@complete", "src=fp32@0x4230[1,1,1,1][2,1,1,1]"
    assert cut(f"{waits} {tensors}") == tensors
    assert cut(waits) == waits


def test_an_engine_that_only_waited_has_no_percent():
    events = [Event("Tensor", "k.py:3", "MATMUL", "", "core 0", 0.0, 0.0, 5.0)]
    [line] = hot_lines(events, lambda event: True, 9)
    assert (line.percent, line.time_us, line.wait_us, line.count) == (0.0, 0.0, 5.0, 1)


def event_of(tmp_path, kind, **changes):
    plain = {
        "instruction": {**MATMUL, "timestamp": 1500, "duration": 250},
        "dma": {"timestamp": 1500, "duration": 250, "transfer_size": 16, "variable": "unknown", "queue_type": "data"},
    }
    path = tmp_path / "ntff.json"
    path.write_text(json.dumps({**KERNEL, "instruction": [], "dma": [], kind: [{**plain[kind], **changes}]}))
    (event,) = read_events(path)
    return event


@pytest.mark.parametrize(
    ("kind", "changes", "where", "located"),
    [
        ("instruction", {"nki_source_location": "k.py:3", "hlo_name": "add"}, "k.py:3", True), ("instruction", {"hlo_name": "add"}, "add", True), ("instruction", {}, "(MATMUL)", False), ("instruction", {"opcode": "EVENT_SEMAPHORE"}, CONTROL, False),
        ("dma", {"nki_source_location": "k.py:3", "variable": "w"}, "k.py:3", True), ("dma", {"variable": "w", "queue_name": "q"}, "w", False), ("dma", {"queue_name": "q"}, "q", False), ("dma", {}, "(data)", False),
        ("dma", {"queue_type": "instruction"}, "(instruction fetch)", False),
    ],
)  # fmt: skip
def test_an_event_lies_on_its_line_else_on_what_is_known_of_it(tmp_path, kind, changes, where, located):
    event = event_of(tmp_path, kind, **changes)
    assert (event.where, event.located, event.start_us) == (where, located, 1.5)
    assert event.duration_us == (0.0 if changes.get("opcode") == "EVENT_SEMAPHORE" else 0.25)


def test_what_an_event_says_of_itself(tmp_path):
    one = event_of(tmp_path, "instruction", nki_call_stack=["a.py:1"], evt_wait_time=70)
    assert (one.engine, one.opcode, one.operands, one.callers, one.wait_us) == (
        "Tensor",
        "MATMUL",
        "moving=bfloat16",
        ("a.py:1",),
        0.0,
    )
    assert event_of(tmp_path, "instruction", operands=" ", bir_instruction_name="I-1").operands == "I-1"
    assert event_of(tmp_path, "instruction", opcode="EVENT_SEMAPHORE").wait_us == 0.25
    moved = event_of(tmp_path, "dma", variable="w")
    assert (moved.engine, moved.opcode, moved.operands, moved.wait_us) == ("DMA", "data", "w 16 bytes", 0.0)
    assert event_of(tmp_path, "dma").operands == "16 bytes"


def rows_of(*times, engine="Tensor"):
    return [
        SimpleNamespace(subgraph="sg00", subgroup=engine, timestamp=at, duration=lasts, evt_wait_time=waits)
        for at, lasts, waits in times
    ]


@pytest.mark.parametrize(
    ("rows", "simulated", "waits"),
    [
        ([], False, []), (rows_of((100, 10, 500)), False, [0]), (rows_of((100, 10, 0), (150, 10, 500)), False, [0, 40]), (rows_of((100, 10, 0), (150, 10, 30)), False, [0, 30]), (rows_of((150, 10, 500), (100, 10, 0)), False, [40, 0]),
        (rows_of((100, 90, 0), (150, 10, 500), (300, 1, 500)), False, [0, 0, 110]), (rows_of((100, 10, 0), (150, 10, 500)), True, [0, 50]), ([*rows_of((100, 10, 0)), *rows_of((150, 10, 500), engine="Vector")], False, [0, 50]),
    ],
)  # fmt: skip
def test_a_wait_is_time_of_the_kernel_in_which_the_engine_was_free(rows, simulated, waits):
    assert _waits(rows, simulated) == waits


@pytest.mark.parametrize(
    ("search", "hit"),
    [
        (None, True),
        ("", True),
        ("/./", False),
        ("/", True),
        ("//", True),
        ("a.py:1", True),
        ("a.py:", True),
        ("/^MAT/", True),
        ("x=1", True),
        ("core", False),
        ("/nothing/", False),
    ],
)
def test_an_event_is_searched_in_its_lines_its_opcode_and_its_operands(search, hit):
    event = Event("Tensor", "/k/b.py:2", "MATMUL", "x=1", "core 0", 0.0, 1.0, 0.0, ("a.py:1",))
    assert parse_search(search)(event) == hit and parse_search("/./")(replace(event, located=True))


def test_lines_of_one_time_keep_their_order_and_opcodes_are_named_once():
    events = [Event("Tensor", "k.py:1", opcode, "", "", 0.0, 1.0, 0.5) for opcode in ("A", "B", "A")]
    (line,) = hot_lines(events, lambda event: True, 1)
    assert (line.opcodes, line.count, line.time_us, line.wait_us, line.percent) == ("A+B", 3, 3.0, 1.5, 100.0)
    (half,) = hot_lines(
        [*events, replace(events[0], where="k.py:2", duration_us=9.0)], lambda event: event.where == "k.py:1", 1
    )
    assert half.percent == 25.0
