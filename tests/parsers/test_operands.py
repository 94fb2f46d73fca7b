"""The operands of a slot, in the words of AWS's profiler."""

from struct import pack

import pytest

from neff_bench.parsers.formats.opcodes import PUBLIC
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


ZERO = {
    "LDWEIGHTS": "2-4 6 12-15 35-37 40-42", "MATMUL": "2-4 6 12-15 35-37 40-42", "ACTIVATE": "2-4 6 12-15 44-47",
    "TENSOR_REDUCE": "2-4 6 35 37-43", "TENSOR_SCALAR": "2-4 6 12-15 35 38-39", "COPY": "2-4 6 35-43",
    "EVENT_SEMAPHORE": "2-4 6 12-32 34 44-63", "NOP": "2-4 6 16-63", "WRITE": "2-4 6", "NOTIFY": "4 6",
    "COMPARE_BRANCH": "4 6", "TENSOR_LOAD": "2-4 6", "EVENT_SEMAPHORE_RANGE_CLEAR": "2-4 6 12 15-63",
    "SET_ORDERING_MODE": "2-4 6 13-63", "DMA_DIRECT2D": "2-4 6 12 15 23 47",
}  # fmt: skip
"""The bytes that may not hold just any value."""
LEAST = {
    "TENSOR_REDUCE": [(37, "B", 2)], "EVENT_SEMAPHORE_RANGE_CLEAR": [(12, "B", 1)], "EVENT_SEMAPHORE": [(32, "2B", 7, 1)],
}  # fmt: skip


@pytest.mark.parametrize("opcode", ZERO)
def test_a_byte_that_no_known_slot_has_leaves_a_slot_without_text(opcode):
    plain = slot(PUBLIC[opcode], *LEAST.get(opcode, []))
    strange = {at for at in range(1, 64) if not operands_of(plain[:at] + b"\x7f" + plain[at + 1 :], named)}
    first_last = (part.split("-") for part in ZERO[opcode].split())
    assert strange == {
        at for first, *last in first_last for at in range(int(first), int(last[0] if last else first) + 1)
    }


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ([(4, "2B", 5, 9), (8, "I", 16)], "$S[9]>=16"),
        ([(4, "2B", 1, 5), (8, "I", 3)], "S[5] (Tensor)==3"),
        ([(4, "2B", 7, 6)], "$E[6]==1-"),
        ([(6, "2B", 0x11, 6)], "$E[6]+@complete"),
        ([(6, "2B", 0x13, 6)], "$S[6]++@complete"),
        ([(34, "2B", 0x14, 6)], "$S[6]--@complete"),
        ([(34, "2B", 0x15, 6), (40, "I", 7)], "$S[6]+=7@complete"),
        ([(34, "2B", 0x19, 6), (40, "I", 7)], "$S[6]=7@complete"),
        ([(34, "2B", 0x11, 6)], "$E[6]+@complete"),
        ([(6, "2B", 0x14, 6)], ""),
        ([(34, "2B", 0x16, 6)], ""),
    ],
)
def test_what_a_slot_waits_for_and_sets(fields, text):
    assert operands_of(slot(0xA0, *fields), named) == text


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (slot(0x21, (12, "4B", 1, 0, 0, 1), (35, "Bff", 0x80, 2.5, -1.0)),
         "COPY bias_imm=-1.000000 src=0x00@0x0[0,0,0][0,0,0] dst=0x00@0x0[0,0,0][0,0,0] channels=0 scale=2.500000"),
        (slot(0x43, (36, "2B", 4, 8), (40, "2f", 0.25, 3.0)),
         "ops=ADD,MAX imm=0.25,3 imm_src=INSTRUCTION,INSTRUCTION src=0x00@0x0[0,0,0][0,0,0] dst=0x00@0x0[0,0,0][0,0,0] channels=0"),
        (slot(0x42, (32, "6B", 7, 8, 16, 1, 4, 2)),
         "op=ADD dim=X negated=1 src=fp16@0x0[0,0,0,0][0,0,0,0] dst=int32@0x0[0,0,0,0][0,0,0,0] channels=16"),
        (slot(2, (33, "2B", 1, 1)), "acc_flags=0 fp32_mode=LOW src=0x00@0x0[0,0,0][0,0,0] dst=0x0[0,0,0][0,0,0] 0*0"),
        (slot(1, (32, "2B", 9, 2)), "fp32_mode=HIGH src=uint32@0x0[0,0,0][0,0,0] 0*0"),
        (slot(0xA4, (12, "I", 70_000)), "cycle=70000"),
        (slot(0xA9, (3, "B", 2), (12, "2B", 3, 8), (48, "I", 9)), "cmp_op=EQ dtype=int32 label_id=9 debugHint=2"),
        (slot(0xA9, (12, "2B", 0, 8)), "cmp_op=ALWAYS label_id=0"),
        (slot(0xA5, (12, "2B", 4, 8), (16, "2Q", 0x10, 0x20), (32, "2Q", 1, 2)), "data=0x1,0x2 size=4,8 dst=0x10,0x20"),
        (slot(0xA5, (12, "2B", 4, 0), (16, "2Q", 0x10, 0x20), (32, "2Q", 1, 2)), "data=0x1 size=4 dst=0x10"),
        (slot(0xB1, (12, "B", 1)), "ordering_mode=strict"), (slot(0xB1, (12, "B", 2)), "ordering_mode=0x02"),
        (slot(0xB0, (12, "3B", 1, 3, 53)), "mode=SEMAPHORE_ZERO first=3 last=53"), (slot(0xA6, (36, "B", 3)), "hint=3"),
        (slot(0xAA, (12, "B", 8), (14, "2B", 2, 2), (16, "Q2h", 0x9000, 4, -8), (32, "6B", 1, 2, 3, 4, 5, 6)),
         "addr=int32@0x9000[4,-8][2,2] data=$R[1],$R[2],$R[3],$R[4]"),
        (slot(0xB8, (16, "Q", 0x20_ABCDEF_FFFFFFFF), (40, "Q", 0x20_000001_00000002)),
         "semaphore=0 sem_increment=0 src_elem_size=0 dst_elem_size=0 src_pattern=[0,0][0,0] dst_pattern=[0,0][0,0] "
         "src_table_offset_imm=0xffffffff src_table_index=11259375 dst_table_offset_imm=0x2 dst_table_index=1"),
    ],
)  # fmt: skip
def test_fields_and_codes_of_each_opcode(given, text):
    assert operands_of(given, named) == text


def test_a_bias_is_a_number_an_address_or_nothing_that_is_known():
    assert [operands_of(slot(0x21, (12, "4B", *four)), named) != "" for four in ((0, 0, 0, 0), (1, 0, 0, 1), (2, 0, 0, 2), (1, 0, 0, 0))] == [
        True, True, False, False,
    ]  # fmt: skip
