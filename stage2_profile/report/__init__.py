"""Rows as text: one module for each format, each with `render(rows) -> str`."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

from stage2_profile.rows import Row

FORMATS = ("table", "csv", "json", "md")


def render(rows: Sequence[Row], format: str, *, width: int = 120, color: bool = False) -> str:
    """`format`: one of FORMATS. `width` and `color` are for the table."""
    module = importlib.import_module(f"stage2_profile.report.{format}")
    text: str = module.render(rows, width=width, color=color) if format == "table" else module.render(rows)
    return text
