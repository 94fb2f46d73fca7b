"""Byte 0 of a 64-byte instruction, by the names that AWS's profiler prints for it.

Found by matching traces with the profiler's JSON of the same run on trn2 and inf2; opcodes that never met a name keep a number.
"""

from __future__ import annotations

OPCODES = {
    0x01: "LDWEIGHTS",
    0x02: "MATMUL",
    0x21: "ACTIVATE",
    0x23: "ACT_TABLE_LOAD",
    0x42: "TENSOR_REDUCE",
    0x43: "TENSOR_SCALAR",
    0x46: "COPY",
    0x47: "CAST",
    0x48: "RECIPROCAL",
    0xA0: "EVENT_SEMAPHORE",
    0xA2: "DRAIN",
    0xA4: "NOP",
    0xA5: "WRITE",
    0xA6: "NOTIFY",
    0xA9: "COMPARE_BRANCH",
    0xAA: "TENSOR_LOAD",
    0xAB: "TENSOR_STORE",
    0xB0: "EVENT_SEMAPHORE_RANGE_CLEAR",
    0xB1: "SET_ORDERING_MODE",
    0xB8: "DMA_DIRECT2D",
}

MATMUL = 0x02
ACTIVATE = 0x21
EVENT_SEMAPHORE = 0xA0
NOTIFY = 0xA6


def opcode_name(opcode: int) -> str:
    """The profiler's name, `OP_0xNN` where none is known."""
    return OPCODES.get(opcode, f"OP_0x{opcode:02X}")


OPCODE_NAMES = tuple(opcode_name(opcode) for opcode in range(256))
