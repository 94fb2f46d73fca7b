"""An answer as CSV: a header, one line for each record, an empty cell for what is not known."""

from __future__ import annotations

import csv
import io

from neff_bench.stage2_profile.report.answer import Answer


def render(answer: Answer) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, answer.fields, restval="", lineterminator="\n")
    writer.writeheader()
    for record in answer.records:
        writer.writerow({key: "; ".join(value) if isinstance(value, tuple) else value for key, value in record.items()})
    return out.getvalue()
