"""What would make a kernel faster: findings with their evidence and the time that each could save at most.

The rules are those of AWS's guides for NKI kernels (github.com/aws-neuron/aws-neuron-sdk, nki/deep-dives: nki_perf_guide, nki-dma-bandwidth-guide, nki-dge;
nki/guides/architecture), bound to what a timeline counts. The gain is the time that the work a finding is about spends on the critical path, as far as
the advice saves it. A timeline that does not tell what depends on what has no critical path: there it is the time in which nothing else runs.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from neff_bench.chips import CHIPS, Chip
from neff_bench.parsers.event_rows import DmaRow, InstructionRow, LinkedDmaRow, LinkedInstructionRow, Timeline
from neff_bench.parsers.formats.ntff import family_of
from neff_bench.parsers.formats.opcodes import SETUP
from neff_bench.viewer.critical_path import DMA, PathStep, critical_path

GAIN_SHARE_MIN = 0.02
"""Of the total time; what would save less is not said."""
SMALL_PACKET_BYTES = 512
"""The guide on DMA bandwidth asks for 2 KiB or more in a packet; below this its fixed cost is more than its transfer."""
SMALL_DMA_BYTES = 16 * 1024
"""Ours: 128 partitions of 128 bytes. The fixed 2 us of a DMA are more than the transfer then."""
SEMAPHORE_BYTES = 4
"""A packet of this size signals the end of a DMA and moves nothing."""
FEW = 8
"""So many DMAs need no second queue, and so few instructions no other order."""
ISSUERS = 3
"""Sync, Scalar and GpSimd can issue DMAs at the same time."""
MOST = 0.9
HARDWARE_DESCRIPTORS_FROM = 3
"""The generation of NeuronCores from which on hardware writes descriptors."""
FLOAT32 = ("=fp32@", "=float32@")
"""How operands of AWS's profiler and of the simulator say it."""
COPIES = ("COPY", "CAST")
NS_PER_US = 1000.0


@dataclass(frozen=True)
class Advice:
    """One finding. `title`: what to do. `evidence`: the numbers that say so. `gain_us`: what it could save of the total time; None where that is not known.
    `metric`: the column of a row, the key of the profiler or the constant of the chip that shows it."""

    title: str
    evidence: str
    gain_us: float | None
    metric: str


def advise(timeline: Timeline) -> tuple[Advice, ...]:
    """The findings for a timeline, the largest gain first. `linked` ones are judged along their critical path."""
    facts = _Facts(timeline)
    found = [advice for rule in RULES for advice in rule(facts)]
    found = [one for one in found if one.gain_us is None or one.gain_us >= GAIN_SHARE_MIN * facts.total_us]
    return tuple(sorted(found, key=lambda advice: -(advice.gain_us or 0.0)))


def sensitivity(timeline: Timeline) -> tuple[Advice, ...]:
    """For a simulated timeline: what each constant of the chip, better by a factor of two, would gain, the most first; empty elsewhere."""
    total = _total_us(timeline)
    found = [
        Advice(f"{row.constant} {row.change}", f"{total:.1f} us become {row.total_time_us:.1f} us (simulated)",
               total - row.total_time_us, row.constant)
        for row in timeline.sensitivity
    ]  # fmt: skip
    return tuple(sorted(found, key=lambda advice: -(advice.gain_us or 0.0)))


def _total_us(timeline: Timeline) -> float:
    total = timeline.summary.get("total_time")
    return float(total) * 1e6 if isinstance(total, (int, float)) else 0.0


class _Facts:
    """What the rules ask a timeline for; each answer is worked out once."""

    def __init__(self, timeline: Timeline) -> None:
        self.timeline, self.rows = timeline, timeline.instructions
        self.total_us = _total_us(timeline)

    @cached_property
    def chip(self) -> Chip | None:
        """By the instance type, None for one that is not known."""
        family = family_of(str(self.timeline.summary.get("instance_type", "")))
        return CHIPS[family] if family else None

    @cached_property
    def path(self) -> tuple[PathStep, ...]:
        return critical_path(self.timeline)

    @cached_property
    def dmas(self) -> dict[int, list[DmaRow]]:
        """By the instruction that started them: packets that move data."""
        number = {row.id: index for index, row in enumerate(self.rows) if isinstance(row, LinkedInstructionRow)}
        found: dict[int, list[DmaRow]] = defaultdict(list)
        for packet in self.timeline.dma:
            trigger = number.get(packet.trigger) if isinstance(packet, LinkedDmaRow) else None
            if trigger is not None and packet.transfer_size > SEMAPHORE_BYTES:
                found[trigger].append(packet)
        return found

    def indices(self, chosen: Callable[[InstructionRow], bool]) -> list[int]:
        """Of the rows that are chosen."""
        return [index for index, row in enumerate(self.rows) if chosen(row)]

    def time_us(self, indices: Collection[int], spent_on: str | None = None) -> float:
        """The time that these instructions take on the critical path, of it what is `spent_on` one thing; without a path, the time that no other work runs beside them."""
        chosen = set(indices)
        if self.path:
            steps = [step for step in self.path if step.index in chosen and spent_on in (None, step.spent_on)]
            return sum(step.end_ns - step.begin_ns for step in steps) / NS_PER_US
        mine = [self.rows[index] for index in chosen]
        others = [row for index, row in enumerate(self.rows) if index not in chosen and row.opcode not in SETUP]
        return alone_ns(mine, [*others, *self.timeline.dma]) / NS_PER_US

    def busy_share(self, engine: str) -> float:
        """The part of the kernel's own time in which an engine works."""
        work = [row for row in self.rows if row.opcode not in SETUP]
        mine = [row for row in work if row.subgroup == engine]
        span = max((row.timestamp + row.duration for row in work), default=0.0) - min((row.timestamp for row in work), default=0.0)  # fmt: skip
        return alone_ns(mine, ()) / span if span else 0.0


def alone_ns(rows: Sequence[DmaRow | InstructionRow], others: Sequence[DmaRow | InstructionRow]) -> float:
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


def _small_dmas(facts: _Facts) -> Iterator[Advice]:
    title = "Move more with each DMA: 2 KiB or more for each partition, over 128 partitions"
    sizes = {index: sum(packet.transfer_size for packet in packets) for index, packets in facts.dmas.items()}
    small = [
        index for index, packets in facts.dmas.items()
        if sizes[index] < SMALL_DMA_BYTES or sizes[index] / len(packets) < SMALL_PACKET_BYTES
    ]  # fmt: skip
    if facts.path and facts.chip and len(small) >= FEW:
        moved, packets = sum(sizes[index] for index in small), sum(len(facts.dmas[index]) for index in small)
        on_path = [step.index for step in facts.path if step.index in small]
        # What is left: one DMA that moves as much at the full rate.
        rate = facts.chip.dma_engine_bandwidth * facts.chip.dma_engines
        left_ns = facts.chip.dma_start_ns + facts.chip.dma_wait_ns + sum(sizes[index] for index in on_path) / rate
        gain = facts.time_us(small) - left_ns / NS_PER_US
        evidence = f"{len(small)} of {len(sizes)} DMAs move {moved / len(small):.0f} bytes each, in packets of {moved / packets:.0f} bytes"
        yield Advice(title, evidence, max(gain, 0.0), "dma_packet_count")
    elif not facts.dmas:
        packets_of_data = [row for row in facts.timeline.dma if row.transfer_size > SEMAPHORE_BYTES]
        tiny = [row for row in packets_of_data if row.transfer_size < SMALL_PACKET_BYTES]
        work = [row for row in facts.rows if row.opcode not in SETUP]
        if tiny:
            moved = sum(row.transfer_size for row in tiny)
            evidence = f"{len(tiny)} of {len(packets_of_data)} DMA packets move {moved / len(tiny):.0f} bytes each"
            yield Advice(title, evidence, alone_ns(tiny, work) / NS_PER_US, "dma_packet_count")


def _one_queue(facts: _Facts) -> Iterator[Advice]:
    issued = facts.indices(lambda row: row.opcode.startswith("DMA_"))
    by_engine = Counter(facts.rows[index].subgroup for index in issued)
    if not by_engine:
        return
    engine, count = by_engine.most_common(1)[0]
    if count < FEW or count < MOST * len(issued):
        return
    issue_us = facts.time_us(issued, engine)
    yield Advice(
        "Issue DMAs from several engines: Sync, Scalar and GpSimd have queues of their own",
        f"{count} of {len(issued)} DMAs are issued by {engine}; their issue takes {issue_us:.1f} us that nothing hides",
        issue_us * (1 - 1 / ISSUERS),
        f"{engine.lower()}_instruction_count",
    )


def _software_dmas(facts: _Facts) -> Iterator[Advice]:
    chip = facts.chip
    issued = facts.indices(lambda row: row.opcode.startswith("DMA_"))
    software = [index for index in issued if facts.rows[index].subgroup == "GpSimd"]
    if not software or chip is None or chip.generation < HARDWARE_DESCRIPTORS_FROM:
        return
    waited = sum(step.index in set(software) and step.spent_on == DMA for step in facts.path)
    slower_ns = max(chip.software_dma_prepare_ns + chip.software_dma_start_ns - chip.dma_start_ns, 0.0)
    yield Advice(
        "Let the hardware write the descriptors of DMAs: issue them on Sync and Scalar in turn (dge_mode hwdge)",
        f"GpSimd writes the descriptors of {len(software)} of {len(issued)} DMAs; the critical path waits for the start of {waited} of them",
        facts.time_us(software, "GpSimd") / 2 + waited * slower_ns / NS_PER_US,
        "software_dynamic_dma_packet_count",
    )


def _float32(facts: _Facts) -> Iterator[Advice]:
    products = facts.indices(lambda row: row.subgroup == "Tensor" and row.opcode not in SETUP)
    wide = [
        index for index in products
        if any(mark in operand for operand in facts.rows[index].operands.split() for mark in FLOAT32 if not operand.startswith("dst="))
    ]  # fmt: skip
    if wide:
        on_pe = facts.time_us(wide)
        yield Advice(
            "Give the Tensor Engine bfloat16: float32 takes several passes through it, and twice the bytes",
            f"{len(wide)} of {len(products)} instructions of the Tensor Engine read float32, {on_pe:.1f} us of the critical path",
            on_pe / 2,
            "tensor_active_us",
        )


def _transposes(facts: _Facts) -> Iterator[Advice]:
    rows = facts.rows
    products = facts.indices(lambda row: row.opcode == "MATMUL")
    turned = [
        index for index in products
        if isinstance(row := rows[index], LinkedInstructionRow) and row.instruction_type == "TRANSPOSE"
    ]  # fmt: skip
    if len(turned) < FEW // 2:
        return
    ids = {row.id for index in turned if isinstance(row := rows[index], LinkedInstructionRow)}
    emptied = facts.indices(
        lambda row: isinstance(row, LinkedInstructionRow)
        and row.subgroup != "Tensor"
        and row.opcode not in SETUP
        and any(before.id in ids for before in row.predecessors)
    )
    spent = facts.time_us([*turned, *emptied])
    yield Advice(
        "Lay the tensor out so that no tile is transposed on the Tensor Engine, swap the operands, or let the DMA transpose",
        f"{len(turned)} of {len(products)} products are transposes; with the copies that empty PSUM after them they take {spent:.1f} us of the critical path",
        spent,
        "transpose_flops",
    )


def _copies(facts: _Facts) -> Iterator[Advice]:
    copies = facts.indices(lambda row: row.opcode in COPIES)
    by_engine = Counter(facts.rows[index].subgroup for index in copies)
    if len(copies) < FEW or not by_engine:
        return
    engine, count = by_engine.most_common(1)[0]
    other = "Scalar" if engine != "Scalar" else "Vector"
    idle = 1 - facts.busy_share(other)
    if count < MOST * len(copies):
        return
    spent = facts.time_us([index for index in copies if facts.rows[index].subgroup == engine])
    yield Advice(
        f"Share the copies between {engine} and {other}",
        f"{count} of {len(copies)} copies run on {engine}, {spent:.1f} us of the critical path, while {other} is idle {idle:.0%} of the time",
        spent * idle / 2,
        f"{engine.lower()}_active_us",
    )


def _table_loads(facts: _Facts) -> Iterator[Advice]:
    loads = facts.indices(lambda row: row.opcode == "ACT_TABLE_LOAD")
    if len(loads) > 2:
        spent = facts.time_us(loads)
        yield Advice(
            "Group the activation functions: each change of the table loads it again",
            f"{len(loads)} ACT_TABLE_LOAD, {spent:.1f} us of the critical path",
            spent * (len(loads) - 1) / len(loads),
            "scalar_active_us",
        )


def _on_gpsimd(facts: _Facts) -> Iterator[Advice]:
    work = facts.indices(
        lambda row: row.subgroup == "GpSimd" and row.opcode not in SETUP and not row.opcode.startswith("DMA_")
    )
    if work:
        spent = facts.time_us(work)
        yield Advice(
            "Move work from GpSimd to Vector or Scalar, which are several times as fast",
            f"{len(work)} instructions on GpSimd, {spent:.1f} us of the critical path",
            spent / 2,
            "gpsimd_active_us",
        )


def _waits_for_dma(facts: _Facts) -> Iterator[Advice]:
    waited = sum(step.end_ns - step.begin_ns for step in facts.path if step.spent_on == DMA) / NS_PER_US
    packets = alone_ns(facts.timeline.dma, ()) / NS_PER_US
    hidden = waited - packets
    if facts.path and hidden > 0:
        yield Advice(
            "Load the next tile while this one is computed: two buffers, larger tiles",
            f"the critical path waits {waited:.1f} us for DMAs, whose packets move for {packets:.1f} us",
            hidden,
            "dma_active_us",
        )


def _spills(facts: _Facts) -> Iterator[Advice]:
    keys = facts.timeline.summary
    sizes = [keys.get(key) for key in ("spill_save_bytes", "spill_reload_bytes", "hbm_read_bytes")]
    save, reload, read = (float(size) if isinstance(size, (int, float)) else 0.0 for size in sizes)
    if facts.chip and reload > read / 4 > 0:
        yield Advice(
            "Keep what is used again in SBUF: smaller blocks, buffers inside the inner loop",
            f"spills: {save:.0f} bytes saved, {reload:.0f} of {read:.0f} bytes read from HBM are reloads",
            (save + reload) / facts.chip.hbm_bandwidth / NS_PER_US,
            "spill_reload_bytes",
        )


RULES: Sequence[Callable[[_Facts], Iterator[Advice]]] = (
    _small_dmas,
    _one_queue,
    _software_dmas,
    _float32,
    _transposes,
    _copies,
    _table_loads,
    _on_gpsimd,
    _waits_for_dma,
    _spills,
)
