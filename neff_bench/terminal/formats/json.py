"""Writes JSON: a list of objects, null for what is not known; or the answer's own document."""

from __future__ import annotations

from neff_bench.terminal.answer import Answer
from neff_bench.terminal.formats import Page
from neff_bench.terminal.text import plain_values

SUFFIX = ".json"


def render(answer: Answer, page: Page) -> str:
    """Return the records, or the document where the answer has one."""
    import orjson

    document = list(answer.records) if answer.document is None else answer.document
    options = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
    return orjson.dumps(plain_values(document), option=options).decode()
