"""The name of a page."""

from __future__ import annotations

from pathlib import Path

PAGE = ".html"


def is_page(output: Path | None) -> bool:
    """Whether an answer that goes there is a page."""
    return output is not None and output.suffix.lower() == PAGE
