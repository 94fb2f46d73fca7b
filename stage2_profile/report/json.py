"""Rows as a JSON list of objects; null for what is not known."""

from __future__ import annotations

from collections.abc import Sequence

from stage2_profile.rows import Row, to_dict


def render(rows: Sequence[Row]) -> str:
    import orjson

    return orjson.dumps([to_dict(row) for row in rows], option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()
