"""Declares the rows of a timeline: instructions, DMA packets and semaphores under the profiler's keys, in whole ns rounded down as AWS's report does it."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec


def core_name(subgraph: str) -> str:
    """Return what people call the core of a row: `core 0` for `sg00`, as AWS's files have it; any other name as it is."""
    number = subgraph.removeprefix("sg")
    return f"core {int(number)}" if number != subgraph and number.isdecimal() else subgraph


class InstructionRow(msgspec.Struct, gc=False, omit_defaults=True):
    """One instruction. `nki_source_location`, the innermost line, needs NKI_DEBUG_INFO at compile time; the names need the NEFF.

    `nki_call_stack` (ours): the lines that called the innermost one, outermost first. `alignment` (ours): `runtime` for what the runtime puts around
    the kernel; where names come from a NEFF, also `compiled`, and `unaligned` for what could not be laid over the NEFF's instructions.
    """

    timestamp: float = 0
    duration: float = 0
    evt_wait_time: float = 0
    subgroup: str = ""
    subgraph: str = ""
    opcode: str = ""
    pc: int = -1
    operands: str = ""
    bir_instruction_name: str = ""
    raw_bir_id: int = 0
    hlo_name: str = ""
    nki_source_location: str | None = None
    nki_call_stack: tuple[str, ...] = ()
    alignment: str = ""


class DmaRow(msgspec.Struct, gc=False, omit_defaults=True):
    """One DMA packet. `subgroup`: `Q1-E64`, queue and engine; `queue_name`: ours, as the trace has it."""

    timestamp: float = 0
    duration: float = 0
    transfer_size: int = 0
    subgroup: str = ""
    subgraph: str = ""
    dma_engine: str | int = ""
    dma_queue: str | int = ""
    queue_type: str = ""
    queue_name: str = ""
    variable: str = ""
    nki_source_location: str | None = None
    nki_call_stack: tuple[str, ...] = ()


class SemaphoreRow(msgspec.Struct, gc=False, omit_defaults=True):
    """One new value of a semaphore. `id`: `S[8] (qSyncDynamicHW)` where it is known what it is for, else its number."""

    timestamp: float = 0
    id: str | int = ""
    value: int = 0
    subgraph: str = ""


class Dependence(enum.Enum):
    """Why an instruction comes after another. ORDERED: it stands behind it in the stream of one engine."""

    FLOW = "FLOW_DEPENDENCE"
    ANTI = "ANTI_DEPENDENCE"
    OUTPUT = "OUTPUT_DEPENDENCE"
    ORDERED = "ORDERED"
    OTHER = ""

    @classmethod
    def _missing_(cls, value: object) -> Dependence:
        return cls.OTHER


class Predecessor(msgspec.Struct, gc=False):
    """The `id` of the instruction that comes before."""

    id: int = 0
    type: Dependence = Dependence.OTHER


class LinkedInstructionRow(InstructionRow, gc=False, omit_defaults=True):
    """An instruction with those that it depends on. `instruction_type`: `TRANSPOSE` or `REGULAR`. Of the simulator alone (ours): `meets`, the `id` of the
    instruction of the other core that begins together with it; of a DMA `dma_start_ns`, the time from its begin until its packets may move, and
    `dma_pace`, what sets their pace, `hbm` or `dma`."""

    id: int = -1
    instruction_type: str = ""
    predecessors: list[Predecessor] = []
    meets: int = -1
    dma_start_ns: float = 0
    dma_pace: str = ""


class LinkedDmaRow(DmaRow, gc=False, omit_defaults=True):
    """A packet with the `id` of the instruction that started it, -1 where the file does not tell."""

    trigger: int = -1


class UsageRow(msgspec.Struct, gc=False, omit_defaults=True):
    """The part of a memory that is in use from a time on. `type`: `sb` or `psum`. `usage_avg`: fraction, over all partitions."""

    timestamp: float = 0
    type: str = ""
    usage_avg: float = 0
    subgraph: str = ""


class SensitivityRow(msgspec.Struct, gc=False, omit_defaults=True):
    """The simulated total time with one constant of the chip changed. `change`: `2x` or `0.5x`, the one that makes it better."""

    constant: str = ""
    change: str = ""
    total_time_us: float = 0


@dataclass(frozen=True)
class Timeline:
    """`summary`: the profiler's keys that are known. `unnamed_count`: instructions that are `unaligned`; None
    where names were not looked for. `notes`: what must be said about the rows. `usage`, `sensitivity`: only of a linked one."""

    path: str
    simulated: bool
    summary: dict[str, object]
    instructions: Sequence[InstructionRow]
    dma: Sequence[DmaRow]
    semaphores: Sequence[SemaphoreRow]
    unnamed_count: int | None = None
    notes: tuple[str, ...] = ()
    usage: list[UsageRow] = field(default_factory=list)
    sensitivity: list[SensitivityRow] = field(default_factory=list)
