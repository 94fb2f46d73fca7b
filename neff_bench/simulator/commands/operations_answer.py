"""Writes the cost table of a chip as an answer: what every ISA operation costs, where that is from, and what it was compared with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from neff_bench.chips import Chip
from neff_bench.errors import WrongCall
from neff_bench.simulator.chips import chip_for
from neff_bench.simulator.costs.comparisons import Comparison, compared_with
from neff_bench.simulator.costs.table import ANY, DMA, TABLES, Row
from neff_bench.terminal.answer import Answer, Column, Grid

FIELDS = ("generation", "operation", "engine", "dtypes", "memory", "mode", "cycles_per_column", "clock_ghz", "least_cycles",
          "added_cycles", "instructions", "interval_ns", "latency_ns", "source", "compared", "compared_number",
          "median_error_percent", "worst_error_percent")  # fmt: skip


def operations_of(neff: str | None, target: str | None) -> Answer:
    """Return the table of a NEFF's chip, or of a target. Raises WrongCall for neither and for both, and what reading a NEFF raises."""
    if (neff is None) == (target is None):
        raise WrongCall("--operations: name a NEFF or --target, one of them")
    if target is not None:
        return operations_answer(chip_for(target))
    from neff_bench.simulator.commands.view import load_profile

    return operations_answer(load_profile(str(neff), None).schedule.chip)


def operations_answer(chip: Chip) -> Answer:
    """Return for programs one record for each row of the table, and one for each further thing that a row was compared with. For people one line
    for operations that differ in nothing else, and the sources by number."""
    rows = [(row, compared_with(chip.generation, row)) for row in TABLES[chip.generation]]
    records = [_record(row, chip) | _comparison(one) for row, found in rows for one in found or (None,)]
    sources: dict[str, int] = {}
    lines = _lines(rows, chip, sources)
    heads = ("operations", "engine", "for", "cost", "source", "compared with hardware")
    columns = [Column(head, wraps=head in ("operations", "compared with hardware")) for head in heads]
    known = sum(bool(found) for _, found in rows)
    told = f"{chip.name}, NeuronCore-v{chip.generation}: {known} of {len(rows)} rows were compared with hardware; errors are modelled / measured - 1, median and worst; the numbers of sources stand at the end"  # fmt: skip
    numbered = [(str(number), text) for text, number in sources.items()]
    return Answer(
        records,
        FIELDS,
        [
            Grid(columns, lines, [told]),
            Grid((Column("engine"), Column("what comes on top of the columns", wraps=True)), list(_engines(chip))),
            Grid((Column("source", True), Column("", wraps=True)), numbered),
        ],
    )


def _record(row: Row, chip: Chip) -> dict[str, Any]:
    """Return the numbers at the chip's constants; None for what the row does not have."""
    operation, engine, dtypes, memory, mode = row.key
    timed = row.ns is None and row.engine not in (DMA, ANY)
    clock = "pe_clock_ghz" if row.engine == "tensor" else f"{row.engine}_clock_ghz"
    fixed = chip.gpsimd_fixed_cycles if row.engine == "gpsimd" else 0
    return {
        "generation": chip.generation,
        "operation": operation,
        "engine": engine,
        "dtypes": dtypes,
        "memory": memory,
        "mode": mode,
        "cycles_per_column": row.cycles if timed else None,
        "clock_ghz": getattr(chip, clock) if timed else None,
        "least_cycles": chip.minimum_cycles if row.engine in ("vector", "scalar") else None,
        "added_cycles": row.added_cycles + fixed if timed else None,
        "instructions": row.instructions,
        "interval_ns": getattr(chip, row.interval) if row.interval else row.ns,
        "latency_ns": getattr(chip, row.latency) if row.latency else row.ns,
        "source": row.source or chip.sources[row.interval],
    }


def _comparison(found: Comparison | None) -> dict[str, Any]:
    if found is None:
        return dict.fromkeys(("compared", "compared_number", "median_error_percent", "worst_error_percent"))
    of = f" ({'; '.join(found.of)})" if found.of else ""
    return {
        "compared": f"{found.what} of {found.where}{of}",
        "compared_number": found.number,
        "median_error_percent": round(100 * found.median_error, 1),
        "worst_error_percent": round(100 * found.worst_error, 1),
    }


def _lines(
    rows: Sequence[tuple[Row, tuple[Comparison, ...]]], chip: Chip, sources: dict[str, int]
) -> list[tuple[str, ...]]:
    """Return the table. `sources`: takes each source with its number."""
    together: dict[tuple[str, ...], list[str]] = {}
    for row, found in rows:
        source = sources.setdefault(row.source or chip.sources[row.interval], len(sources) + 1)
        what = ", ".join(text for text in row.key[2:] if text not in ("", ANY))
        compared = "; ".join(_text(one, sources) for one in found) or "never"
        line = (row.engine, what, _cost(row, chip), str(source), compared)
        together.setdefault(line, []).append(row.operation)
    return [(", ".join(names), *line) for line, names in together.items()]


def _text(found: Comparison, sources: dict[str, int]) -> str:
    where = sources.setdefault(found.where, len(sources) + 1)
    what = found.what.removesuffix("s") if found.number == 1 else found.what
    return f"{100 * found.median_error:+.1f}, {100 * found.worst_error:+.1f} %: {found.number} {what} (source {where})"


def _cost(row: Row, chip: Chip) -> str:
    if row.ns is not None:
        return f"{row.ns:g} ns"
    if row.engine in (DMA, ANY):
        return f"{getattr(chip, row.interval):g} ns"
    if row.operation == "ldweights" and row.modes:
        return f"{chip.load_weights_cycles} cycles"
    added = f" + {row.added_cycles:g} cycles" if row.added_cycles else ""
    times = f"{row.instructions} x " if row.instructions > 1 else ""
    return f"{times}{row.cycles:g} a column{added}"


def _engines(chip: Chip) -> Iterable[tuple[str, str]]:
    def ns(name: str) -> str:
        return f"{getattr(chip, name):g} ns"

    least = f"{chip.minimum_cycles} cycles at least"
    yield "vector", f"{chip.vector_clock_ghz:g} GHz, {least}; {ns('vector_overhead_ns')} to the next instruction, {ns('vector_latency_ns')} to the result; {ns('vector_pointer_ns')} for one value for each partition"  # fmt: skip
    yield "scalar", f"{chip.scalar_clock_ghz:g} GHz, {least}; a copy {ns('scalar_copy_overhead_ns')} to the next, {ns('scalar_latency_ns')} to the result; a function {ns('scalar_overhead_ns')} and {ns('scalar_function_latency_ns')}, in SBUF {ns('scalar_sbuf_overhead_ns')} and {ns('scalar_sbuf_latency_ns')}"  # fmt: skip
    yield "gpsimd", f"{chip.gpsimd_clock_ghz:g} GHz, {chip.gpsimd_fixed_cycles} cycles more; {ns('gpsimd_latency_ns')} to the result"  # fmt: skip
    yield "tensor", f"{chip.pe_clock_ghz:g} GHz, {chip.pe_column_cycles:g} cycles a column and {chip.pe_overhead_cycles} more; {chip.pe_fill_cycles} cycles and {ns('pe_latency_ns')} to the result"  # fmt: skip
    yield DMA, f"what triggers it; then {chip.dma_packet_ns:g} ns and bytes / {chip.dma_engine_bandwidth:g} a packet on {chip.dma_engines} DMA engines (explain --constants has all)"  # fmt: skip
