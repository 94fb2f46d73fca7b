"""The tensors that an instruction reads and writes, from the text of its operands.

AWS's profiler writes `src=fp32@0x36ff8[1,1,1][512,1,1] channels=128`: address in a partition, steps and counts in elements, the innermost dimension first.
The simulator writes `data=float32@sbuf:tile+0[512,1][64,512]`: steps and counts with the partitions first, the innermost dimension last.
"""

from __future__ import annotations

import re
from math import prod
from typing import Literal, NamedTuple

Memory = Literal["sbuf", "psum", "hbm", ""]
PSUM_FROM, PSUM_TO = 0x2000000, 0x3000000
"""Addresses of PSUM, as all public profiles have them; those of SBUF are smaller."""
ITEM_BYTES = {
    "fp32": 4, "float32": 4, "int32": 4, "uint32": 4, "bfloat16": 2, "fp16": 2, "float16": 2, "int16": 2, "uint16": 2,
    "int8": 1, "uint8": 1,
}  # fmt: skip
_OPERAND = re.compile(
    r"(?P<name>\w+)=(?:(?P<dtype>\w+)@)?(?P<place>0x[0-9a-f]+|(?P<memory>\w+):\S*?\+\d+)\[(?P<steps>[-\d,]*)\]\[(?P<counts>[\d,]*)\]"
)
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


def operands_in(text: str) -> tuple[Operand, ...]:
    """Those that are access patterns, in the order of the text."""
    channels = _CHANNELS.search(text)
    return tuple(_operand(found, int(channels[1]) if channels else None) for found in _OPERAND.finditer(text))


def _operand(found: re.Match[str], channels: int | None) -> Operand:
    steps, counts = ([int(one) for one in found[key].split(",") if one] for key in ("steps", "counts"))
    memory, place = _memory(found["memory"], found["place"]), found[0].partition("=")[2]
    if found["memory"]:
        free, partitions = counts[1:], counts[0] if counts else None
        return Operand(found["name"], found["dtype"], memory, place, prod(free), steps[-1] if free else 1, partitions)
    return Operand(found["name"], found["dtype"], memory, place, prod(counts), steps[0] if steps else 1, channels)


def _memory(said: str | None, place: str) -> Memory:
    if said in ("sbuf", "psum", "hbm"):
        return said  # type: ignore[return-value]
    if said:
        return ""
    address = int(place, 16)
    return "sbuf" if address < PSUM_FROM else "psum" if address < PSUM_TO else "hbm"
