"""Names machine opcodes: byte 0 of a 64-byte instruction slot, by the names that AWS's profiler prints for it.

Opcodes whose byte no public trace shows have the simulator's own numbers, from 0x10 to 0x1f and from 0x60, which have no meaning in a real file.
"""

from __future__ import annotations

PUBLIC = {
    "LDWEIGHTS": 0x01, "MATMUL": 0x02, "ACTIVATE": 0x21, "ACT_TABLE_LOAD": 0x23, "TENSOR_REDUCE": 0x42,
    "TENSOR_SCALAR": 0x43, "COPY": 0x46, "CAST": 0x47, "RECIPROCAL": 0x48, "EVENT_SEMAPHORE": 0xA0, "DRAIN": 0xA2,
    "NOP": 0xA4, "WRITE": 0xA5, "NOTIFY": 0xA6, "COMPARE_BRANCH": 0xA9, "TENSOR_LOAD": 0xAA, "TENSOR_STORE": 0xAB,
    "EVENT_SEMAPHORE_RANGE_CLEAR": 0xB0, "SET_ORDERING_MODE": 0xB1, "DMA_DIRECT2D": 0xB8,
}  # fmt: skip

_OWN = (
    "ACTIVATE_REDUCE", "TENSOR_TENSOR", "TENSOR_TENSOR_SCAN", "SCALAR_TENSOR_TENSOR", "TENSOR_SCALAR_REDUCE",
    "TENSOR_SCALAR_CUMULATIVE", "TENSOR_PARTITION_REDUCE", "MEMSET", "IOTA", "AFFINE_SELECT", "RANGE_SELECT",
    "SELECT_REDUCE", "COPY_PREDICATED", "BN_STATS", "BN_AGGR", "STREAM_SHUFFLE", "TRANSPOSE", "MAX8", "FIND_INDEX8",
    "MATCH_REPLACE8", "GATHER", "RNG", "QUANTIZE_MX", "REGISTER_MOVE", "CUSTOM_OP", "DMA_TRANSPOSE2D", "DMA_COMPUTE",
    "SENDRECV", "CORE_BARRIER", "EXPONENTIAL", "REGISTER_ALU",
)  # fmt: skip

OPCODES: dict[str, int] = PUBLIC | {name: 0x10 + i if i < 16 else 0x50 + i for i, name in enumerate(_OWN)}
"""Name to byte: the public ones and the simulator's own."""
NAMES: dict[int, str] = {byte: name for name, byte in OPCODES.items()}

SETUP = frozenset(
    ("EVENT_SEMAPHORE", "DRAIN", "NOP", "WRITE", "NOTIFY", "COMPARE_BRANCH", "TENSOR_LOAD", "SET_ORDERING_MODE",
     "EVENT_SEMAPHORE_RANGE_CLEAR")
)  # fmt: skip
"""What AWS's harness does not count as work (github.com/aws-neuron/nki-library, test/utils/metrics_collector.py)."""


UNNAMED = "OP_0x"


def names_by_byte(simulated: bool) -> tuple[str, ...]:
    """Return 256 names; `OP_0xNN` where the byte has none. `simulated`: with the simulator's own."""
    known = NAMES if simulated else {byte: name for name, byte in PUBLIC.items()}
    return tuple(known.get(byte, f"{UNNAMED}{byte:02X}") for byte in range(256))
