"""Declares the records of a trace: what readers hand on, whether they read an NTFF or a profile JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from neff_bench.parsers.formats.ntff import DmaKind, family_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Certainty = Literal["exact", "calibrated", "unverified", "simulated"]
MEANING: Mapping[Certainty, str] = {
    "exact": "exact: equal to what AWS's profiler reads",
    "calibrated": "calibrated: counts are equal to what AWS's profiler reads, times lie within 0.5 %",
    "unverified": "unverified: this kind of trace was never compared with what AWS's profiler reads",
    "simulated": "simulated: computed by neuron-sim, with no device",
}
"""What people read for how far the figures of a trace were checked."""


OF_OPCODE = "instructions of opcode "
"""Under it `undecoded` counts those whose name is not public; their time is known."""


@dataclass(frozen=True)
class EngineTime:
    """`instruction_time_s` sums all instructions but EVENT_SEMAPHORE and counts overlaps twice; `active_time_s` is their union."""

    instruction_count: int
    instruction_time_s: float
    active_time_s: float


@dataclass(frozen=True)
class DmaTime:
    """`packet_time_s`: sum over packets from start to read done; `active_time_s`: their union.

    `left_out_packets`: whole packets of queues that had a packet on the way when the execution began. AWS's report drops
    them, and so do the figures beside it; `Ntff.dma_packets` has them all.
    """

    packets: int
    bytes: int
    packet_time_s: float
    active_time_s: float
    left_out_packets: int


@dataclass(frozen=True)
class MemoryUse:
    """Device memory that the runtime took for one purpose."""

    core: int
    name: str
    bytes: int


@dataclass(frozen=True, eq=False)
class Instructions:
    """Columns (n,), in no particular order. `begin_ps` counts from the start of the execution.

    `core`: physical core, or number of the subgraph where only that is known. `engine`: index into ENGINES. `opcode`: index into
    `opcode_names`. `wait_ns`: before issue, as AWS's report has it (the device counts 2^16 cycles and wraps); None without a clock rate.
    """

    core: NDArray[np.uint8]
    engine: NDArray[np.uint8]
    pc: NDArray[np.int32]
    opcode: NDArray[np.integer[Any]]
    opcode_names: tuple[str, ...]
    begin_ps: NDArray[np.int64]
    duration_ps: NDArray[np.int64]
    wait_ns: NDArray[np.int64] | None


@dataclass(frozen=True, eq=False)
class Semaphores:
    """Columns (n,), in file order. `event`: True for an event, False for a semaphore; `writer`: tag, engine index + 1 or other."""

    core: NDArray[np.uint8]
    id: NDArray[np.uint8]
    event: NDArray[np.bool_]
    operation: NDArray[np.uint8]
    writer: NDArray[np.uint8]
    value: NDArray[np.uint32]
    time_ps: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class DmaPackets:
    """Columns (n,). `engine`: 0..15 within the core; `reported`: whether AWS's report has the packet (see DmaTime)."""

    core: NDArray[np.uint8]
    engine: NDArray[np.integer[Any]]
    queue: NDArray[np.integer[Any]]
    bytes: NDArray[np.integer[Any]]
    begin_ps: NDArray[np.int64]
    duration_ps: NDArray[np.int64]
    reported: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Ntff:
    """One trace. Figures count what lies within the execution; None and missing keys are what the file does not tell.

    `uuid`: 32 hex digits of the NEFF's; fewer (an even number, possibly none) where the file holds it cut at a zero byte.
    `neuroncore_cycle_count`: base-clock cycles of the execution; None for an instance type of unknown clock.
    `full_buffers`: kinds of records that filled the device's buffer, so that later ones are lost and figures are lower bounds.
    `dma_kinds`: the same as `dma` for each kind of transfer that occurs, told by the names of the queues.
    `total_active_time_s`: the union of all instructions that take time and of all DMA packets, over the cores; None without a window (version 4
    and 5), where AWS's report follows another rule. `family`: `trn2` of `trn2.3xlarge`.
    `undecoded`: records that were met and not understood, counted under a name for each kind.
    """

    path: str
    bytes: int
    version: int
    certainty: Certainty
    uuid: str
    neff_name: str | None
    instance_type: str | None
    runtime_version: str | None
    driver_version: str | None
    collectives_version: str | None
    total_time_ps: int | None
    neuroncore_cycle_count: int | None
    event_count: int
    matmul_instruction_count: int | None
    activate_instruction_count: int | None
    engines: Mapping[str, EngineTime]
    dma: DmaTime | None
    dma_kinds: Mapping[DmaKind, DmaTime]
    total_active_time_s: float | None
    memory: tuple[MemoryUse, ...]
    queues: Mapping[tuple[int, int], str]
    instructions: Instructions
    semaphores: Semaphores
    dma_packets: DmaPackets
    throttle_ps: NDArray[np.int64]
    full_buffers: tuple[str, ...]
    undecoded: Mapping[str, int]

    @property
    def family(self) -> str | None:
        """The chip family of the instance type, None for one that is not known."""
        return family_of(self.instance_type)

    @property
    def trace_count(self) -> int | None:
        """Instructions, events and DMA packets, as AWS's report counts them; None where that follows another rule (version 4 and 5)."""
        if self.total_active_time_s is None or self.dma is None:
            return None
        return len(self.instructions.pc) + self.event_count + self.dma.packets

    @property
    def summed_active_time_s(self) -> float | None:
        """How long the engines and the DMAs worked, summed, so that overlaps count twice; None where that is not known."""
        if self.dma is None:
            return self.total_active_time_s
        return self.dma.active_time_s + sum(engine.active_time_s for engine in self.engines.values())

    @property
    def total_time_s(self) -> float | None:
        """Time of the execution in seconds, None where the trace does not say."""
        return None if self.total_time_ps is None else self.total_time_ps / 1e12
