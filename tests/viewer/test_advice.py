"""Advice: findings with evidence and gain, the largest gain first."""

from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from neff_bench.doors.estimation import record_kernel
from neff_bench.parsers.event_rows import DmaRow, InstructionRow, Timeline
from neff_bench.parsers.event_tables import timeline_of_json
from neff_bench.simulator.commands.view import load_profile, tables_of
from neff_bench.simulator.files.neff import write_neff
from neff_bench.viewer.advice import advise, sensitivity

KERNEL = f"{Path(__file__).parent / 'planted_nki.py'}:kernel"
FAULTS = {
    "tiny DMAs": ("bfloat16", "Move more with each DMA"),
    "one queue": ("bfloat16", "Issue DMAs from several engines"),
    "float32": ("float32", "Give the Tensor Engine bfloat16"),
    "copies": ("bfloat16", "Share the copies between Vector and Scalar"),
    "transposes": ("bfloat16", "Lay the tensor out so that no tile is transposed"),
}
DOUBLED = """
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def doubled(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.tensor_scalar(tile, tile, op0=nl.multiply, operand0=2.0)
    nisa.dma_copy(dst=out, src=tile)
    return out
"""


@pytest.fixture
def profiled(tmp_path):
    """The timeline of a simulated profile of a kernel, as a reader of the file has it."""

    def profiled(kernel, inputs, **arguments):
        neff = str(tmp_path / "file.neff")
        write_neff(record_kernel(kernel, inputs, "trn2", 1, arguments), neff)
        return timeline_of_json(orjson.dumps(tables_of(load_profile(neff, None), neff, "")), linked=True)

    return profiled


@pytest.fixture
def planted(profiled):
    return lambda fault, dtype="bfloat16": profiled(
        KERNEL, {"x": ((12, 128, 512), dtype), "w": ((128, 128), dtype)}, fault=fault
    )


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_first_on_the_list(fault, planted):
    dtype, title = FAULTS[fault]
    first, *others = advise(planted(fault, dtype))
    assert first.title.startswith(title) and first.gain_us > 0 and first.evidence
    assert all(first.gain_us >= (other.gain_us or 0.0) for other in others)


@pytest.mark.parametrize(("dtype", "converts"), [("bfloat16", True), ("float32", False)])
def test_dmas_that_convert_are_worth_advice(dtype, converts, profiled, tmp_path):
    path = tmp_path / "doubled.py"
    path.write_text(DOUBLED)
    found = advise(profiled(f"{path}:doubled", {"x": ((128, 4096), dtype)}))
    assert [(one.evidence.partition(";")[0], one.gain_us > 1) for one in found if "that converts" in one.title] == (
        [("2 of 2 DMAs convert", True)] if converts else []
    )


def test_rows_of_a_simulated_profile_tell_the_lines_that_called_theirs(planted):
    rows = [row for row in planted("none").instructions if row.nki_call_stack]
    own = {line for row in rows for line in row.nki_call_stack}
    assert rows and all(line.startswith("planted_nki.py:") for line in own)
    assert own.isdisjoint(row.nki_source_location for row in rows)


def test_the_kernel_without_a_fault_gets_none_of_these(planted):
    assert [one for one in advise(planted("none")) if one.gain_us] == []


def timeline(instructions=(), dma=(), total_us=100.0):
    return Timeline("x.json", True, {"total_time": total_us / 1e6}, list(instructions), list(dma), [])


def test_without_a_critical_path_small_packets_count_where_nothing_else_runs():
    packets = [DmaRow(timestamp=at, duration=100, transfer_size=64, subgroup="Q1-E0") for at in range(0, 10_000, 100)]
    (advice,) = advise(timeline(dma=packets))
    assert advice.gain_us == 10.0 and advice.metric == "dma_packet_count" and "100 of 100" in advice.evidence
    beside = InstructionRow(timestamp=0, duration=9_000, subgroup="Tensor", opcode="MATMUL")
    assert [one for one in advise(timeline([beside], packets)) if one.gain_us] == []


def test_large_packets_give_no_advice():
    assert advise(timeline(dma=[DmaRow(timestamp=0, duration=10_000, transfer_size=4096, subgroup="Q1-E0")])) == ()


def test_the_first_advice_on_our_own_matmul_makes_it_faster(profiled):
    kernel = "neff_bench.stage1_generate.kernels.matmul_nki:matmul"
    shapes = {"lhs": (256, 256), "rhs": (256, 512)}
    wide, narrow = (
        profiled(kernel, {name: (shape, dtype) for name, shape in shapes.items()}) for dtype in ("float32", "bfloat16")
    )
    assert advise(wide)[0].title.startswith("Give the Tensor Engine bfloat16")
    assert narrow.summary["total_time"] < wide.summary["total_time"]


def test_a_simulated_timeline_tells_what_each_constant_would_gain(planted):
    found = sensitivity(planted("float32", "float32"))
    assert found[0].metric == "pe_clock_ghz" and found[0].gain_us > found[-1].gain_us >= 0.05
    assert found[0].evidence.endswith(" us (simulated)")
    assert sensitivity(timeline()) == ()


def test_engines_that_issue_dmas_are_advised_only_where_the_kernel_can_choose_one(planted):
    timeline = planted("one queue")
    assert timeline.summary["simulator_dialect"] == "current"
    for dialect in ("old", ""):
        other = replace(timeline, summary={**timeline.summary, "simulator_dialect": dialect})
        assert not [one for one in advise(other) if one.title.startswith("Issue DMAs")]
