import dataclasses

import msgspec
import numpy as np
import pytest

from neff_bench.chips import CHIPS
from neff_bench.parsers.formats.opcodes import NAMES
from neff_bench.simulator.compiler.code.assembler import assemble
from neff_bench.simulator.compiler.code.descriptors import made_at_compile_time
from neff_bench.simulator.costs.transfers import QUEUES, SEMAPHORE_PACKET_BYTES
from neff_bench.simulator.errors import SimulatorError
from neff_bench.simulator.native import loop
from neff_bench.simulator.program import Buffer, Instruction, Program
from neff_bench.simulator.timing.schedule import schedule, schedule_code
from neff_bench.simulator.timing.timeline import timeline_of
from tests.simulator.programs import ProgramBuilder, matmul, whole


def names(code):
    return [NAMES[opcode] for opcode in code.opcode]


def test_matmul_becomes_weights_matmul_and_one_extra_wait():
    [code] = assemble(matmul())
    assert names(code) == [
        "DMA_DIRECT2D",
        "DMA_DIRECT2D",
        "LDWEIGHTS",
        "MATMUL",
        "CAST",
        "DMA_DIRECT2D",
        "EVENT_SEMAPHORE",
    ]
    assert code.flops.sum() == 2 * 128 * 128 * 512


def test_float32_matmul_is_two_matmuls_of_two_passes():
    [narrow], [wide] = assemble(matmul()), assemble(matmul(dtype="float32"))
    assert names(wide).count("MATMUL") == 2
    assert wide.flops.sum() == 2 * narrow.flops.sum()
    pe = [code.pe_ns[code.flops > 0].sum() for code in (narrow, wide)]
    assert pe[1] == pytest.approx(4 * pe[0])


def test_every_wait_is_over_before_the_instruction_starts():
    timed = schedule(matmul(tiles=20, lnc=2))
    for core in timed.cores:
        code = core.code
        for i in range(len(code)):
            for before in code.waits[code.wait_start[i] : code.wait_start[i + 1]]:
                assert core.start_ns[i] >= core.done_ns[before] - 1e-6


def test_engines_keep_the_order_of_issue_and_do_one_thing_at_a_time():
    core = schedule(matmul(tiles=20)).cores[0]
    for engine in range(5):
        mine = np.flatnonzero(core.code.engine == engine)
        free = core.start_ns[mine] + core.code.interval_ns[mine]
        assert np.all(core.start_ns[mine][1:] >= free[:-1] - 1e-6)


def test_a_store_that_waits_does_not_hold_up_later_loads():
    core = schedule(matmul(tiles=2)).cores[0]
    triggers = core.start_ns[core.code.transfer >= 0][np.argsort(core.code.origin[core.code.transfer >= 0])]
    load_a, load_b, store, next_a, next_b, _ = triggers
    assert load_a < load_b < next_a < next_b < store


def packets_of(timed):
    """The data packets of core 0: neither instruction fetch nor the semaphores of DMA engines."""
    dma = timeline_of(timed).cores[0].dma
    own = (dma.transfer >= 0) & (dma.bytes > SEMAPHORE_PACKET_BYTES)
    return dataclasses.replace(dma, **{f.name: getattr(dma, f.name)[own] for f in dataclasses.fields(dma)})


def test_dma_engines_move_one_packet_at_a_time():
    packets = packets_of(schedule(matmul(tiles=8)))
    for engine in range(16):
        mine = packets.engine == engine
        assert np.all(packets.start_ps[mine][1:] >= packets.end_ps[mine][:-1] - 1)


def test_all_bytes_of_a_transfer_are_in_its_packets():
    timed = schedule(matmul(m=100, n=300))
    packets = packets_of(timed)
    for number, transfer in enumerate(timed.cores[0].code.transfers):
        assert packets.bytes[packets.transfer == number].sum() == transfer.bytes


def test_dma_engines_begin_a_read_further_apart_than_a_write_and_stall_in_it():
    chip = CHIPS["trn2"]
    packets = packets_of(schedule(matmul()))
    read, store = (packets.transfer == 0), (packets.transfer == 2)
    began = [np.sort(packets.start_ps[mine] / 1e3)[:16] for mine in (read, store)]
    assert np.ptp(began[0]) == pytest.approx(15 * chip.dma_read_stagger_ns, abs=1)
    assert np.ptp(began[1]) == pytest.approx(15 * chip.dma_stagger_ns, abs=1)
    lasted = packets.end_ps - packets.start_ps
    assert lasted[read].max() > 1.3 * lasted[read].min()
    assert lasted[store].max() == pytest.approx(lasted[store].min(), abs=2)


def test_reads_stall_less_with_dge_disabled_and_not_where_the_kernel_makes_them_static():
    program = matmul()
    static = msgspec.structs.replace(program, cores=(tuple(map(_made_before, program.cores[0])),))
    longest = []
    for one in (program, made_at_compile_time(program), static):
        packets = packets_of(schedule(one))
        read = packets.transfer == 0
        longest.append(
            (packets.end_ps - packets.start_ps)[read].max() / (packets.end_ps - packets.start_ps)[read].min()
        )
    assert 1.05 < longest[1] < longest[0] - 0.1
    assert longest[2] == pytest.approx(1)


@pytest.mark.parametrize(("columns", "stalls"), [(16, True), (64, False)])
def test_reads_that_the_kernel_makes_static_stall_where_their_runs_are_short(columns, stalls):
    # Token generation of nki-library's rmsnorm reads runs of two bytes, of its mlp runs of 4 KiB.
    built = ProgramBuilder()
    built.copy(built.sbuf((128, columns), "float32"), built.input("x", (128, columns), "float32"), dge_mode="none")
    packets = packets_of(schedule(built.program()))
    lasted = packets.end_ps - packets.start_ps
    assert (lasted.max() > 1.3 * lasted.min()) == stalls


def _made_before(step):
    if step.op != "dma_copy":
        return step
    return msgspec.structs.replace(step, attributes={**step.attributes, "dge_mode": "none"})


def burst():
    program = matmul()
    load, other, mm = program.cores[0][:3]
    return Program("b", "trn2", 1, program.buffers, (0, 1), (2,), ((load, other, *[mm] * 200),), program.sources)


def test_throttled_pe_speeds_up_after_a_busy_window():
    core = schedule(burst()).cores[0]
    gaps = np.diff(core.start_ns[core.code.flops > 0])
    assert gaps[0] == pytest.approx(2 * gaps[-1], rel=0.02)
    assert len(core.warm) == 1


def test_throttle_windows_run_on_from_their_phase():
    chip, overheads = CHIPS["trn2"], CHIPS["trn2"].overheads
    codes = assemble(burst())
    for phase in (0.0, 1000.0):
        [(start, _)] = schedule_code(codes, chip, overheads, phase).cores[0].warm
        windows = (start - phase) / chip.throttle_window_ns
        assert windows == pytest.approx(round(windows), abs=1e-6)


def test_cores_share_hbm_bandwidth():
    slow = dataclasses.replace(CHIPS["trn2"], hbm_bandwidth=20.0)
    kernel = [timed.total_ns - timed.fixed_ns for timed in (schedule(matmul(tiles=30, lnc=n), slow) for n in (1, 2))]
    assert 1.5 * kernel[0] < kernel[1] < 2.1 * kernel[0]
    assert schedule(matmul(tiles=30)).total_ns < kernel[0]


def barrier(number, data=None):
    reads = {"data": data} if data else {}
    return Instruction("core_barrier", "gpsimd", {}, reads, {"cores": [0, 1], "sync": number})


def test_cores_meet_at_a_barrier():
    buffers = [Buffer(f"t{core}", "sbuf", (128, 4096), "float32", "internal", core) for core in (0, 1)]
    mine, theirs = whole(0, buffers), whole(1, buffers)
    busy = Instruction("memset", "gpsimd", {"dst": mine}, {}, {"value": 0.0})
    program = Program("b", "trn2", 2, tuple(buffers), (), (), ((busy, busy, barrier(0, mine)), (barrier(0, theirs),)))
    timed = schedule(program)
    assert timed.cores[0].start_ns[2] == timed.cores[1].start_ns[0] > 1000


def test_unpaired_barriers_are_an_error():
    program = Program("b", "trn2", 2, (), (), (), ((barrier(0),), ()))
    with pytest.raises(SimulatorError, match="pair up"):
        schedule(program)


def test_a_dma_is_seen_later_where_both_cores_move_data():
    chip = CHIPS["trn2"]
    alone = matmul(lnc=2)
    alone = msgspec.structs.replace(alone, cores=(alone.cores[0], ()))
    for program, later_ns in ((alone, 0.0), (matmul(lnc=2), chip.dma_two_cores_ns)):
        core = schedule(program).cores[0]
        runs, width = core.runs, core.runs.width
        ends = (runs.start_ns + runs.count * runs.spacing_ns)[:width]
        done = core.done_ns[core.code.transfer == 0][0]
        assert done - ends.max() == pytest.approx(chip.dma_wait_ns + later_ns)


def loads(*of):
    """A program that loads: of each load the engine that starts it, and the columns of its tile."""
    buffers = [Buffer(f"from{i}", "hbm", (128, columns), "bfloat16", "input") for i, (_, columns) in enumerate(of)]
    buffers += [
        Buffer(f"to{i}", "sbuf", (128, columns), "bfloat16", "internal", 0) for i, (_, columns) in enumerate(of)
    ]
    steps = [
        Instruction(
            "dma_copy", engine, {"dst": whole(len(of) + i, buffers)}, {"src": whole(i, buffers)}, {"engine": engine}
        )
        for i, (engine, _) in enumerate(of)
    ]
    return Program("l", "trn2", 1, tuple(buffers), tuple(range(len(of))), (), (tuple(steps),), ("",))


def done_of(*of):
    """When the load of `of` that has the fewest bytes is done, and when the one that has the most, in ns."""
    core = schedule(loads(*of)).cores[0]
    order = np.argsort([core.code.transfers[t].bytes for t in core.code.transfer])
    return core.done_ns[order[0]], core.done_ns[order[-1]]


LARGE, SMALL = 16384, 2048


def test_a_dma_engine_takes_packets_of_its_queues_in_turn():
    begin = schedule(loads(("scalar", SMALL))).cores[0].start_ns[0]
    (small, _), (_, large) = done_of(("scalar", SMALL)), done_of(("sync", LARGE))
    beside_small, beside_large = done_of(("sync", LARGE), ("scalar", SMALL))
    moved = small - begin
    assert small < beside_small < small + moved
    assert large + 0.3 * moved < beside_large < large + 1.2 * moved


def test_a_queue_moves_one_dma_after_the_other():
    beside_small, beside_large = done_of(("sync", LARGE), ("sync", SMALL))
    assert beside_small > beside_large


def test_rows_that_wait_for_their_dma_engine_leave_hbm_to_rows_of_others():
    columns, behind_a_port = 4096, 8
    built = ProgramBuilder()
    row = built.input("row", (1, columns), "bfloat16")
    tile = built.sbuf((128, columns), "bfloat16")
    for partition in range(2 * behind_a_port):
        place = {"offset": partition * columns, "pattern": ((columns, 1), (1, columns))}
        built.copy(msgspec.structs.replace(tile, **place), row)
    core = schedule(made_at_compile_time(built.program())).cores[0]
    done = core.done_ns[core.code.transfer >= 0]
    assert done[behind_a_port] < done[behind_a_port // 2]


def test_the_compiled_loop_has_as_many_queues():
    assert QUEUES == loop.QUEUES


def test_the_first_execution_waits_for_gpsimds_library_and_an_execution_is_a_later_one_where_nobody_says():
    built = ProgramBuilder(target="inf2")
    built.do("memset", {"dst": built.sbuf((128, 64), "float32")}, engine="gpsimd", value=0.0)
    later, first = schedule(built.program()), schedule(built.program(), first_execution=True)
    assert (later.first_execution, first.first_execution) == (False, True)
    codes = [core.code for core in later.cores]
    again = schedule_code(codes, later.chip, later.overheads)
    assert again.total_ns == later.total_ns < first.total_ns and not again.first_execution
