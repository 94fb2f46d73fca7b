"""The model beside every public measured row.

    python -m validation.correlation CHECKOUTS [--rows development|studied|test|all|new] [--only TEXT] [--evidence] [--what-if NAME=VALUE]

CHECKOUTS holds clones as OWNER/NAME, at the commits that the report names. `validation/correlation/measured.py` says which rows are
test rows: no constant and no structure of the model is chosen on them. `studied` are the development rows that were once
untouched test sets. `new` are test rows that nobody has looked at; `all` leaves them out, so that they are run when they are asked for
and not before. --evidence writes what the model says of rows that it says something of for the first time to
neff_bench/simulator/timing/evidence.json: the ranges of simulated times come from there. --what-if shows how a constant moves the figures.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

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
    megakernel,
    nakb,
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
from validation.correlation.recorded import program_of
from validation.correlation.report import Compared, report

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
    nakb.kernels,
    nkilib.rmsnorm_quant_again,
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
    parser.add_argument("--evidence", action="store_true", help="keep what is said for the first time for the ranges")
    parser.add_argument(
        "--what-if", action="append", default=[], metavar="NAME=VALUE", help="another constant; NAME=2x for a multiple"
    )
    given = parser.parse_args(arguments)
    if given.evidence and given.what_if:
        parser.error("--evidence is what the model says: without --what-if")
    not_driven: list[str] = []
    compared = list(_compared(chosen(given.checkouts, given.rows, given.only, not_driven), given.what_if, not_driven))
    if not compared:
        print("\n".join(not_driven), file=sys.stderr)
        print(f"no row: {given.checkouts} holds none of the repositories, or --only names none", file=sys.stderr)
        return 1
    if given.evidence:
        _keep(compared)
    print("\n".join(report(compared)))
    if not_driven:
        print("\n".join(("## Rows without a simulated time", "", *not_driven)))
    return 0


def chosen(checkouts: Path, which: str, only: str, not_driven: list[str]) -> Iterator[Measured]:
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
            yield Compared(row, modelled(program_of(row), changes))
        except SimulatorError as error:
            not_driven.append(f"- {row.repository}@{row.commit[:7]} {row.family} {row.name}: refused: {error}")
        except (OSError, ValueError, TypeError, LookupError) as error:
            not_driven.append(
                f"- {row.repository}@{row.commit[:7]} {row.family} {row.name}: {type(error).__name__}: {error}"
            )


def _keep(compared: Sequence[Compared]) -> None:
    """Rows at first sight: one that is known already stays as it was said first."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True
    ).stdout.strip()
    rows = list(interval.evidence())
    known = {row._replace(ratio=0.0, model="") for row in rows}
    rows += [
        one.evidence._replace(model=commit)
        for one in compared
        if one.model.comparable and one.evidence._replace(ratio=0.0) not in known
    ]
    interval.EVIDENCE_FILE.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
