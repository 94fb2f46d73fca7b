import dataclasses
import itertools
import json

import pytest

from neff_bench.chips import CHIPS
from neff_bench.simulator.chips import constant_lines, what_if
from neff_bench.simulator.commands.explain import explain
from neff_bench.simulator.commands.explain_answer import Findings, advice_grid, answer
from neff_bench.simulator.errors import SimulatorError
from neff_bench.simulator.files.in_process import shown
from neff_bench.simulator.program import Buffer, Instruction, Program
from neff_bench.simulator.timing.counters import summarise
from neff_bench.simulator.timing.schedule import schedule
from neff_bench.simulator.timing.timeline import timeline_of
from neff_bench.terminal.formats import render
from neff_bench.viewer.advice import Advice
from neff_bench.viewer.critical_path import critical_path
from tests.simulator.programs import ProgramBuilder, matmul, whole


def told(program, timed):
    """The critical path of a schedule, and what `explain` says of it."""
    timeline = timeline_of(timed)
    keys = summarise(program, timed, timeline, tuple(range(program.lnc)))
    page = shown("x", program, timed, timeline, keys)
    path = critical_path(page)
    return path, explain(program, timed, page, path)


@pytest.fixture(scope="module", params=[1, 2])
def explained(request):
    program = matmul(tiles=12, lnc=request.param)
    timed = schedule(program)
    return program, timed, told(program, timed)[1]


def test_critical_path_is_the_work_of_the_kernel_without_gaps():
    program = matmul(tiles=12, lnc=2)
    timed = schedule(program)
    path, found = told(program, timed)
    assert all(a.end_ns == b.begin_ns for a, b in itertools.pairwise(path))
    last_core = max(timed.cores, key=lambda core: core.kernel_end_ns)
    moved_ns = last_core.done_ns[last_core.code.transfer >= 0].max()
    assert path[-1].end_ns == pytest.approx(moved_ns, abs=1) and moved_ns < last_core.kernel_end_ns
    assert sum(found.path_us.values()) == pytest.approx((path[-1].end_ns - path[0].begin_ns) / 1e3)


def test_lines_account_for_the_whole_path(explained):
    _, _, found = explained
    assert sum(path for _, path, _ in found.lines) == pytest.approx(sum(found.path_us.values()))
    assert {source for source, _, _ in found.lines} == {"mm.py:1", "mm.py:2", "mm.py:3", "mm.py:4"}


def test_what_bounds_follows_the_constants():
    program = matmul(tiles=12)
    for change, bound in (
        ("hbm_bandwidth=0.01x", "HBM bandwidth"),
        ("dma_engine_bandwidth=0.01x", "DMA"),
        ("pe_clock_ghz=0.01x", "Tensor"),
        ("software_dma_issue_ns=100x", "DMA issue"),
        ("vector_clock_ghz=0.01x", "Vector"),
        ("dma_wait_ns=1000x", "latency"),
    ):
        assert told(program, schedule(program, what_if(CHIPS["trn2"], change)))[1].bound_by == bound


def test_more_memory_lets_the_next_load_overlap():
    columns = 150 * 1024
    buffers = [
        Buffer("in", "hbm", (128, columns), "uint8", "input"),
        Buffer("sum", "sbuf", (128, 8), "uint8", "internal"),
    ]
    steps = []
    for _ in range(4):
        buffers.append(Buffer("tile", "sbuf", (128, columns), "uint8", "internal"))
        tile = whole(len(buffers) - 1, buffers)
        steps += [
            Instruction("dma_copy", "sync", {"dst": tile}, {"src": whole(0, buffers)}, {}),
            Instruction("tensor_reduce", "vector", {"dst": whole(1, buffers)}, {"data": tile}, {"op": "max"}),
        ]
    program = Program("sums", "trn2", 1, tuple(buffers), (0,), (), (tuple(steps),))
    small, large = (schedule(program, what_if(CHIPS["trn2"], f"sbuf_partition_bytes={n}x")).total_ns for n in (1, 2))
    assert large < 0.8 * small


def test_waits_name_whom_an_engine_waited_for(explained):
    waits = explained[2].waits_us
    assert waits[0, "Tensor", "DMA issued by GpSimd"] > 0
    assert waits[0, "Vector", "Tensor"] > 0


def test_text_and_json_say_simulated(explained):
    found = explained[2]
    answered = answer(found, {"hbm_bandwidth=2x": 1.0}, Findings((), (), ""), 5)
    assert render(answered, "table").startswith("simulated")
    record = json.loads(render(answered, "json"))
    assert record["is_simulation"] is True and record["what_if"][0]["change"] == "hbm_bandwidth=2x"


def test_the_name_of_a_source_is_never_cut(explained):
    found = dataclasses.replace(explained[2], lines=[("/a/long/path/" + "x" * 50 + "/kernel.py:12", 1.0, 2.0)])
    shown = render(answer(found, {}, Findings((), (), ""), 5), "table")
    assert found.lines[0][0] in shown.replace("\n", "")


def test_shares_are_of_the_critical_path(explained):
    found = dataclasses.replace(explained[2], bound_by="Vector", path_us={"vector": 6.0, "dma": 2.0})
    shown = render(answer(found, {}, Findings((), (), ""), 5), "table")
    assert "bound by Vector, 75 % of the critical path" in shown and "Vector 6.0 75.0" in shown


def test_what_holds_the_engine_of_the_bound_up_stands_below_it(explained):
    held = "a faster Vector alone saves nothing"
    found = dataclasses.replace(explained[2], bound_by="Vector", path_us={"vector": 6.0, "dma": 2.0})
    answered = answer(found, {}, Findings((), (), held), 5)
    assert f"of the critical path\n{held}\n" in render(answered, "table") and answered.document["held_up"] == held
    assert "faster" not in render(answer(found, {}, Findings((), (), ""), 5), "table")


@pytest.mark.parametrize(
    "change",
    [
        "speed=2x",
        "hbm_bandwidth",
        "hbm_bandwidth=fast",
        "hbm_bandwidth=0",
        "dma_issue_ns=-1",
        "name=3",
        "psum_partition_bytes=0.5x",
    ],
)
def test_a_bad_change_is_one_line(change):
    with pytest.raises(SimulatorError, match="--what-if") as raised:
        what_if(CHIPS["trn2"], change)
    assert "\n" not in str(raised.value)


def test_every_constant_has_a_source():
    assert len(constant_lines(CHIPS["trn2"])) == len(CHIPS["trn2"].sources) > 55


def test_empty_program_has_no_path():
    program = Program("e", "trn2", 1, (), (), (), ((),))
    path, found = told(program, schedule(program))
    assert path == () and found.bound_by == "latency"


def test_operations_that_were_never_compared_are_named():
    b = ProgramBuilder()
    tile = b.load_of("x", (128, 1024), "float32")
    for _ in range(20):
        b.step("reciprocal", tile, (128, 1024), "float32", "vector")
    made = b.program()
    answered = answer(told(made, schedule(made))[1], {}, Findings((), (), ""), 5)
    assert answered.document["uncompared_operations"] == ["reciprocal on Vector"]
    assert "never compared with hardware: reciprocal on Vector" in render(answered, "table")
    assert "never compared,reciprocal on Vector" in render(answered, "csv")


def test_advice_on_a_program_that_a_compiler_wrote_is_for_a_kernel_in_its_place():
    found = [Advice("Do less", "much is done", 1.0, "total_time_us")]
    assert advice_grid(found, False).title.startswith("advice, the largest gain first")
    assert advice_grid(found, True).title.startswith(
        "advice for an NKI kernel in the place of this program, which the simulator's compiler wrote, the"
    )
