"""The model beside every public measured row.

    python -m tools.correlation CHECKOUTS [--rows development|test|all] [--only TEXT] [--evidence] [--structures] [--what-if NAME=VALUE]

CHECKOUTS holds clones as OWNER/NAME, at the commits that the report names. `tools/correlation/measured.py` says which rows are
test rows: no constant and no structure of the model is chosen on them. --evidence writes the development rows, and what
tools/correlation/intervals.py fits to them, to simulator/timing/evidence.json: the intervals of simulated times come from there. --structures judges what the model could lack on
development rows (tools/correlation/structures.py). --what-if shows how a constant moves the figures.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from neff_bench.simulator.errors import SimulatorError
from neff_bench.simulator.timing import interval
from tools.correlation import fusion, gemm, intervals, nkibench, nkilib
from tools.correlation.measured import Measured
from tools.correlation.modelled import modelled
from tools.correlation.report import Compared, report
from tools.correlation.structures import judged

SOURCES = (
    nkibench.variants,
    nkibench.tasks,
    nkilib.mlp,
    nkilib.attention,
    nkilib.rmsnorm_quant,
    gemm.gemms,
    fusion.attention,
)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("--rows", choices=("development", "test", "all"), default="all")
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
    compared = list(_compared(_chosen(given.checkouts, given.rows, given.only), given.what_if))
    if not compared:
        print(f"no row: {given.checkouts} holds none of the repositories, or --only names none", file=sys.stderr)
        return 1
    development = [one for one in compared if not one.row.is_test]
    if given.evidence:
        _write_evidence(development)
    if given.structures:
        print("\n".join(judged(development)))
        return 0
    print("\n".join(report(compared)))
    return 0


def _chosen(checkouts: Path, which: str, only: str) -> Iterator[Measured]:
    for source in SOURCES:
        try:
            for row in source(checkouts):
                wanted = which == "all" or row.is_test == (which == "test")
                if wanted and only in f"{row.repository} {row.family} {row.name}":
                    yield row
        except FileNotFoundError as error:
            print(f"{source.__name__}: {error}", file=sys.stderr)


def _compared(rows: Iterator[Measured], changes: Sequence[str]) -> Iterator[Compared]:
    for row in rows:
        print(f"{row.repository} {row.family} {row.name}"[:100], end="\r", file=sys.stderr)
        try:
            yield Compared(row, modelled(row.program(), changes))
        except SimulatorError as error:
            print(f"refused: {row.repository} {row.name}: {error}", file=sys.stderr)


def _write_evidence(compared: Sequence[Compared]) -> None:
    rows = [one.evidence for one in compared]
    groups: dict[tuple[Any, ...], list[list[float]]] = {}
    for row in sorted(rows):
        groups.setdefault((*row[:4], row.like[:3]), []).append([*row.like[3:], row.ratio])
    lines = ",\n".join(json.dumps([*key, ratios]) for key, ratios in groups.items())
    fit = json.dumps(intervals.fitted(rows)._asdict())
    interval.EVIDENCE_FILE.write_text(f'{{"fit": {fit},\n"rows": [\n{lines}\n]}}\n')
    # The report that follows judges the intervals that come from it.
    interval.evidence.cache_clear()
    interval.interval.cache_clear()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
