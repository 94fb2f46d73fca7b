"""Answers as text: one module for each format, each with `render(answer, ...) -> str`."""

from __future__ import annotations

import importlib

from neff_bench.stage2_profile.report.answer import Answer

FORMATS = ("table", "csv", "json", "md")


def render(answer: Answer, format: str, *, width: int = 120, color: bool = False) -> str:
    """`format`: one of FORMATS. `width` and `color` are for the table."""
    module = importlib.import_module(f"neff_bench.stage2_profile.report.{format}")
    text: str = module.render(answer, width=width, color=color) if format == "table" else module.render(answer)
    return text
