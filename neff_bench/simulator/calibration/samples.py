"""Reads single constants of a chip off a timeline: one number for each place where the hardware shows one.

A duration shows the latency of an operation; two neighbours of one engine whose times overlap how soon results follow each other; the first and the last
instruction of the kernel what surrounds it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from statistics import median

from neff_bench.chips import Chip
from neff_bench.chips.calibration import POSTAMBLE, PREAMBLE
from neff_bench.chips.engines import ENGINES, TITLES
from neff_bench.chips.overheads import Control
from neff_bench.parsers.event_rows import DmaRow, InstructionRow, Timeline
from neff_bench.simulator.calibration.operations import (
    OPS,
    Operation,
    instruction_of,
    model_ns,
    operation_of,
    stream_ns,
)
from neff_bench.simulator.compiler.code.lowering import lower

Samples = dict[str, list[float]]
"""Values by the name of a constant, each in the unit of the constant."""

Spacing = tuple[int, float]
"""Bytes of a DMA packet, and how long after it the next one of its DMA engine began, in ns."""

_PIPELINES = frozenset(("scalar", "vector", "gpsimd"))
"""Engines that take an instruction in before the one before is done."""

_FULL_SPEED = 1.25
"""What lasts longer than this multiple of its modelled time ran on a throttled PE, or in a mode that the model has no cost of."""


def samples_of(timeline: Timeline, chip: Chip) -> Samples:
    """Return what the instructions of a timeline show."""
    found: Samples = defaultdict(list)
    by_engine: dict[tuple[str, str], list[InstructionRow]] = defaultdict(list)
    for row in timeline.instructions:
        by_engine[row.subgraph, row.subgroup].append(row)
    cores = sorted({core for core, _ in by_engine})
    starts: dict[int, list[float]] = defaultdict(list)
    ends = []
    for (core, title), rows in by_engine.items():
        engine, number = TITLES.index(title), cores.index(core)
        bounds = _kernel(rows, chip, number, engine)
        if bounds is not None:
            begin, end = bounds
            entered = rows[begin - 1]
            starts[number].append(entered.timestamp + entered.duration - chip.overheads.kernel_start_ns(number, engine))
            ends += [row.timestamp + row.duration for row in rows[begin:end]]
            rows = rows[begin:end]
            # Outside of the kernel a WRITE is the runtime's and starts no DMA.
            for row in rows:
                if row.opcode == "WRITE":
                    found["static_dma_issue_ns"].append(row.duration)
        for name, value in _instructions(rows, engine, chip):
            found[name].append(value)
    whole = sum(map(len, starts.values())) == len(by_engine)
    return found | dict(_surroundings(starts, ends if whole else [], timeline, chip))


def _surroundings(
    starts: dict[int, list[float]], ends: list[float], timeline: Timeline, chip: Chip
) -> Iterable[tuple[str, list[float]]]:
    """Yield what comes before and after the kernel. `starts`: by core, how much later than in the model each engine began with it.
    `ends`: of the kernel's instructions; empty where the last one is not known."""
    for core, later in starts.items():
        yield f"{PREAMBLE}[{core}]", [chip.overheads.preamble_ns + median(later)]
    total_s = timeline.summary.get("total_time")
    with_operands = any(row.operands for row in timeline.instructions)
    if ends and with_operands and isinstance(total_s, (int, float)):
        yield POSTAMBLE, [total_s * 1e9 - max(ends)]


def _kernel(rows: Sequence[InstructionRow], chip: Chip, core: int, engine: int) -> tuple[int, int] | None:
    """Return where the rows between the runtime's instructions begin and end; None where those are not the ones that the model has."""
    overheads = chip.overheads
    if core >= len(overheads.preamble):
        return None
    before, after = overheads.preamble[core][engine], overheads.postamble[core][engine]
    if overheads.leaving:
        after = (*overheads.leaving[core][engine], *after)
    if not _same(rows[: len(before)], before):
        return None
    # A core without work may have more of the runtime's instructions behind these.
    for end in range(len(rows) - len(after), len(before) - 1, -1):
        if _same(rows[end : end + len(after)], after):
            while end > len(before) and _of_a_barrier(rows[end - 1]):
                end -= 1
            return len(before), end
    return None


def _of_a_barrier(row: InstructionRow) -> bool:
    """Return whether the engine only meets the others at the end of the kernel: a compiled wait is of a NOP, or has no `$S[`."""
    return row.opcode == "DRAIN" or (row.opcode == "EVENT_SEMAPHORE" and "$S[" in row.operands)


def _same(rows: Sequence[InstructionRow], controls: Sequence[Control]) -> bool:
    return [row.opcode for row in rows] == [control.opcode for control in controls]


def _instructions(rows: Sequence[InstructionRow], engine: int, chip: Chip) -> Iterator[tuple[str, float]]:
    """Yield the constants that the instructions of one engine show, with their values."""
    idle_from = 0.0
    for row in rows:
        was_busy = row.timestamp < idle_from
        idle_from = max(idle_from, row.timestamp + row.duration)
        if row.opcode == "ACT_TABLE_LOAD":
            yield "activation_table_load_ns", row.duration
        elif row.opcode == "LDWEIGHTS":
            # Weights that load alone find the PE throttled.
            load_ns = chip.throttle_factor * chip.load_weights_cycles / chip.pe_clock_ghz
            if _loads_two_bytes(row.operands) and row.duration <= _FULL_SPEED * (chip.load_weights_ns + load_ns):
                yield "load_weights_ns", row.duration - load_ns
        elif row.opcode == "DMA_DIRECT2D":
            name = "software_dma_instruction_ns" if ENGINES[engine] == "gpsimd" else "dma_issue_ns"
            yield name, row.duration
        elif row.opcode == "MATMUL" or not was_busy:
            # Behind another instruction one lasts longer or shorter than by itself.
            yield from _latency(row, engine, chip)
    for first, second in pairwise(rows):
        yield from _interval(first, second, engine, chip)


def _loads_two_bytes(operands: str) -> bool:
    """Return whether the weights are known to be of two bytes: float32 goes through the array twice."""
    sources = operands.partition(" dst=")[0]
    return ("float16" in sources or "fp16" in sources) and "float32" not in sources


def _operation(row: InstructionRow) -> Operation | None:
    """Return the operation; None for an instruction that the model has no cost of, or whose operands the profile does not have."""
    if row.opcode not in (*OPS, "MATMUL"):
        return None
    found = operation_of(row.opcode, row.subgroup, row.operands, "exp" if row.opcode == "ACTIVATE" else "")
    sides = {operand.side for operand in found.operands}
    return found if "src" in sides and (row.opcode == "MATMUL" or "dst" in sides) else None


def _latency(row: InstructionRow, engine: int, chip: Chip) -> Iterator[tuple[str, float]]:
    operation = _operation(row)
    if operation is None:
        return
    modelled = model_ns(operation, chip)
    if modelled is None or row.duration > _FULL_SPEED * modelled[0]:
        return
    beyond = row.duration - modelled[0]
    if operation.opcode == "MATMUL":
        yield "pe_latency_ns", chip.pe_latency_ns + beyond
    elif operation.pointer:
        yield "vector_pointer_ns", chip.vector_pointer_ns + beyond
    elif ENGINES[engine] in _PIPELINES:
        name = lower(*instruction_of(operation), chip).row.latency
        yield name, getattr(chip, name) + beyond


def _interval(first: InstructionRow, second: InstructionRow, engine: int, chip: Chip) -> Iterator[tuple[str, float]]:
    """Yield what the engine needs for the first before it can begin with the second, where only the engine held the second back."""
    spacing = second.timestamp - first.timestamp
    if spacing >= first.duration:
        return
    operation = _operation(first)
    if operation is None:
        return
    # Instructions are taken in early, so their starts say little: the ends are as far apart as the work takes.
    apart = second.timestamp + second.duration - first.timestamp - first.duration
    if operation.opcode == "MATMUL":
        following = _operation(second) if second.opcode == "MATMUL" else None
        if following is not None and apart <= _FULL_SPEED * (modelled := stream_ns(following, chip)):
            yield "pe_overhead_cycles", chip.pe_overhead_cycles + (apart - modelled) * chip.pe_clock_ghz
    elif ENGINES[engine] in _PIPELINES and not operation.pointer:
        following = _operation(second)
        if following is not None:
            one, other = (lower(*instruction_of(each), chip) for each in (operation, following))
            modelled = one.steps[0].interval_ns + other.steps[0].latency_ns - one.steps[0].latency_ns
            if one.row.interval:
                yield one.row.interval, getattr(chip, one.row.interval) + apart - modelled


def packet_spacings(packets: Iterable[DmaRow]) -> list[Spacing]:
    """Return the spacings of packets of each DMA engine that follow one another without a gap. What software descriptors move is left out: it
    gathers and converts."""
    by_engine: dict[tuple[str, str | int], list[DmaRow]] = defaultdict(list)
    for packet in packets:
        if "software" not in packet.queue_type and packet.transfer_size > 0 and packet.queue_type != "instruction":
            by_engine[packet.subgraph, packet.dma_engine].append(packet)
    found = []
    for rows in by_engine.values():
        rows.sort(key=lambda row: row.timestamp)
        for first, second in pairwise(rows):
            spacing = second.timestamp - first.timestamp
            if first.transfer_size == second.transfer_size and 0 < spacing <= first.duration:
                found.append((first.transfer_size, spacing))
    return found
