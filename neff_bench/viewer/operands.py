"""Reads the tensors that an instruction reads and writes, from the text of its operands.

AWS's profiler writes `src=fp32@0x36ff8[1,1,1][512,1,1] channels=128`: address in a partition, steps and counts in elements, the innermost dimension first.
The simulator writes `data=float32@sbuf:tile+0[512,1][64,512]`: steps and counts with the partitions first, the innermost dimension last.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain
from math import prod
from typing import Literal, NamedTuple

Memory = Literal["sbuf", "psum", "hbm", ""]
PSUM_FROM, PSUM_TO = 0x2000000, 0x3000000
"""Addresses of PSUM, as all public profiles have them; those of SBUF are smaller."""
ITEM_BYTES = {
    "fp32": 4, "float32": 4, "int32": 4, "uint32": 4, "bfloat16": 2, "fp16": 2, "float16": 2, "int16": 2, "uint16": 2,
    "int8": 1, "uint8": 1,
}  # fmt: skip
PATTERN = r"(?P<name>\w+)=(?:(?P<dtype>\w+)@)?(?P<place>0x[0-9a-f]+|(?P<memory>\w+):\S*?\+\d+)\[(?P<steps>[-\d,]*)\]\[(?P<counts>[\d,]*)\]"
"""An access pattern."""
_OPERAND = re.compile(PATTERN)
_SAME = tuple(
    (re.compile(pattern), text)
    for pattern, text in (
        (r"0x(?<=[=@]0x)0*[01]?[0-9a-f]{1,6}(?=\[)", "0x0"),
        (r"0x(?<=[=@]0x)0*2[0-9a-f]{6}(?=\[)", f"0x{PSUM_FROM:x}"),
        *((rf"{memory}:(?<=[=@]{memory}:)\S*?\+\d+(?=\[)", f"{memory}:+0") for memory in ("sbuf", "psum", "hbm")),
    )
)
"""What stands for all places of a memory. A pattern begins with plain letters, which are found fast."""
FORMS = 1 << 12
"""So many texts at a time are searched for places."""
_CHANNELS = re.compile(r"\bchannels=(\d+)")


class Operand(NamedTuple):
    """`place`: address or buffer, which two operands on the same elements share. `free`: elements for each partition. `step`: between neighbours in a
    partition, in elements. `partitions`, `dtype`: None where the text does not say."""

    name: str
    dtype: str | None
    memory: Memory
    place: str
    free: int
    step: int
    partitions: int | None

    @property
    def step_bytes(self) -> int | None:
        """None where the dtype is not said."""
        size = ITEM_BYTES.get(self.dtype or "")
        return None if size is None else abs(self.step) * size


class Shape(NamedTuple):
    """The most that an instruction works on. `free`: elements for each partition, of what is not in HBM. `step_bytes`: between neighbours in a partition
    of SBUF. `is_wide`: all of it lies in SBUF, and some of more than one element is float32."""

    partitions: int
    free: int
    step_bytes: int
    is_wide: bool


def shape_of(operands: Sequence[Operand]) -> Shape:
    """Return the shape of an instruction's operands. What is in PSUM is not wide: it has no fast mode and would stay slow."""
    return Shape(
        max((one.partitions or 0 for one in operands), default=0),
        max((one.free for one in operands if one.memory != "hbm"), default=0),
        max((one.step_bytes or 0 for one in operands if one.memory == "sbuf" and one.free > 1), default=0),
        all(one.memory == "sbuf" for one in operands)
        and any(one.dtype in ("fp32", "float32") and one.free > 1 for one in operands),
    )


def operands_in(text: str, names: tuple[str, ...] = ("",)) -> tuple[Operand, ...]:
    """Return the operands that are access patterns, in the order of the text. `names`: of those that are asked for, each with its `=`."""
    channels = _CHANNELS.search(text) if "channels=" in text else None
    partitions = int(channels[1]) if channels else None
    found = [_operands(word, partitions) for word in text.split() if word.startswith(names) and "[" in word]
    return found[0] if len(found) == 1 else tuple(chain.from_iterable(found))


def forms(texts: Sequence[str]) -> Iterator[str]:
    """Return an iterator over the texts, each with one place for each memory: those that differ in places alone become equal, and have operands of one
    shape."""
    return chain.from_iterable(_forms(texts[at : at + FORMS]) for at in range(0, len(texts), FORMS))


def _forms(texts: Sequence[str]) -> list[str]:
    whole = "\n".join(texts)
    if whole.count("\n") >= len(texts):
        whole = "\n".join(" ".join(text.split()) for text in texts)
    for pattern, text in _SAME:
        whole = pattern.sub(text, whole)
    return whole.split("\n")


@lru_cache(maxsize=1 << 14)  # many instructions share an operand
def _operands(word: str, partitions: int | None) -> tuple[Operand, ...]:
    return tuple(_operand(groups, partitions) for groups in _OPERAND.findall(word))


def _operand(groups: tuple[str, ...], partitions: int | None) -> Operand:
    name, dtype, place, buffer, steps, counts = groups
    free, step, own = _extent(steps, counts, bool(buffer))
    whole = f"{place}[{steps}][{counts}]"
    return Operand(name, dtype or None, _memory(buffer, place), whole, free, step, own if buffer else partitions)


@lru_cache(maxsize=1 << 12)
def _extent(steps: str, counts: str, partitions_first: bool) -> tuple[int, int, int | None]:
    """Return the elements of a partition, the step between them, and the partitions, where they are told."""
    numbers = [int(one) for one in counts.split(",") if one]
    if partitions_first:
        return prod(numbers[1:]), int(steps.rpartition(",")[2] or 1), numbers[0] if numbers else None
    return prod(numbers), int(steps.partition(",")[0] or 1), None


def _memory(said: str, place: str) -> Memory:
    if said in ("sbuf", "psum", "hbm"):
        return said  # type: ignore[return-value]
    if said:
        return ""
    address = int(place, 16)
    return "sbuf" if address < PSUM_FROM else "psum" if address < PSUM_TO else "hbm"
