"""What would make a kernel faster: findings with their evidence and the time that each could save at most.

The rules are those of AWS's guides for NKI kernels, bound to what a timeline counts. Gains are estimates from the timeline alone: the time of the
work that the finding is about, as far as nothing else runs beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from neff_bench.parsers.event_tables import DmaRow, InstructionRow, Timeline

SMALL_PACKET_BYTES = 512
"""AWS's guide on DMA bandwidth asks for 2 KiB or more; below this the fixed cost of a packet is more than its transfer."""
GAIN_SHARE_MIN = 0.02
"""Of the total time; what would save less is not said."""
NS_PER_US = 1000.0


@dataclass(frozen=True)
class Advice:
    """One finding. `title`: what to do. `evidence`: the numbers that say so. `gain_us`: what it could save of the total time; None where that is not known.
    `metric`: the column of a row, or the key of the profiler, that shows it."""

    title: str
    evidence: str
    gain_us: float | None
    metric: str


def advise(timeline: Timeline) -> tuple[Advice, ...]:
    """The findings for a timeline, the largest gain first."""
    total = timeline.summary.get("total_time")
    total_us = float(total) * 1e6 if isinstance(total, (int, float)) else 0.0
    found = [advice for rule in RULES for advice in rule(timeline)]
    found = [advice for advice in found if advice.gain_us is None or advice.gain_us >= GAIN_SHARE_MIN * total_us]
    return tuple(sorted(found, key=lambda advice: -(advice.gain_us or 0.0)))


def _small_packets(timeline: Timeline) -> Iterator[Advice]:
    small = [row for row in timeline.dma if 0 < row.transfer_size < SMALL_PACKET_BYTES]
    if not small:
        return
    engines = [row for row in timeline.instructions if row.opcode not in WAITS]
    alone = _alone_ns(small, engines)
    moved = sum(row.transfer_size for row in small)
    yield Advice(
        "Move more bytes with each DMA: at least 2 KiB for each partition, over 128 partitions",
        f"{len(small)} of {len(timeline.dma)} DMA packets are smaller than {SMALL_PACKET_BYTES} bytes and move {moved} bytes in all",
        alone / NS_PER_US,
        "dma_packet_count",
    )


WAITS = ("EVENT_SEMAPHORE",)


def _alone_ns(rows: Sequence[DmaRow | InstructionRow], others: Sequence[DmaRow | InstructionRow]) -> float:
    """The time that some of `rows` take while none of `others` does."""
    marks = [(row.timestamp, 0, 1) for row in rows] + [(row.timestamp + row.duration, 0, -1) for row in rows]
    marks += [(row.timestamp, 1, 1) for row in others] + [(row.timestamp + row.duration, 1, -1) for row in others]
    open_rows, alone, before = [0, 0], 0.0, 0.0
    for time, kind, step in sorted(marks):
        if open_rows[0] and not open_rows[1]:
            alone += time - before
        open_rows[kind] += step
        before = time
    return alone


RULES: Sequence[Callable[[Timeline], Iterator[Advice]]] = (_small_packets,)
