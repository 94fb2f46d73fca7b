"""Writes CSV: a header, one line for each record, an empty cell for what is not known."""

from __future__ import annotations

import csv
import io

from neff_bench.terminal.answer import Answer
from neff_bench.terminal.formats import Page
from neff_bench.terminal.text import csv_cell

SUFFIX = ".csv"


def render(answer: Answer, page: Page) -> str:
    """Return one line for each record."""
    out = io.StringIO()
    writer = csv.DictWriter(out, answer.fields, restval="", lineterminator="\n")
    writer.writeheader()
    for record in answer.records:
        writer.writerow({key: csv_cell(value) for key, value in record.items()})
    return out.getvalue()
