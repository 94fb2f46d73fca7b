import pytest

from simulator.program import Access, Buffer, Instruction, Program
from simulator.transfers import transfer_of, trigger_engine

SCALAR, GPSIMD, SYNC = 1, 2, 4


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
    ("arguments", "engine", "chosen"),
    [
        ({"src": "hbm", "dst": "sbuf"}, GPSIMD, True),
        ({"src": "sbuf", "dst": "hbm", "kinds": ("internal", "output")}, GPSIMD, True),
        ({"src": "hbm", "dst": "sbuf", "kinds": ("internal", "internal")}, SYNC, True),
        ({"src": "sbuf", "dst": "hbm", "kinds": ("internal", "internal")}, SCALAR, True),
        ({"src": "hbm", "dst": "sbuf", "dge_mode": "hwdge"}, SYNC, False),
        ({"src": "hbm", "dst": "sbuf", "engine": "scalar"}, SCALAR, False),
    ],
)
def test_who_triggers_a_dma(arguments, engine, chosen):
    assert trigger_engine(*dma(**arguments)) == (engine, chosen)


def test_bytes_by_memory():
    transfer = transfer_of(*dma("hbm", "sbuf"), GPSIMD)
    assert (transfer.hbm_read, transfer.sbuf_write) == (262144, 262144)
    assert (transfer.hbm_write, transfer.sbuf_read, transfer.psum_read) == (0, 0, 0)


def test_hardware_packets_are_rows_and_software_joins_them():
    hardware = transfer_of(*dma("hbm", "sbuf", shape=(128, 256)), SYNC)
    software = transfer_of(*dma("hbm", "sbuf", shape=(128, 256)), GPSIMD)
    assert (hardware.packets, hardware.packet_bytes) == (128, 512)
    assert (software.packets, software.packet_bytes) == (16, 4096)


def test_small_software_transfers_use_all_dma_engines():
    # The inf2 traces move 128 rows of 256 bytes in 16 packets of 2048.
    small = transfer_of(*dma("hbm", "sbuf", shape=(128, 128)), GPSIMD)
    assert (small.packets, small.packet_bytes) == (16, 2048)


def test_single_elements_are_packets_of_their_own():
    column = transfer_of(*dma("hbm", "sbuf", shape=(128, 64), src_pattern=((1, 128), (128, 64))), SYNC)
    assert column.packet_bytes == 2 and column.packets == 128 * 64


def test_long_rows_are_split():
    assert transfer_of(*dma("hbm", "sbuf", shape=(128, 8192)), SYNC).packet_bytes == 4096


def test_descriptors_of_compile_time_are_static():
    assert transfer_of(*dma("hbm", "sbuf", dge_mode="none"), SYNC).static
    assert not transfer_of(*dma("hbm", "sbuf"), GPSIMD).static
