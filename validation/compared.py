"""Says which costs of operations were ever compared with hardware: writes neff_bench/simulator/costs/comparisons.json.

    python -m validation.compared DATA CHECKOUTS

DATA holds the development traces (tests/validation/traces.json names them; validation/corpus.py gathers them): each instruction of a kernel
is compared with its row of the cost table. CHECKOUTS holds clones as OWNER/NAME, as for validation.correlation: of each development row, the
active time of an engine is compared where a row of the table holds that engine for a third of it or more. Test rows are not read.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from neff_bench.chips import Chip
from neff_bench.chips.engines import ENGINES, TITLES
from neff_bench.simulator.calibration.operations import OPS, Operation, instruction_of, model_ns, operation_of
from neff_bench.simulator.chips import chip_for
from neff_bench.simulator.compiler.code.lowering import lower
from neff_bench.simulator.costs import comparisons
from neff_bench.simulator.costs.table import (
    CONVERTS,
    DMA,
    HARDWARE,
    SIDE_BY_SIDE,
    SMALL,
    SOFTWARE,
    STATIC,
    TRANSPOSE,
    Row,
    row_for,
)
from neff_bench.simulator.costs.tensor_engine import product_row
from neff_bench.simulator.errors import SimulatorError
from neff_bench.simulator.timing.compared import held_ns
from neff_bench.simulator.timing.counters import summarise
from neff_bench.simulator.timing.schedule import schedule
from neff_bench.simulator.timing.timeline import timeline_of
from validation.corpus import MANIFEST, MEASURED
from validation.correlation.__main__ import SOURCES
from validation.correlation.measured import Measured
from validation.replay import target_of

MUCH_OF = 1 / 3
"""Share of an engine's time from which its active time says something of one row."""

TELLING = 0.25
"""Share of an instruction's time that its columns take, from which it says something of their cost."""

_FULL_SPEED = 1.25
"""A product that lasts longer than this multiple of its shortest time ran on a throttled PE."""


class One(NamedTuple):
    """One thing that was measured. `of`: dtypes and memories, where they are known."""

    generation: int
    row: Row
    what: str
    where: str
    of: str
    modelled: float
    measured: float


def main(arguments: Sequence[str]) -> int:
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    data, checkouts = map(Path, arguments)
    rows = summary([*of_traces(data), *of_kernels(checkouts)])
    lines = ",\n".join(json.dumps(row) for row in rows)
    command = "python -m validation.compared DATA CHECKOUTS"
    comparisons.FILE.write_text(f'{{"command": {json.dumps(command)}, "rows": [\n{lines}\n]}}\n')
    print(f"{comparisons.FILE}: {len(rows)} comparisons of {len({(row[0], tuple(row[1])) for row in rows})} rows")
    return 0


def summary(found: Sequence[One]) -> list[list[Any]]:
    """Return a line of comparisons.json for each row, kind of measurement and origin."""
    groups: dict[tuple[Any, ...], list[One]] = {}
    for one in found:
        groups.setdefault((one.generation, one.row.key, one.what, one.where), []).append(one)
    lines = []
    for (generation, key, what, where), group in sorted(groups.items()):
        errors = [one.modelled / one.measured - 1 if one.measured else 0.0 for one in group]
        worst = max(errors, key=abs)
        kinds = sorted({one.of for one in group if one.of})
        lines.append([generation, key, what, len(group), where, kinds, round(statistics.median(errors), 3), round(worst, 3)])  # fmt: skip
    return lines


def of_traces(data: Path) -> Iterator[One]:
    """Instructions and DMA packets of the development traces."""
    known = json.loads((MEASURED / "traces.json").read_bytes())
    for entry in json.loads(MANIFEST.read_bytes()):
        for file in entry["files"]:
            folder, _, name = file["to"].rpartition("/")
            if name == "ntff.json" and folder.rpartition("/")[2] in known:
                where = f"traces of {entry['repository']} @{entry['commit'][:7]}"
                profile = json.loads((data / file["to"]).read_bytes())
                chip = chip_for(target_of(profile))
                for row in profile["instruction"]:
                    if row["instruction_type"] and row.get("subgraph", "sg00") == "sg00":
                        for found, of, modelled in _instruction(row, chip):
                            yield One(chip.generation, found, comparisons.INSTRUCTIONS, where, of, modelled, row["duration"])  # fmt: skip
                for found, of, modelled, measured in _packets(profile, chip):
                    yield One(chip.generation, found, comparisons.PACKETS, where, of, modelled, measured)


def _instruction(row: dict[str, Any], chip: Chip) -> Iterator[tuple[Row, str, float]]:
    """Rows of the table that an instruction is an instance of, its operands, and how long the model has it last."""
    opcode, operands = row["opcode"], row["operands"]
    engine = ENGINES[TITLES.index(row["subgroup"])]
    if opcode in (*OPS, "MATMUL"):
        operation = operation_of(opcode, row["subgroup"], operands, row["activation_fn"])
        of = " to ".join(f"{operand.dtype} {operand.memory}" for operand in operation.operands)
        if opcode == "MATMUL":
            for found in _products(operation, row["instruction_type"] == "TRANSPOSE", chip):
                least, most = model_ns(operation, chip) or (0.0, 0.0)
                yield found, of, least if row["duration"] <= _FULL_SPEED * least else most
            return
        lowered = lower(*instruction_of(operation), chip)
        step = lowered.steps[0]
        if 1 - getattr(chip, lowered.row.latency) / step.latency_ns >= TELLING:
            yield lowered.row, f"{operation.function} {of}".strip(), step.latency_ns
    elif opcode == "LDWEIGHTS":
        small = "fp32" not in operands
        found = row_for(chip.generation, "ldweights", "tensor", SMALL if small else "", mode=SIDE_BY_SIDE)
        yield found, "two bytes" if small else "float32", chip.load_weights_ns + _load_ns(small, chip)
    elif opcode == "DMA_DIRECT2D":
        read, written = (int(operands.split(f"{side}_elem_size=")[1].split()[0]) for side in ("src", "dst"))
        kind = SOFTWARE if engine == "gpsimd" else HARDWARE
        found = row_for(chip.generation, "dma_copy", DMA, mode=kind + (CONVERTS if read != written else ""))
        yield found, "trigger", getattr(chip, found.latency)
    elif opcode == "WRITE":
        found = row_for(chip.generation, "dma_copy", DMA, mode=STATIC)
        yield found, "trigger", getattr(chip, found.latency)


def _products(operation: Operation, transposes: bool, chip: Chip) -> tuple[Row, ...]:
    """Return the rows of the cost table for a product. A PE transpose is recorded as `nc_transpose` or as a product that transposes: the machine instruction is one."""
    dtypes = tuple(operand.dtype for operand in operation.operands)
    if not transposes:
        return (product_row("nc_matmul", chip, dtypes, ""),)
    return product_row("nc_matmul", chip, dtypes, TRANSPOSE), product_row("nc_transpose", chip, dtypes, TRANSPOSE)


def _packets(profile: dict[str, Any], chip: Chip) -> Iterator[tuple[Row, str, float, float]]:
    """Packets of one size that follow each other on a DMA engine, of descriptors that hardware makes."""
    by_engine: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for packet in profile["dma"]:
        if packet["queue_type"] == "hardware_dynamic" and packet["aggregated"] == "no" and packet["transfer_size"] > 4:
            by_engine.setdefault((packet.get("subgraph", "sg00"), packet["dma_engine"]), []).append(packet)
    found = row_for(chip.generation, "dma_copy", DMA, mode=HARDWARE)
    for rows in by_engine.values():
        rows.sort(key=lambda row: row["timestamp"])
        for first, second in pairwise(rows):
            size, spacing = first["transfer_size"], second["timestamp"] - first["timestamp"]
            if size == second["transfer_size"] and 0 < spacing <= first["duration"]:
                yield found, f"{size} bytes", chip.dma_packet_ns + size / chip.dma_engine_bandwidth, spacing


def _load_ns(small: bool, chip: Chip) -> float:
    """Return how long 128 columns of weights load at full speed."""
    return (chip.load_weights_cycles if small else 128) / chip.pe_clock_ghz


def of_kernels(checkouts: Path) -> Iterator[One]:
    """Active times of engines in the development rows of validation.correlation."""
    for source in SOURCES:
        try:
            for row in source(checkouts):
                if row.active_us and not row.is_test:
                    print(f"{row.repository} {row.family} {row.name}"[:100], end="\r", file=sys.stderr)
                    yield from _kernel(row)
        except FileNotFoundError as error:
            print(f"{source.__name__}: {error}", file=sys.stderr)


def _kernel(row: Measured) -> Iterator[One]:
    try:
        program = row.program()
        timed = schedule(program)
    except SimulatorError as error:
        print(f"refused: {row.repository} {row.name}: {error}", file=sys.stderr)
        return
    figures = summarise(program, timed, timeline_of(timed))
    held = held_ns(program, timed, 0)
    where = f"{row.family} of {row.repository} @{row.commit[:7]}"
    for engine, measured_us in row.active_us.items():
        own = {at: ns for at, ns in held.items() if at.engine == engine}
        key = "dma_active_time" if engine == "dma" else f"{engine}_engine_active_time"
        if own and measured_us:
            for most, ns in own.items():
                if ns >= MUCH_OF * sum(own.values()):
                    yield One(
                        timed.chip.generation, most, comparisons.ACTIVE, where, "", figures[key] * 1e6, measured_us
                    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
