"""Reads the operands of an instruction, from the 64 bytes of its slot, in the words of AWS's profiler.

    0       opcode                          4, 5    waits for: how, number of the semaphore or event     8..11   the value waited for
    1       0x10, the length in words       6, 7    sets at its end: how, number
    access pattern of 3 dimensions: u32 address, 3 x i16 steps, 3 x u16 counts; of 4: u32 address, 4 x i16, 4 x u16

The rest differs by opcode, as below. Nothing of it is published: it was worked out on nine public profiles. A field that has one value in all of them is
left out, a slot with a byte that none of those has has no text at all, and a code that none of them shows is a number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from struct import unpack_from

from neff_bench.errors import NeffBenchError
from neff_bench.parsers.formats.neff import INSTRUCTION_BYTES
from neff_bench.parsers.formats.opcodes import PUBLIC

DTYPES = {6: "bfloat16", 7: "fp16", 8: "int32", 9: "uint32", 10: "fp32"}
FUNCTIONS = {0x07: "EXP", 0x80: "COPY"}
OPERATIONS = {0: "BYPASS", 4: "ADD", 6: "MULTIPLY", 8: "MAX"}
FP32_MODES = {1: "LOW", 2: "HIGH", 3: "LOW_HIGH"}
COMPARISONS = {0: "ALWAYS", 3: "EQ"}
ORDERING = {0: "relaxed", 1: "strict"}
AT_LEAST, EQUAL, EVENT_IS_SET = 0x05, 0x01, 0x07
SET_EVENT, INCREMENT, DECREMENT, ADD, SET = 0x11, 0x13, 0x14, 0x15, 0x19
DMA_TABLE = 0x20
"""Top byte of an address that is a place in a table."""

Names = Callable[[int], str]
"""The name of a semaphore by its number: `S[5] (Tensor)`."""


class _Strange(NeffBenchError):
    """A slot that the rules below do not explain."""


def operands_of(slot: bytes, names: Names) -> str:
    """Return the text of a slot of 64 bytes; empty for an opcode without operands, and for a slot that is not understood."""
    reader = _READERS.get(slot[0]) if len(slot) == INSTRUCTION_BYTES else None
    if reader is None:
        return ""
    try:
        _only(slot, 2 if slot[0] not in _HINTED else 4, 4)
        words = [*_waits(slot, 4, 8, names), *_sets(slot, 6, None, names), *reader(slot, names)]
    except _Strange:
        return ""
    return " ".join(words)


def _only(slot: bytes, begin: int, end: int) -> None:
    """Check that only the given bytes are not zero, as in all slots that are known. Raises `_Strange`."""
    if any(slot[begin:end]):
        raise _Strange


def _code(names: Mapping[int, str], code: int) -> str:
    return names.get(code) or f"0x{code:02x}"


def _waits(slot: bytes, at: int, value_at: int, names: Names) -> list[str]:
    how, number, value = slot[at], slot[at + 1], unpack_from("<I", slot, value_at)[0]
    if how == 0:
        return []
    if how == EVENT_IS_SET:
        return [f"$E[{number}]==1-"]
    if how not in (AT_LEAST, EQUAL):
        raise _Strange
    return [f"{names(number)}{'>=' if how == AT_LEAST else '=='}{value}"]


def _sets(slot: bytes, at: int, value_at: int | None, names: Names) -> list[str]:
    """Return what a slot does to events and semaphores. `value_at`: None where a slot has no place for a value."""
    how, number = slot[at], slot[at + 1]
    if how == 0:
        return []
    if how == SET_EVENT:
        return [f"$E[{number}]+@complete"]
    if how == INCREMENT:
        return [f"{names(number)}++@complete"]
    if value_at is None or how not in (DECREMENT, ADD, SET):
        raise _Strange
    value = unpack_from("<I", slot, value_at)[0]
    change = {DECREMENT: "--", ADD: f"+={value}", SET: f"={value}"}[how]
    return [f"{names(number)}{change}@complete"]


def _pattern(slot: bytes, at: int, dimensions: int) -> str:
    """Return `0x2000800[1,1,1][512,1,1]`: address, steps, counts; the innermost dimension first."""
    address = unpack_from("<I", slot, at)[0]
    steps = unpack_from(f"<{dimensions}h", slot, at + 4)
    counts = unpack_from(f"<{dimensions}H", slot, at + 4 + 2 * dimensions)
    return f"0x{address:x}[{','.join(map(str, steps))}][{','.join(map(str, counts))}]"


def _event_semaphore(slot: bytes, names: Names) -> list[str]:
    _only(slot, 12, 32)
    _only(slot, 44, 64)
    return [*_waits(slot, 32, 36, names), *_sets(slot, 34, 40, names)]


def _nop(slot: bytes, names: Names) -> list[str]:
    _only(slot, 16, 64)
    return [f"cycle={unpack_from('<I', slot, 12)[0]}"]


def _product(slot: bytes, names: Names) -> list[str]:
    """Return MATMUL and LDWEIGHTS. Bytes 44 to 46 differ between chips and stand in no text."""
    _only(slot, 12, 16)
    _only(slot, 35, 38)
    _only(slot, 40, 43)
    moving = slot[0] == PUBLIC["MATMUL"]
    words = [f"acc_flags={slot[43]}"] if moving else []
    words += [f"fp32_mode={_code(FP32_MODES, slot[33])}"] if slot[33] else []
    words += ["transpose_mode=ENABLED"] if slot[34] and not moving else []
    words += [f"src={_code(DTYPES, slot[32])}@{_pattern(slot, 16, 3)}"]
    words += [f"dst={_pattern(slot, 48, 3)}"] if moving else []
    return [*words, f"{slot[38]}*{slot[39]}"]


def _between(slot: bytes, dimensions: int) -> list[str]:
    """Return source, target and partitions of an operation on SBUF and PSUM."""
    source, target = (16, 48) if dimensions == 3 else (12, 44)
    return [
        f"src={_code(DTYPES, slot[32] & 0x0F)}@{_pattern(slot, source, dimensions)}",
        f"dst={_code(DTYPES, slot[33])}@{_pattern(slot, target, dimensions)}",
        f"channels={slot[34]}",
    ]


def _copy(slot: bytes, names: Names) -> list[str]:
    _only(slot, 35, 44)
    return _between(slot, 4)


def _reduce(slot: bytes, names: Names) -> list[str]:
    _only(slot, 38, 44)
    if slot[37] != 2 or slot[35] > 1:
        raise _Strange
    words = [f"op={_code(OPERATIONS, slot[36])}", "dim=X", *(["negated=1"] if slot[35] else [])]
    return words + _between(slot, 4)


def _tensor_scalar(slot: bytes, names: Names) -> list[str]:
    """Byte 35: the operands that are addresses in SBUF, which hold one number for each partition."""
    _only(slot, 12, 16)
    _only(slot, 38, 40)
    if slot[35] > 1:
        raise _Strange
    first = f"0x{unpack_from('<I', slot, 40)[0]:x}" if slot[35] else f"{unpack_from('<f', slot, 40)[0]:g}"
    ops = f"ops={_code(OPERATIONS, slot[36])},{_code(OPERATIONS, slot[37])}"
    sources = f"imm_src={'PTR' if slot[35] else 'INSTRUCTION'},INSTRUCTION"
    return [ops, f"imm={first},{unpack_from('<f', slot, 44)[0]:g}", sources, *_between(slot, 3)]


def _activate(slot: bytes, names: Names) -> list[str]:
    """Return bytes 12 and 15, which agree in all known slots: whether the bias is a number and no address."""
    _only(slot, 13, 15)
    _only(slot, 44, 48)
    if slot[12] != slot[15] or slot[15] > 1:
        raise _Strange
    scale, bias = unpack_from("<f", slot, 36)[0], unpack_from("<f", slot, 40)[0]
    address = f"bias_ptr={_code(DTYPES, slot[32] >> 4)}@0x{unpack_from('<I', slot, 40)[0]:x}"
    return [
        _code(FUNCTIONS, slot[35]),
        f"bias_imm={bias:f}" if slot[15] else address,
        *_between(slot, 3),
        f"scale={scale:f}",
    ]


def _dma(slot: bytes, names: Names) -> list[str]:
    """Return the sizes and steps in bytes."""
    _only(slot, 12, 13)
    _only(slot, 15, 16)
    patterns = []
    for steps_at in (24, 48):
        one, other = unpack_from("<2i", slot, steps_at)
        counts = unpack_from("<2H", slot, steps_at + 8)
        patterns.append(f"[{one},{other}][{counts[0]},{counts[1]}]")
    dtypes = (
        [] if slot[62] == slot[63] else [f"in_dtype={_code(DTYPES, slot[62])}", f"out_dtype={_code(DTYPES, slot[63])}"]
    )
    return [
        f"semaphore={slot[13]} sem_increment={slot[14]}",
        f"src_elem_size={unpack_from('<H', slot, 36)[0]} dst_elem_size={unpack_from('<H', slot, 60)[0]}",
        f"src_pattern={patterns[0]} dst_pattern={patterns[1]}",
        f"{_place(slot, 16, 'src')} {_place(slot, 40, 'dst')}",
        *dtypes,
    ]


def _place(slot: bytes, at: int, end: str) -> str:
    """Return an address, or the place in a table of a tensor whose address is known when the program is loaded."""
    address = unpack_from("<Q", slot, at)[0]
    if slot[at + 7] == DMA_TABLE:
        return f"{end}_table_offset_imm=0x{address & 0xFFFFFFFF:x} {end}_table_index={address >> 32 & 0xFFFFFF}"
    if slot[at + 7]:
        raise _Strange
    return f"{end}_addr_imm=0x{address:x}"


def _registers(slot: bytes, names: Names) -> list[str]:
    """Return TENSOR_LOAD and TENSOR_STORE: between memory and registers."""
    address, steps, counts = unpack_from("<Q", slot, 16)[0], unpack_from("<2h", slot, 24), slot[14:16]
    numbers = slot[32 : 32 + counts[0] * counts[1]]
    memory = f"0x{address:x}[{steps[0]},{steps[1]}][{counts[0]},{counts[1]}]"
    return [f"addr={_code(DTYPES, slot[12])}@{memory}", "data=" + ",".join(f"$R[{one}]" for one in numbers)]


def _branch(slot: bytes, names: Names) -> list[str]:
    kind = [] if slot[12] == 0 else [f"dtype={_code(DTYPES, slot[13])}"]
    hint = [f"debugHint={slot[3]}"] if slot[3] else []
    return [f"cmp_op={_code(COMPARISONS, slot[12])}", *kind, f"label_id={unpack_from('<I', slot, 48)[0]}", *hint]


def _write(slot: bytes, names: Names) -> list[str]:
    sizes = [size for size in slot[12:14] if size]
    targets, values = unpack_from("<2Q", slot, 16), unpack_from("<2Q", slot, 32)
    return [
        "data=" + ",".join(f"0x{values[i]:x}" for i in range(len(sizes))),
        "size=" + ",".join(map(str, sizes)),
        "dst=" + ",".join(f"0x{targets[i]:x}" for i in range(len(sizes))),
    ]


def _ordering(slot: bytes, names: Names) -> list[str]:
    _only(slot, 13, 64)
    return [f"ordering_mode={_code(ORDERING, slot[12])}"]


def _range_clear(slot: bytes, names: Names) -> list[str]:
    _only(slot, 15, 64)
    if slot[12] != 1:
        raise _Strange
    return [f"mode=SEMAPHORE_ZERO first={slot[13]} last={slot[14]}"]


def _notify(slot: bytes, names: Names) -> list[str]:
    return [f"hint={slot[36]}"]


_HINTED = {PUBLIC["COMPARE_BRANCH"], PUBLIC["NOTIFY"]}
"""Opcodes that have bytes 2 and 3."""
_READERS: dict[int, Callable[[bytes, Names], list[str]]] = {
    PUBLIC[name]: reader
    for reader, opcodes in {
        _event_semaphore: ("EVENT_SEMAPHORE",), _nop: ("NOP",), _product: ("MATMUL", "LDWEIGHTS"),
        _copy: ("COPY", "CAST", "RECIPROCAL"), _reduce: ("TENSOR_REDUCE",), _tensor_scalar: ("TENSOR_SCALAR",),
        _activate: ("ACTIVATE",), _dma: ("DMA_DIRECT2D",), _registers: ("TENSOR_LOAD", "TENSOR_STORE"),
        _branch: ("COMPARE_BRANCH",), _write: ("WRITE",), _ordering: ("SET_ORDERING_MODE",),
        _range_clear: ("EVENT_SEMAPHORE_RANGE_CLEAR",), _notify: ("NOTIFY",),
    }.items()
    for name in opcodes
}  # fmt: skip
