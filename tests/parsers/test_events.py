"""Event tables as the columns of a trace."""

import pytest

from neff_bench.parsers.events import DmaRow, InstructionRow, dma_columns, dma_span, instruction_columns, work_span


def instruction(begin=0, duration=1, engine="Tensor", **more):
    return InstructionRow(begin, duration, engine, **more)


@pytest.mark.parametrize(
    ("name", "core"),
    [("sg00", 0), ("sg12", 12), ("sg300", 300 & 255), ("sg9999", 9999 & 255), ("sg00001", 0), ("x", 0), ("", 0)],
)
def test_a_core_is_the_number_of_its_subgraph(name, core):
    assert instruction_columns([instruction(subgraph=name)]).core.tolist() == [core]


def test_times_are_picoseconds_and_engines_that_are_none_are_left_out():
    rows = [
        instruction(1.5, 2.25, "Tensor", opcode="MATMUL", pc=3, evt_wait_time=7),
        instruction(1, 1, "Host", opcode="OTHER"),
        instruction(4, 0, "sync", opcode="DRAIN"),
    ]
    found = instruction_columns(rows)
    assert (found.begin_ps.tolist(), found.duration_ps.tolist()) == ([1500, 4000], [2250, 0])
    assert (found.engine.tolist(), found.pc.tolist(), found.wait_ns.tolist()) == ([0, 4], [3, -1], [7, 0])
    assert [found.opcode_names[code] for code in found.opcode] == ["MATMUL", "DRAIN"]


def test_an_engine_of_dma_has_a_number_within_its_core():
    found = dma_columns([DmaRow(1, 2, 512, 17, 3), DmaRow(2, 1, 4, 15, 0, aggregated="yes")])
    assert (found.core.tolist(), found.engine.tolist(), found.queue.tolist()) == ([1, 0], [1, 15], [3, 0])
    assert (found.bytes.tolist(), found.begin_ps.tolist(), found.reported.tolist()) == (
        [512, 4],
        [1000, 2000],
        [True, False],
    )


def test_what_an_axis_does_not_hold_is_refused():
    largest = 2**31 - 1
    assert instruction_columns([instruction(pc=largest)]).pc.tolist() == [largest]
    assert instruction_columns([instruction(pc=-largest)]).pc.tolist() == [-largest]
    for pc in (largest + 1, -largest - 1):
        with pytest.raises(ValueError, match=f"pc of {pc}, more than {largest}"):
            instruction_columns([instruction(pc=pc)])
    for time in (2.0**63 / 1000, -(2.0**63) / 1000):
        with pytest.raises(ValueError, match="a time of more than 106 days"):
            instruction_columns([instruction(time)])


def test_a_span_is_of_what_works():
    rows = [instruction(1, 1, opcode="DRAIN"), instruction(5, 20, opcode="MATMUL"), instruction(7, 3, opcode="COPY")]
    assert work_span(rows) == (5.0, 25.0) and work_span(rows[:1]) is None
    packets = [DmaRow(0, 50), DmaRow(3, 4, semaphore_id="8"), DmaRow(5, 9, semaphore_id="0")]
    assert dma_span(packets) == (3.0, 14.0) and dma_span(packets[:1]) is None
