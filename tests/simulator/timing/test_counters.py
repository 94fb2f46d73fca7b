from dataclasses import replace
from types import SimpleNamespace

import msgspec
import numpy as np
import pytest

from neff_bench.parsers.formats.opcodes import OPCODES
from neff_bench.simulator.costs.transfers import transfers_of
from neff_bench.simulator.program import ENGINES, Instruction, Program
from neff_bench.simulator.timing.counters import _DMA_KINDS, _collectives, _kind, simulator_keys, summarise
from neff_bench.simulator.timing.schedule import schedule
from neff_bench.simulator.timing.stated_error import total_interval
from neff_bench.simulator.timing.timeline import timeline_of
from tests.simulator.programs import matmul


def summary_of(program):
    timed = schedule(program)
    return summarise(program, timed, timeline_of(timed))


def test_counts_and_bytes_follow_from_the_program():
    summary = summary_of(matmul(m=128, k=128, n=512, lnc=2, tiles=3))
    assert summary["matmul_instruction_count"] == 6
    assert summary["hardware_flops"] == 6 * 2 * 128 * 128 * 512
    assert summary["hbm_read_bytes"] == 6 * (128 * 128 + 128 * 512) * 2
    assert summary["hbm_write_bytes"] == 6 * 128 * 512 * 2
    # Beside the DMAs, the bytes of one partition: weights 256, moving 1024, copied 1024.
    assert summary["sbuf_read_bytes"] == summary["hbm_write_bytes"] + 6 * (256 + 1024)
    assert summary["sbuf_write_bytes"] == summary["hbm_read_bytes"] + 6 * 1024
    assert summary["psum_write_bytes"] == summary["psum_read_bytes"] == 6 * 2048
    assert summary["psum_read_sbuf_write_count"] == 6


def test_what_a_program_spills_counts_apart():
    summary = summary_of(msgspec.structs.replace(matmul(), spilled_bytes=4096, reloaded_bytes=8192))
    assert (summary["spill_save_bytes"], summary["spill_reload_bytes"]) == (4096, 8192)


def test_transposes_are_matmuls_that_count_apart():
    program = matmul()
    [instructions] = program.cores
    data = instructions[2].reads["stationary"]
    dst = instructions[2].writes["dst"]
    square = type(dst)(dst.buffer, 0, ((512, 128), (1, 128)), "float32")
    transpose = Instruction("nc_transpose", "tensor", {"dst": square}, {"data": data}, {})
    both = Program("t", "trn2", 1, program.buffers, (0, 1), (2,), ((*instructions[:3], transpose),), program.sources)
    summary = summary_of(both)
    assert summary["transpose_flops"] == 2 * 128**3
    assert summary["hardware_flops"] == 2 * 128 * 128 * 512 + 2 * 128**3
    assert summary["matmul_instruction_count"] == 2


def test_ratios_follow_the_published_formulas():
    summary = summary_of(matmul(lnc=2))
    peak = 2 * 128 * 128 * 2.4e9 * 2
    assert summary["mfu_estimated_percent"] == pytest.approx(summary["hardware_flops"] / peak / summary["total_time"])
    moved = summary["hbm_read_bytes"] + summary["hbm_write_bytes"]
    assert summary["mm_arithmetic_intensity"] == summary["hardware_flops"] / moved
    assert summary["peak_flops_bandwidth_ratio"] == pytest.approx(109.83687150837989)
    assert summary["mbu_estimated_percent"] == pytest.approx(moved / summary["total_time"] / 716e9)
    assert summary["neuroncore_cycle_count"] == int(summary["total_time"] * 1.2e9)


def test_active_time_is_a_union_over_cores_and_never_more_than_the_total():
    summary = summary_of(matmul(lnc=2, tiles=4))
    for engine in ("tensor", "vector", "scalar", "gpsimd", "sync"):
        assert 0 < summary[f"{engine}_engine_active_time"] <= summary["total_active_time"] <= summary["total_time"]


def test_what_the_runtime_does_on_an_idle_second_core_counts_as_active():
    alone = matmul(tiles=4)
    beside_idle = summary_of(msgspec.structs.replace(alone, lnc=2, cores=(*alone.cores, ())))
    of_one = summary_of(alone)
    for counter in ("total_time", "hbm_read_bytes", "matmul_instruction_count"):
        assert beside_idle[counter] == of_one[counter]
    for counter in ("tensor_engine_active_time", "vector_engine_active_time", "dma_active_time"):
        assert beside_idle[counter] > of_one[counter]


def test_everything_simulated_says_so():
    summary = summary_of(matmul())
    assert summary["is_simulation"] is True
    assert summary["simulator_name"] == "neff-bench neuron-sim"
    assert summary["simulator_time_error"]


def test_transposes_are_no_useful_flops():
    program = matmul()
    [instructions] = program.cores
    square = type(instructions[2].writes["dst"])(
        instructions[2].writes["dst"].buffer, 0, ((512, 128), (1, 128)), "float32"
    )
    reads = {"data": instructions[2].reads["stationary"]}
    transpose = Instruction("nc_transpose", "tensor", {"dst": square}, reads, {})
    both = Program("t", "trn2", 1, program.buffers, (0, 1), (2,), ((*instructions[:3], transpose),), program.sources)
    summary = summary_of(both)
    useful = summary["hardware_flops"] - summary["transpose_flops"]
    moved = summary["hbm_read_bytes"] + summary["hbm_write_bytes"]
    assert summary["transpose_flops"] > 0
    assert summary["mm_arithmetic_intensity"] == useful / moved
    assert summary["mfu_estimated_percent"] == pytest.approx(useful / (2 * 128 * 128 * 2.4e9) / summary["total_time"])
    assert summary["hfu_estimated_percent"] > summary["mfu_estimated_percent"]


def test_flags_tell_the_first_and_the_last_matmul_of_a_group():
    from neff_bench.simulator.compiler.code.assembler import assemble
    from neff_bench.simulator.files.profile import accumulation_flags

    program = matmul()
    a, b, mm, copy, _store = program.cores[0]
    again = Instruction(mm.op, mm.engine, mm.writes, mm.reads, {"accumulate": False})
    instructions = (a, b, mm, mm, mm, copy, mm, again, again)
    grouped = Program("g", "trn2", 1, program.buffers, (0, 1), (2,), (instructions,))
    [code] = assemble(grouped)
    assert list(accumulation_flags(instructions, code).values()) == [1, 0, 0, 2, 3, 3]


@pytest.mark.parametrize("total_ns", [1e3, 1e5])
def test_a_benchmark_measures_less_than_the_profile_by_what_lies_between_the_two_clocks(total_ns):
    timed = replace(schedule(matmul()), total_ns=total_ns, fixed_ns=123.0)
    keys, found = simulator_keys(matmul(), timed), total_interval(matmul(), timed)
    chip = replace(timed.chip, execution_clock_ns=6700.0, execution_clock_spread_ns=3300.0)
    assert chip == timed.chip
    inside = total_ns - 6700
    expected = {
        "fixed_overhead": 123, "low_total": total_ns * found.low, "high_total": total_ns * found.high,
        "execution": max(inside, 0), "low_execution": max(inside * found.low - 3300, 0),
        "high_execution": inside * found.high + 3300,
        "semaphore": chip.semaphore_ns, "dma_done": chip.dma_done_ns(1),
    }  # fmt: skip
    assert {name: keys[f"simulator_{name}_time"] * 1e9 for name in expected} == pytest.approx(expected)


def test_times_of_engines_and_packets_are_those_of_the_rows():
    timed = schedule(matmul(lnc=2, tiles=3))
    timeline = timeline_of(timed)
    summary = summarise(matmul(lnc=2, tiles=3), timed, timeline, core_ids=(4, 5))
    rows = [row for core in timeline.cores for row in zip(*(core.instructions.__dict__[name].tolist() for name in ("engine", "opcode", "start_ps", "end_ps")))]  # fmt: skip
    for number, engine in enumerate(ENGINES):
        spent = sum(
            end - start for at, opcode, start, end in rows if at == number and opcode != OPCODES["EVENT_SEMAPHORE"]
        )
        assert summary[f"{engine}_engine_instruction_time"] == pytest.approx(spent / 1e12)
        assert summary[f"{engine}_engine_instruction_count"] == sum(row[0] == number for row in rows)
    dma = [core.dma for core in timeline.cores]
    assert summary["dma_packet_time"] == pytest.approx(
        sum(int((one.end_ps - one.start_ps).sum()) for one in dma) / 1e12
    )
    packets = sum(len(one.bytes) for one in dma)
    assert sum(summary.get(f"{kind}_dma_packet_count", 0) for kind in _DMA_KINDS) == packets
    assert sum(summary.get(f"{kind}_dma_size", 0) for kind in _DMA_KINDS) == sum(int(one.bytes.sum()) for one in dma)
    updates = sum(len(core.semaphores.value) for core in timeline.cores)
    assert (summary["event_count"], summary["trace_count"]) == (updates, updates + packets + len(rows))
    assert summary["dma_active_cycles"] == int(summary["dma_active_time"] * 1.2e9)
    assert (summary["nd_idx"], summary["nc_idx"]) == (0, 9)


@pytest.mark.parametrize(
    ("static", "queue", "kind"),
    [(True, 2, "static"), (True, 0, "static"), (False, 2, "software_dynamic"), (False, 1, "hardware_dynamic")],
)
def test_dmas_of_gpsimd_are_software_dynamic_and_descriptors_of_compile_time_static(static, queue, kind):
    [core] = schedule(matmul()).cores
    transfer = core.code.transfers.used[0][0]._replace(static=static, queue=queue)
    assert _DMA_KINDS[_kind(transfer)] == kind


def test_bytes_of_tensors_are_those_of_inputs_outputs_and_constants():
    program = matmul()
    weights = msgspec.structs.replace(program.buffers[0], name="w", kind="constant")
    summary = summary_of(msgspec.structs.replace(program, buffers=(*program.buffers, weights)))
    inputs = sum(program.buffers[at].size_bytes for at in program.inputs)
    outputs = sum(program.buffers[at].size_bytes for at in program.outputs)
    assert summary["weight_size_bytes"] == weights.size_bytes > 0
    assert summary["inputs_and_weights_size_bytes"] == inputs + weights.size_bytes
    assert summary["inputs_outputs_weights_size_bytes"] == inputs + outputs + weights.size_bytes
    assert summary["mbu_min_read_util_percent"] == pytest.approx(
        summary["inputs_and_weights_size_bytes"] / summary["total_time"] / 716e9
    )


@pytest.mark.parametrize("model_flops", [None, 10**6])
def test_the_graphs_flops_are_preferred_where_they_are_known(model_flops):
    summary = summary_of(msgspec.structs.replace(matmul(lnc=2), model_flops=model_flops))
    peak = 2 * 2 * 128 * 128 * 2.4e9 * summary["total_time"]
    moved = summary["hbm_read_bytes"] + summary["hbm_write_bytes"]
    balanced = 2 * summary["peak_flops_bandwidth_ratio"]
    of_instructions, of_graph = summary["hardware_flops"], model_flops or 0
    chosen = of_graph if model_flops else of_instructions
    expected = {
        "model_flops": of_graph, "hfu_estimated_percent": of_instructions / peak, "mfu_inst_estimated_percent": of_instructions / peak,
        "mfu_hlo_estimated_percent": of_graph / peak, "mfu_estimated_percent": chosen / peak,
        "mfu_inst_max_achievable_estimated_percent": min(1, of_instructions / moved / balanced),
        "mfu_hlo_max_achievable_estimated_percent": min(1, of_graph / moved / balanced),
        "mfu_max_achievable_estimated_percent": min(1, chosen / moved / balanced),
    }  # fmt: skip
    assert {name: summary[name] for name in expected} == pytest.approx(expected)


def test_no_kernel_can_achieve_more_than_the_peak():
    many = msgspec.structs.replace(matmul(), model_flops=10**12)
    assert summary_of(many)["mfu_hlo_max_achievable_estimated_percent"] == 1.0


def test_active_times_are_shares_of_the_total_and_those_of_a_kind_of_dma_of_all_dmas():
    summary = summary_of(matmul(lnc=2, tiles=3))
    active = [key for key in summary if key.endswith("_active_time")]
    assert {
        "tensor_engine_active_time",
        "dma_active_time",
        "total_active_time",
        "static_dma_active_time",
    } <= {*active}
    for key in active:
        whole = summary["dma_active_time" if "namic_dma" in key or "static_dma" in key else "total_time"]
        assert summary[f"{key}_percent"] == summary[key] / whole
    kinds = [kind for kind in _DMA_KINDS if f"{kind}_dma_packet_count" in summary]
    for unit, of in (("packet_count", "packet"), ("size", "size")):
        whole = sum(summary[f"{kind}_dma_{unit}"] for kind in kinds)
        for kind in kinds:
            assert summary[f"{kind}_dma_{of}_percent"] == summary[f"{kind}_dma_{unit}"] / whole


@pytest.mark.parametrize(
    ("model_flops", "keeps_weights", "dialect"),
    [(0, True, ""), (7, False, ""), (None, True, "old"), (None, False, "current")],
)
def test_a_kernel_says_its_dialect_and_a_graph_has_none(model_flops, keeps_weights, dialect):
    program = msgspec.structs.replace(matmul(), model_flops=model_flops, keeps_weights=keeps_weights)
    assert simulator_keys(program, schedule(program))["simulator_dialect"] == dialect


def test_a_summary_names_its_cores_its_host_and_its_makers():
    summary = summary_of(matmul(lnc=2))
    assert (summary["nd_idx"], summary["nc_idx"], summary["instance_type"]) == (0, 0 + 1, "trn2.3xlarge")
    assert summary["compiler_version"].endswith("+sim") and "+sim." in summary["profiler_version"]


def test_the_peak_of_a_memory_is_that_of_the_core_that_uses_more():
    alone = matmul()
    summary = summary_of(alone)
    beside_idle = summary_of(msgspec.structs.replace(alone, lnc=2, cores=((), *alone.cores)))
    for memory in ("sbuf", "psum"):
        assert summary[f"simulator_{memory}_peak_bytes"] == beside_idle[f"simulator_{memory}_peak_bytes"] > 0


class _Core:
    """A core of a schedule, with what `_collectives` looks at: (queue, bytes, start, end, half) of each instruction."""

    def __init__(self, *instructions):
        plain = schedule(matmul()).cores[0].code.transfers.used[0][0]
        moved = [plain._replace(queue=queue, bytes=size) for queue, size, *_ in instructions if queue is not None]
        numbers = iter(range(len(moved)))
        self.code = SimpleNamespace(
            transfers=transfers_of(moved),
            transfer=np.array([-1 if queue is None else next(numbers) for queue, *_ in instructions], int),
            origin=np.arange(len(instructions)),
        )
        self.start_ns, self.done_ns = (np.array([one[at] for one in instructions], float) for at in (2, 3))
        self.program = tuple(SimpleNamespace(attributes={"half": one[4]}) for one in instructions)


@pytest.mark.parametrize(
    ("cores", "found"),
    [
        ([_Core((1, 64, 0, 9, None), (None, 0, 0, 5, None))], {}),
        ([_Core((5, 64, 1.0004, 9, None))], {"cc_op_count": 1, "cc_op_time": 8e-9, "cc_op_active_time": 8e-9, "simulator_collective_sent_bytes": 64}),
        (
            [_Core((5, 8, 1, 4, None), (1, 64, 0, 9, None), (None, 0, 0, 9, None), (5, 16, 3, 6, None))],
            {"cc_op_count": 2, "cc_op_time": 6e-9, "cc_op_active_time": 5e-9, "simulator_collective_sent_bytes": 24},
        ),
        (
            [_Core((5, 8, 1, 4, 0)), _Core((1, 64, 0, 9, None), (5, 16, 7, 9, 1))],
            {"cc_op_count": 1, "cc_op_time": 5e-9, "cc_op_active_time": 5e-9, "simulator_collective_sent_bytes": 24},
        ),
    ],
)  # fmt: skip
def test_collectives_count_from_their_trigger_to_their_end_and_one_of_both_cores_once(cores, found):
    program = SimpleNamespace(cores=[core.program for core in cores])
    assert _collectives(program, SimpleNamespace(cores=cores)) == pytest.approx(found)
