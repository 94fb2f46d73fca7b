"""Rows as CSV: a header, one line for each row, an empty cell for what is not known."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from stage2_profile.rows import Row, columns, to_dict


def render(rows: Sequence[Row]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, columns(rows), restval="", lineterminator="\n")
    writer.writeheader()
    for row in rows:
        record = to_dict(row)
        writer.writerow({**record, "warnings": "; ".join(row.warnings)})
    return out.getvalue()
