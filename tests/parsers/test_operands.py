"""The operands of a slot, in the words of AWS's profiler."""

from struct import pack

import pytest

from neff_bench.parsers.operands import operands_of


def slot(opcode, *fields):
    """64 bytes: an opcode, then (place, format, values...) for each field."""
    made = bytearray(64)
    made[0:2] = bytes([opcode, 0x10])
    for place, kind, *values in fields:
        data = pack(f"<{kind}", *values)
        made[place : place + len(data)] = data
    return bytes(made)


def named(number):
    return {5: "S[5] (Tensor)"}.get(number, f"$S[{number}]")


MATMUL = (
    (6, "2B", 0x13, 5), (16, "I3h3H", 0x36FF8, 1, 0, 0, 512, 1, 1), (32, "2B", 10, 3), (38, "2B", 128, 64), (43, "B", 3),
    (44, "2B", 0x0F, 0x0F), (48, "I3h3H", 0x2000800, 1, 0, 0, 512, 1, 1),
)  # fmt: skip


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (
            slot(2, *MATMUL),
            "S[5] (Tensor)++@complete acc_flags=3 fp32_mode=LOW_HIGH src=fp32@0x36ff8[1,0,0][512,1,1] "
            "dst=0x2000800[1,0,0][512,1,1] 128*64",
        ),
        (
            slot(1, (16, "I3h3H", 0x372FE, -1, 0, -32, 32, 1, 4), (32, "3B", 6, 0, 1), (38, "2B", 128, 128)),
            "transpose_mode=ENABLED src=bfloat16@0x372fe[-1,0,-32][32,1,4] 128*128",
        ),
        (
            slot(0x46, (4, "2B", 5, 9), (8, "I", 16), (12, "I4h4H", 0x2000000, 1, 1, 1, 1, 512, 1, 1, 1),
                 (32, "3B", 10, 6, 128), (44, "I4h4H", 0x4000, 1, 1, 1, 1, 512, 1, 1, 1)),
            "$S[9]>=16 src=fp32@0x2000000[1,1,1,1][512,1,1,1] dst=bfloat16@0x4000[1,1,1,1][512,1,1,1] channels=128",
        ),
        (
            slot(0x21, (16, "I3h3H", 0x6000, 1, 1, 1, 64, 1, 1), (32, "4B", 0xAA, 10, 128, 7), (36, "fI", 0.5, 0x4810),
                 (48, "I3h3H", 0x8000, 1, 1, 1, 64, 1, 1)),
            "EXP bias_ptr=fp32@0x4810 src=fp32@0x6000[1,1,1][64,1,1] dst=fp32@0x8000[1,1,1][64,1,1] channels=128 scale=0.500000",
        ),
        (
            slot(0x43, (16, "I3h3H", 0x6000, 1, 1, 1, 64, 1, 1), (32, "6B", 10, 10, 128, 1, 6, 0), (40, "If", 0x6840, 0.0),
                 (48, "I3h3H", 0x8000, 1, 1, 1, 64, 1, 1)),
            "ops=MULTIPLY,BYPASS imm=0x6840,0 imm_src=PTR,INSTRUCTION src=fp32@0x6000[1,1,1][64,1,1] "
            "dst=fp32@0x8000[1,1,1][64,1,1] channels=128",
        ),
        (
            slot(0xB8, (13, "2B", 24, 16), (16, "Q", 0x20000003_00000040), (24, "2i3H", 512, 1, 128, 1, 512), (40, "Q", 0x8000_1000),
                 (48, "2i3H2B", 4096, 1, 128, 1, 256, 10, 6)),
            "semaphore=24 sem_increment=16 src_elem_size=512 dst_elem_size=256 src_pattern=[512,1][128,1] dst_pattern=[4096,1][128,1] "
            "src_table_offset_imm=0x40 src_table_index=3 dst_addr_imm=0x80001000 in_dtype=fp32 out_dtype=bfloat16",
        ),
        (slot(0xA0, (32, "4B2I", 1, 2, 0x19, 2, 8, 0)), "$S[2]==8 $S[2]=0@complete"),
        (slot(0x42, (12, "I4h4H", 0, *[1] * 8), (32, "6B", 10, 10, 128, 0, 0x7F, 2), (44, "I4h4H", 0, *[1] * 8)),
         "op=0x7f dim=X src=fp32@0x0[1,1,1,1][1,1,1,1] dst=fp32@0x0[1,1,1,1][1,1,1,1] channels=128"),
    ],
)  # fmt: skip
def test_a_slot_is_told_as_the_profiler_tells_it(given, text):
    assert operands_of(given, named) == text


@pytest.mark.parametrize(
    "given",
    [
        slot(2, *MATMUL, (12, "B", 1)),
        slot(2, *MATMUL, (4, "B", 0x33)),
        slot(0x21, (12, "B", 1)),
        slot(0x99),
        slot(0xA2),
        b"\x02\x10",
    ],
)
def test_what_is_not_understood_has_no_text(given):
    assert operands_of(given, named) == ""
