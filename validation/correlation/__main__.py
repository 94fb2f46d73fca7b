"""The model beside every public measured row.

    python -m validation.correlation CHECKOUTS [--rows development|studied|test|all|new] [--only TEXT] [--evidence] [--structures] [--what-if NAME=VALUE]

CHECKOUTS holds clones as OWNER/NAME, at the commits that the report names. `validation/correlation/measured.py` says which rows are
test rows: no constant and no structure of the model is chosen on them. `studied` are the development rows that were once
untouched test sets. `new` are test rows that nobody has looked at; `all` leaves them out, so that they are run when they are asked for
and not before. --evidence writes the development rows, and what
validation/correlation/intervals.py fits to them, to neff_bench/simulator/timing/evidence.json: the intervals of simulated times come from there. --structures judges what the model could lack on
development rows (validation/correlation/structures.py). --what-if shows how a constant moves the figures.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from neff_bench.simulator.errors import SimulatorError
from neff_bench.simulator.timing import interval
from validation.correlation import (
    assignments,
    attention_block,
    autocomp,
    autotune,
    blocked,
    chipboost,
    contributed,
    coursework,
    fusion,
    gathers,
    gelu,
    gemm,
    heads,
    intervals,
    megakernel,
    nkibench,
    nkilib,
    norms,
    projections,
    replayed,
    samples,
    scans,
    scores,
    searched,
    squares,
    tutorials,
)
from validation.correlation.measured import Measured
from validation.correlation.modelled import modelled
from validation.correlation.report import Compared, report
from validation.correlation.structures import judged

FIRST_SOURCES = (
    nkibench.variants,
    nkibench.tasks,
    nkilib.mlp,
    nkilib.attention,
    nkilib.rmsnorm_quant,
    gemm.gemms,
    fusion.attention,
)
STUDIED_SOURCES = (
    coursework.traces,
    coursework.summaries,
    coursework.written,
    megakernel.versions,
    norms.rmsnorm,
    autotune.products,
    autocomp.candidates,
    tutorials.kernels,
    autocomp.sampled,
    attention_block.versions,
    scans.versions,
    autotune.pipelined,
    gathers.gathers,
    projections.projections,
    blocked.products,
    chipboost.kernels,
    assignments.assignments,
    samples.kernels,
    replayed.kernels,
    contributed.kernels,
)
SOURCES = FIRST_SOURCES + STUDIED_SOURCES
NEW_SOURCES: tuple[Callable[[Path], Iterator[Measured]], ...] = (
    gelu.kernels,
    heads.kernels,
    scores.kernels,
    searched.written,
    searched.steps,
    squares.kernels,
)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("--rows", choices=("development", "studied", "test", "all", "new"), default="all")
    parser.add_argument("--only", default="", help="rows whose repository, family or name contains this")
    parser.add_argument("--evidence", action="store_true", help="write the development rows for the intervals")
    parser.add_argument(
        "--structures", action="store_true", help="what the model could lack, fitted on one family and judged on others"
    )
    parser.add_argument(
        "--what-if", action="append", default=[], metavar="NAME=VALUE", help="another constant; NAME=2x for a multiple"
    )
    given = parser.parse_args(arguments)
    if given.evidence and given.what_if:
        parser.error("--evidence is what the model says: without --what-if")
    not_driven: list[str] = []
    compared = list(_compared(_chosen(given.checkouts, given.rows, given.only, not_driven), given.what_if, not_driven))
    if not compared:
        print("\n".join(not_driven), file=sys.stderr)
        print(f"no row: {given.checkouts} holds none of the repositories, or --only names none", file=sys.stderr)
        return 1
    development = [one for one in compared if not one.row.is_test]
    if given.evidence:
        _write_evidence(development)
    print("\n".join(judged(development) if given.structures else report(compared)))
    if not_driven:
        print("\n".join(("## Rows without a simulated time", "", *not_driven)))
    return 0


def _chosen(checkouts: Path, which: str, only: str, not_driven: list[str]) -> Iterator[Measured]:
    for source in {"new": NEW_SOURCES, "studied": STUDIED_SOURCES}.get(which, SOURCES):
        try:
            for row in source(checkouts):
                wanted = which in ("all", "studied", "new") or row.is_test == (which == "test")
                if wanted and only in f"{row.repository} {row.family} {row.name}":
                    yield row
        except FileNotFoundError as error:
            not_driven.append(f"- all further rows of {source.__module__}.{source.__name__}: {error}")


def _compared(rows: Iterator[Measured], changes: Sequence[str], not_driven: list[str]) -> Iterator[Compared]:
    """Rows that the model takes. Of each other, `not_driven` gets a line that says why: one row must not end the run of all."""
    for row in rows:
        print(f"{row.repository} {row.family} {row.name}"[:100], end="\r", file=sys.stderr)
        try:
            yield Compared(row, modelled(row.program(), changes))
        except SimulatorError as error:
            not_driven.append(f"- {row.repository}@{row.commit[:7]} {row.family} {row.name}: refused: {error}")
        except (OSError, ValueError, TypeError, LookupError) as error:
            not_driven.append(
                f"- {row.repository}@{row.commit[:7]} {row.family} {row.name}: {type(error).__name__}: {error}"
            )


def _write_evidence(compared: Sequence[Compared]) -> None:
    rows = [one.evidence for one in compared if one.model.comparable]
    groups: dict[tuple[Any, ...], list[list[float]]] = {}
    for row in sorted(rows):
        groups.setdefault((*row[:4], row.like[:3]), []).append([*row.like[3:], row.ratio, row.first])
    lines = ",\n".join(json.dumps([*key, ratios]) for key, ratios in groups.items())
    fit = json.dumps(intervals.fitted(rows)._asdict())
    interval.EVIDENCE_FILE.write_text(f'{{"fit": {fit},\n"rows": [\n{lines}\n]}}\n')
    # The report that follows judges the intervals that come from it.
    interval.evidence.cache_clear()
    interval.interval.cache_clear()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
