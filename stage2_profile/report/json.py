"""An answer as a JSON list of objects; null for what is not known."""

from __future__ import annotations

from neff_bench.stage2_profile.report.answer import Answer


def render(answer: Answer) -> str:
    import orjson

    return orjson.dumps(list(answer.records), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()
