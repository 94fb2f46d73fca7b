"""Gives advice about DMAs and about what they move."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from neff_bench.parsers.event_columns import coded, numbers
from neff_bench.parsers.formats.opcodes import SETUP
from neff_bench.viewer.advice.facts import FEW, NS_PER_US, PARTITIONS, Advice, Facts, covered_ns, spans
from neff_bench.viewer.critical_path import BOUNDS
from neff_bench.viewer.operands import operands_in
from neff_bench.viewer.packets import SEMAPHORE_BYTES

SMALL_PACKET_BYTES = 512
"""The guide on DMA bandwidth asks for 2 KiB or more in a packet; below this its fixed cost is more than its transfer."""
SMALL_DMA_BYTES = 128 * 1024
"""Ours: 1 KiB for each of 128 partitions. The issue of a DMA takes about twice as long as moving so much at the full rate (trn2)."""
AGAIN_MIN = 1.5
"""Ours: so many times as much as there is to read."""
STORM_PACKETS, STORM_NS = 256, 10_000.0
"""Ours: so many small packets of dynamic DMAs, in so short a time, are worth a word."""
DYNAMIC = ("software_dynamic", "hardware_dynamic")
ISSUERS = 3
"""Sync, Scalar and GpSimd can issue DMAs at the same time."""
MOST = 0.9


def _elements(facts: Facts) -> Iterator[Advice]:
    alone = facts.single_elements
    if facts.path and alone:
        waited = facts.time_us(alone, for_packets=True)
        yield Advice(
            "Let DMAs move whole rows, and transpose or repeat on the chip: a DMA that does it moves each element in a packet of its own",
            f"{len(alone)} DMAs move {sum(alone.values())} single elements; they take {waited:.1f} us of the critical path, issue and latency included{facts.at(alone)}",
            waited,
            "dma_packet_count",
        )


def _small_dmas(facts: Facts) -> Iterator[Advice]:
    title = "Move more with each DMA: 2 KiB or more for each partition, over 128 partitions"
    sizes = {index: size for index, (size, _) in facts.dmas.items()}
    small = {
        index for index, (size, packets) in facts.dmas.items()
        if size < SMALL_DMA_BYTES or size / packets < SMALL_PACKET_BYTES
    }  # fmt: skip
    if facts.path and facts.chip and len(small) >= FEW:
        moved, packets = sum(sizes[index] for index in small), sum(facts.dmas[index][1] for index in small)
        on_path = [step.index for step in facts.path if step.index in small]
        # What is left: one DMA that moves as much at the full rate.
        rate = facts.chip.dma_engine_bandwidth * facts.chip.dma_engines
        left_ns = facts.chip.dma_start_ns + facts.chip.dma_wait_ns + sum(sizes[index] for index in on_path) / rate
        gain = facts.time_us(small) - left_ns / NS_PER_US
        rows = facts.of_forms(np.array([*small]), _partitions).sum()
        some = len({size / packets for size, packets in (facts.dmas[index] for index in small)}) > 1
        each = f"for each of {rows / len(small):.0f} partitions" if rows else "each"
        evidence = f"{len(small)} of {len(sizes)} DMAs move {moved / (rows or len(small)):.0f} bytes {each}, in packets of {moved / packets:.0f} bytes{' on average' if some else ''}{facts.at(small)}"
        yield Advice(title, evidence, max(gain, 0.0), "dma_packet_count")
    elif not facts.dmas:
        size, (begin, end) = numbers(facts.timeline.dma, "transfer_size"), spans(facts.timeline.dma)
        of_data = size > SEMAPHORE_BYTES
        tiny = of_data & (size < SMALL_PACKET_BYTES)
        work = facts.starts(facts.indices(lambda row: row.opcode not in SETUP))
        if tiny.any():
            evidence = (
                f"{tiny.sum()} of {of_data.sum()} DMA packets with data move {size[tiny].mean():.0f} bytes on average"
            )
            gain = covered_ns((begin[tiny], end[tiny]), work) - covered_ns(work)
            yield Advice(title, evidence, gain / NS_PER_US, "dma_packet_count")


def _converting(facts: Facts) -> Iterator[Advice]:
    dmas = np.array([*facts.dmas], np.int64)
    converting = dmas[facts.of_forms(dmas, _converts) > 0]
    if facts.path and facts.chip and len(converting):
        waited = facts.time_us(converting, for_packets=True)
        # The factor is 2: with half of it a DMA that converts is as fast as one that does not.
        saved = facts.better_us("dma_convert_factor")
        yield Advice(
            "Give a tile the dtype of the tensor that it is loaded from or stored to: a DMA that converts moves its packets more slowly",
            f"{len(converting)} of {len(facts.dmas)} DMAs convert; they take {waited:.1f} us of the critical path, issue and latency included{_worked_out('without converting', saved)}{facts.at(converting)}",
            waited * (1 - 1 / facts.chip.dma_convert_factor) if saved is None else saved,
            "dma_active_us",
        )


def _worked_out(how: str, saved_us: float | None) -> str:
    """Return what the simulator worked out, for the middle of a sentence; "" where it did not."""
    return "" if saved_us is None else f"; {how} the total would be {saved_us:.1f} us less"


def _converts(text: str) -> bool:
    """Return whether a DMA reads one dtype and writes another."""
    return len({one.dtype for one in operands_in(text, ("src=", "dst=")) if one.dtype}) > 1


def _partitions(text: str) -> int:
    """Return how many partitions of SBUF a DMA fills or reads; 0 where that is not said."""
    return max((one.partitions or 0 for one in operands_in(text) if one.memory == "sbuf"), default=0)


def _few_partitions(facts: Facts) -> Iterator[Advice]:
    """Yield advice where DMAs leave DMA engines idle that others wait for: each serves a part of the partitions of SBUF."""
    dmas = np.array([*facts.dmas], np.int64)
    used = facts.of_forms(dmas, _partitions)
    are_few = (used > 0) & (used <= PARTITIONS // 2)
    few = {*dmas[are_few].tolist()}
    moving = (ns for step in facts.path if step.index in few for what, ns in step.spent_ns if what == BOUNDS["dma"])
    if moving_us := sum(moving) / NS_PER_US:
        mean = float(used[are_few].sum()) / len(few)
        yield Advice(
            "Load and store 128 partitions with each DMA: one of fewer leaves DMA engines idle",
            f"{len(few)} of {len(facts.dmas)} DMAs fill or read {mean:.0f} partitions; their packets move for {moving_us:.1f} us of the critical path{facts.at(few)}",
            moving_us * (1 - mean / PARTITIONS),
            "dma_active_us",
        )


def _one_queue(facts: Facts) -> Iterator[Advice]:
    issued = facts.indices(lambda row: row.opcode.startswith("DMA_"))
    by_engine = facts.engines(issued)
    # `nl.load` of the old dialect and a jax function choose no engine.
    if not by_engine or facts.timeline.summary.get("simulator_dialect", "current") != "current":
        return
    engine, count = by_engine.most_common(1)[0]
    if count < FEW or count < MOST * len(issued):
        return
    its_own = facts.indices(lambda row: row.opcode.startswith("DMA_") and row.subgroup == engine)
    issue_us = facts.time_us(its_own, for_packets=False)
    again = (
        "; a load that repeats another is left out only while you choose no engine for it"
        if facts.number("simulator_left_out_bytes")
        else ""
    )
    saved = facts.better_us("software_dma_issue_ns" if engine == "GpSimd" else "dma_issue_ns")
    yield Advice(
        "Issue DMAs from several engines, as dma_copy(..., engine=nisa.engine.scalar): Sync, Scalar and GpSimd have queues of their own",
        f"{count} of {len(issued)} DMAs are issued by {engine}; their issue takes {issue_us:.1f} us {facts.alone}{_worked_out('with an issue of half the time', saved)}{again}{facts.at(issued)}",
        issue_us * (1 - 1 / ISSUERS) if saved is None else saved,
        f"{engine.lower()}_instruction_count",
    )


def _waits_for_dma(facts: Facts) -> Iterator[Advice]:
    waited = sum(step.end_ns - step.begin_ns for step in facts.path if step.for_packets) / NS_PER_US
    packets = covered_ns(spans(facts.timeline.dma)) / NS_PER_US
    hidden = waited - packets
    if facts.path and hidden > 0:
        yield Advice(
            "Load the next tile while this one is computed: two buffers, larger tiles",
            f"the critical path waits {waited:.1f} us for DMAs, whose packets move for {packets:.1f} us",
            hidden,
            "dma_active_us",
        )


def _spills(facts: Facts) -> Iterator[Advice]:
    save, reload, read = (
        facts.number(key) or 0.0 for key in ("spill_save_bytes", "spill_reload_bytes", "hbm_read_bytes")
    )
    if facts.chip and reload > read / 4 > 0:
        yield Advice(
            "Keep what is used again in SBUF: smaller blocks, buffers inside the inner loop",
            f"spills: {save:.0f} bytes saved, {reload:.0f} of {read:.0f} bytes read from HBM are reloads",
            (save + reload) / facts.chip.hbm_bandwidth / NS_PER_US,
            "spill_reload_bytes",
        )


def _loaded_again(facts: Facts) -> Iterator[Advice]:
    """Yield advice where more is read than there is to read, or what the kernel itself wrote beyond its outputs. Each core has an SBUF of its own to load it into."""
    read, held = facts.number("hbm_read_bytes"), facts.number("inputs_and_weights_size_bytes")
    cores = len({kind.subgraph for kind in facts.kinds.values if kind.opcode not in SETUP})
    reloaded = facts.number("spill_reload_bytes") or 0.0
    if not read or not held or read - reloaded < AGAIN_MIN * held * cores:
        return
    loads = {*facts.indices(lambda row: row.opcode.startswith("DMA_"))} - {*facts.single_elements}
    own, waited = read - reloaded, facts.time_us(loads, for_packets=True)
    written = facts.number("hbm_write_bytes") or 0.0
    outputs = (facts.number("inputs_outputs_weights_size_bytes") or held) - held
    kept = written - outputs - (facts.number("spill_save_bytes") or 0.0)
    evidence = (
        f"{own:.0f} bytes are read from HBM, where inputs and weights hold {held:.0f}: {own / held:.1f} times"
        + (f" by {cores} cores" if cores > 1 else "")
    )
    gain = waited * (1 - held * cores / own)
    if kept > (own - held) / 2:
        title = "Keep intermediate results in SBUF: what the kernel writes to HBM it loads again"
        yield Advice(
            title,
            f"{evidence}; {written:.0f} bytes are written, {outputs:.0f} of them outputs",
            gain,
            "hbm_write_bytes",
        )
        return
    variable = coded(facts.timeline.dma, ("variable",), str)
    moved = np.bincount(variable.codes, numbers(facts.timeline.dma, "transfer_size"), len(variable.values)).tolist()
    moves = {name: size for size, name in zip(moved, variable.values) if name not in ("", "unknown")}
    most = f", most of it {max(again, key=again.__getitem__)}" if (again := _again(facts) or moves) else ""
    title = (
        "Load each tensor once: keep it in SBUF, or order the loops so that a tile is used up before the next is loaded"
    )
    yield Advice(title, evidence + most, gain, "hbm_read_bytes")


def _again(facts: Facts) -> dict[str, int]:
    """Return the bytes of each tensor in HBM that are read although they were read before, where its name and places are known. A tensor that is
    broadcast is read once for each partition."""
    again: dict[str, int] = defaultdict(int)
    seen: set[tuple[str, str]] = set()
    for index, (size, _) in facts.dmas.items():
        for one in facts.operands(index):
            if one.name == "src" and one.place.startswith("hbm:"):
                place = (facts.kind(index).subgraph, one.place)
                once = 0 if place in seen else size // (one.partitions or 1) if "[0," in one.place else size
                again[one.place[4:].rpartition("+")[0]] += size - once
                seen.add(place)
    return {name: size for name, size in again.items() if size}


def _packet_storm(facts: Facts) -> Iterator[Advice]:
    """Yield advice on measured profiles only: the simulator's times do not suffer from it."""
    packets = () if facts.timeline.simulated else facts.timeline.dma
    kinds, size = coded(packets, ("queue_type",), DYNAMIC.__contains__), numbers(packets, "transfer_size")
    dynamic = np.array(kinds.values, bool)[kinds.codes]
    small = np.sort(numbers(packets, "timestamp")[dynamic & (size > SEMAPHORE_BYTES) & (size < SMALL_PACKET_BYTES)])
    most = (np.searchsorted(small, small + STORM_NS) - np.arange(len(small))).max(initial=0)
    if most >= STORM_PACKETS:
        yield Advice(
            "Join the small dynamic DMAs: where there are many at once, the times of the profile are not reliable either",
            f"up to {most} packets of dynamic DMAs with less than {SMALL_PACKET_BYTES} bytes begin within {STORM_NS / NS_PER_US:.0f} us",
            None,
            "dma_packet_count",
        )


RULES: Sequence[Callable[[Facts], Iterator[Advice]]] = (
    _elements,
    _small_dmas,
    _converting,
    _few_partitions,
    _one_queue,
    _waits_for_dma,
    _spills,
    _loaded_again,
    _packet_storm,
)
