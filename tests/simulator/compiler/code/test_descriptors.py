import msgspec

from neff_bench.chips.engines import ENGINES
from neff_bench.parsers.formats.opcodes import OPCODES
from neff_bench.simulator.compiler.code.assembler import assemble
from neff_bench.simulator.compiler.code.descriptors import made_at_compile_time
from neff_bench.simulator.program import Access, Dynamic
from neff_bench.simulator.timing.counters import summarise
from neff_bench.simulator.timing.schedule import schedule
from neff_bench.simulator.timing.timeline import timeline_of
from tests.simulator.programs import ProgramBuilder, matmul


def summary(program):
    timed = schedule(program)
    return summarise(program, timed, timeline_of(timed))


def test_every_packet_is_static_and_the_bytes_are_the_same():
    before, after = summary(matmul(tiles=4)), summary(made_at_compile_time(matmul(tiles=4)))
    assert before["software_dynamic_dma_packet_count"] > 0
    assert (
        after["static_dma_packet_count"] > before["static_dma_packet_count"]
        and "software_dynamic_dma_packet_count" not in after
    )
    assert after["hbm_read_bytes"] == before["hbm_read_bytes"]
    assert after["total_time"] < before["total_time"]


def test_an_address_of_the_run_time_keeps_its_descriptors():
    program = matmul()
    load = program.cores[0][0]
    source = load.reads["src"]
    index = Access(0, 0, ((1, 1),), "int32")
    gather = msgspec.structs.replace(load, reads={"src": msgspec.structs.replace(source, dynamic=(Dynamic(1, index),))})
    program = msgspec.structs.replace(program, cores=((gather, *program.cores[0][1:]),))
    assert made_at_compile_time(program).cores[0][0] is gather


def test_64_partitions_take_twice_the_time_of_128():
    def transfer_ns(partitions, columns):
        p = ProgramBuilder()
        p.load_of("x", (partitions, columns), "float32")
        timed = schedule(made_at_compile_time(p.program()))
        packets = timeline_of(timed).cores[0].dma
        own = packets.transfer >= 0
        return packets.end_ps[own].max() - packets.start_ps[own].min()

    assert transfer_ns(64, 8192) > 1.8 * transfer_ns(128, 4096)


def test_sync_starts_the_loads_and_gpsimd_the_stores():
    steps = made_at_compile_time(matmul()).cores[0]
    assert [step.engine for step in steps if step.op == "dma_copy"] == ["sync", "sync", "gpsimd"]


def test_each_store_that_nothing_waits_for_is_waited_for_at_the_end():
    program = matmul(tiles=4)
    [dynamic], [static] = assemble(program), assemble(made_at_compile_time(program))
    gpsimd = ENGINES.index("gpsimd")
    ends = [code.opcode[code.engine == gpsimd][-4:].tolist() for code in (dynamic, static)]
    assert ends == [[OPCODES[name] for name in (*["DMA_DIRECT2D"] * 3, "EVENT_SEMAPHORE")], [OPCODES["NOP"]] * 4]


def test_a_dma_does_not_wait_for_what_its_own_queue_wrote():
    p = ProgramBuilder()
    tile = p.sbuf((128, 64), "float32")
    for first in range(4):
        rows = Access(tile.buffer, first, ((64, 128), (4, 16)), "float32")
        p.copy(rows, p.input(f"x{first}", (128, 16), "float32"))
    core = schedule(made_at_compile_time(p.program())).cores[0]
    assert not core.wait_ns[core.code.transfer >= 0].any()
