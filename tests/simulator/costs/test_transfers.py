import msgspec
import pytest

from neff_bench.chips import CHIPS
from neff_bench.simulator.costs.transfers import packet_ns, start_ns, transfer_of, trigger_engine
from neff_bench.simulator.program import Access, Buffer, Dynamic, Instruction, Program

SCALAR, GPSIMD, VECTOR, SYNC = 1, 2, 3, 4


def dma(
    src,
    dst,
    shape=(128, 1024),
    dst_shape=None,
    src_pattern=None,
    engine="sync",
    kinds=("input", "internal"),
    **attributes,
):
    """`src`, `dst`: memories. Whole buffers in bfloat16 unless a pattern is given."""
    shapes = (shape, dst_shape or shape)
    buffers = tuple(
        Buffer(name, memory, s, "bfloat16", kind)
        for name, memory, s, kind in zip("sd", (src, dst), shapes, kinds, strict=True)
    )
    views = [Access(i, 0, ((s[1], s[0]), (1, s[1])), "bfloat16") for i, s in enumerate(shapes)]
    if src_pattern:
        views[0] = Access(0, 0, src_pattern, "bfloat16")
    instruction = Instruction("dma_copy", engine, {"dst": views[1]}, {"src": views[0]}, attributes)
    return instruction, Program("t", "trn2", 1, buffers, (), (), ((instruction,),))


@pytest.mark.parametrize(
    ("arguments", "engine"),
    [
        ({"src": "hbm", "dst": "sbuf"}, GPSIMD),
        ({"src": "sbuf", "dst": "hbm", "kinds": ("internal", "output")}, GPSIMD),
        ({"src": "hbm", "dst": "sbuf", "kinds": ("internal", "internal")}, SYNC),
        ({"src": "sbuf", "dst": "hbm", "kinds": ("internal", "internal")}, SCALAR),
        ({"src": "hbm", "dst": "sbuf", "dge_mode": "hwdge"}, SYNC),
        ({"src": "hbm", "dst": "sbuf", "engine": "scalar"}, SCALAR),
    ],
)
def test_who_triggers_a_dma(arguments, engine):
    assert trigger_engine(*dma(**arguments)) == engine


def test_bytes_by_memory():
    transfer = transfer_of(*dma("hbm", "sbuf"), GPSIMD)
    assert (transfer.hbm_read, transfer.sbuf_write) == (262144, 262144)
    assert (transfer.hbm_write, transfer.sbuf_read, transfer.psum_read) == (0, 0, 0)


def test_hardware_packets_are_rows_and_software_joins_them():
    hardware = transfer_of(*dma("hbm", "sbuf", shape=(128, 256)), SYNC)
    software = transfer_of(*dma("hbm", "sbuf", shape=(128, 256)), GPSIMD)
    assert (hardware.packets, hardware.packet_bytes) == (128, 512)
    assert (software.packets, software.packet_bytes) == (16, 4096)


@pytest.mark.parametrize("apart", [128, 2048])
def test_each_dma_engine_moves_the_rows_of_its_partitions_in_one_packet(apart):
    # Traces of inf2 (rows side by side) and trn2 (4096 bytes apart) move 128 rows of 256 bytes in 16 packets of 2048.
    view = ((apart, 128), (1, 128))
    small = transfer_of(*dma("hbm", "sbuf", shape=(128, 2048), dst_shape=(128, 128), src_pattern=view), GPSIMD)
    assert (small.packets, small.packet_bytes) == (16, 2048)


def test_single_elements_are_packets_of_their_own():
    column = transfer_of(*dma("hbm", "sbuf", shape=(128, 64), src_pattern=((1, 128), (128, 64))), SYNC)
    assert column.packet_bytes == 2 and column.packets == 128 * 64


@pytest.mark.parametrize(
    ("engine", "elements", "ns"),
    [(SYNC, 1, CHIPS["trn2"].dma_element_ns), (GPSIMD, 512, 512 * CHIPS["trn2"].dma_element_ns)],
)
def test_a_packet_takes_no_less_time_than_its_elements(engine, elements, ns):
    column = transfer_of(*dma("hbm", "sbuf", shape=(128, 64), src_pattern=((1, 128), (128, 64))), engine)
    assert column.elements == elements
    assert packet_ns(column, CHIPS["trn2"]) == pytest.approx(ns)


def test_a_row_whose_descriptor_the_kernel_chooses_has_that():
    instruction, program = dma("hbm", "sbuf", shape=(1, 128), dge_mode="hwdge")
    assert not transfer_of(instruction, program, trigger_engine(instruction, program)).static


@pytest.mark.parametrize("columns", [128, 256])
def test_gathered_rows_take_the_same_time_whatever_their_length(columns):
    # Profiles of 128 rows of 256 and of 512 bytes: 1.67 us on 16 DMA engines.
    instruction, program = dma("hbm", "sbuf", shape=(128, columns))
    index = Access(1, 0, ((1, 128), (1, 1)), "int32")
    source = msgspec.structs.replace(instruction.reads["src"], dynamic=(Dynamic(columns, index),))
    gather = msgspec.structs.replace(instruction, reads={"src": source})
    transfer = transfer_of(gather, program, GPSIMD)
    assert transfer.packets == 16
    assert packet_ns(transfer, CHIPS["trn2"]) == pytest.approx(8 * CHIPS["trn2"].dma_gathered_row_ns)
    one = msgspec.structs.replace(source, dynamic=(Dynamic(columns, Access(1, 0, ((1, 1), (1, 1)), "int32")),))
    plain = transfer_of(msgspec.structs.replace(gather, reads={"src": one}), program, GPSIMD)
    assert packet_ns(plain, CHIPS["trn2"]) < 300


def test_long_rows_are_split():
    assert transfer_of(*dma("hbm", "sbuf", shape=(128, 8192)), SYNC).packet_bytes == 4096


def test_descriptors_of_compile_time_are_static():
    assert transfer_of(*dma("hbm", "sbuf", dge_mode="none"), SYNC).static
    assert not transfer_of(*dma("hbm", "sbuf"), GPSIMD).static


def test_a_transfer_that_converts_counts_what_is_written_and_takes_twice_the_time():
    # The trn2 traces: float32 rows to bfloat16 in packets of 256 bytes, 28 ns apart instead of 14, rows not joined.
    instruction, program = dma("sbuf", "hbm", shape=(128, 128), kinds=("internal", "output"))
    wide = msgspec.structs.replace(
        instruction, reads={"src": msgspec.structs.replace(instruction.reads["src"], dtype="float32")}
    )
    plain, converting = (transfer_of(i, program, SYNC) for i in (instruction, wide))
    assert (converting.sbuf_read, converting.hbm_write) == (65536, 32768)
    assert (converting.packets, converting.packet_bytes, converting.bytes) == (128, 256, 32768)
    assert packet_ns(converting, CHIPS["trn2"]) == pytest.approx(28, abs=0.2)
    assert packet_ns(plain, CHIPS["trn2"]) == pytest.approx(14, abs=0.1)
    assert transfer_of(wide, program, GPSIMD).packet_bytes == 256


@pytest.mark.parametrize(("source", "factor"), [("sbuf", 2.0), ("hbm", 1 / 0.9)])
def test_a_transpose_moves_at_the_documented_share_of_a_copy(source, factor):
    instruction, program = dma(source, "sbuf", shape=(128, 256), kinds=("internal", "internal"))
    copied = transfer_of(instruction, program, SYNC)
    transposed = transfer_of(msgspec.structs.replace(instruction, op="dma_transpose"), program, SYNC)
    chip = CHIPS["trn2"]
    assert packet_ns(transposed, chip) == pytest.approx(factor * packet_ns(copied, chip))


def test_software_descriptors_are_written_before_the_trigger():
    chip = CHIPS["trn2"]
    transfer = transfer_of(*dma("hbm", "sbuf"), GPSIMD)
    assert start_ns(transfer, chip) == chip.software_dma_prepare_ns + chip.software_dma_start_ns


@pytest.mark.parametrize(("partitions", "ports"), [(128, 16), (64, 8), (9, 2), (1, 1)])
def test_descriptors_of_the_compiler_and_of_gpsimd_go_through_the_ports_of_their_partitions(partitions, ports):
    static = transfer_of(*dma("hbm", "sbuf", shape=(partitions, 1024), dge_mode="none"), SYNC)
    software = transfer_of(*dma("hbm", "sbuf", shape=(partitions, 1024)), GPSIMD)
    assert (static.first_port, static.ports) == (software.first_port, software.ports) == (0, ports)
    assert transfer_of(*dma("hbm", "sbuf", shape=(partitions, 1024), dge_mode="hwdge"), SYNC).ports == 16
