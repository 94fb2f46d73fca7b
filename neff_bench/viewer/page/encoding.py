"""Packs columns of events as text that a page carries, which `decode.js` reads: the smallest unsigned type, all low bytes first, gzip, base64.

Columns that grow are written as differences.
"""

from __future__ import annotations

import base64
import gzip
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import orjson

from neff_bench.terminal.text import plain_texts
from neff_bench.viewer.page.events import Events

LEVEL = 2
"""Level 6 takes four times as long, and makes the page of a million events 9 % shorter."""
TYPES = ("u1", "u2", "u4")


class Packed(NamedTuple):
    """`columns`: name, type (`u1`, `u2`, `u4` or `f8`), length and how differences were taken, of each column of `data`.

    `details` is apart, since it is read only when somebody asks for one.
    """

    columns: list[tuple[str, str, int, str]]
    data: str
    details: str


def pack(events: Events) -> Packed:
    """Return the columns of `events` for decode.js."""
    described, planes = [], []
    for name, values, difference in _columns(events):
        kind = _kind(values)
        described.append((name, kind, len(values), difference))
        planes.append(_planes(values, kind))
    return Packed(described, _text(b"".join(planes)), _text(orjson.dumps(plain_texts(events.details))))


def _columns(events: Events) -> Iterator[tuple[str, Any, str]]:
    """Yield name, values, and how to get the column from them: `row` adds up from the first event of each row, `self` counts back from
    the event that the value belongs to, empty is as it is."""
    gaps = np.diff(events.start, prepend=0.0)
    firsts = np.array([first for track in events.tracks for first, _ in track.rows], np.int64)
    gaps[firsts] = events.start[firsts]
    if len(gaps) and gaps.min() >= 0:
        yield "start", gaps, "row"
    else:  # an event before the start of the execution
        yield "start", events.start, ""
    yield "duration", events.duration, ""
    yield "name", events.name, ""
    yield "stack", events.stack, ""
    yield "amount", events.amount, ""
    yield "detail", events.detail, ""
    yield "pc", events.pc, ""
    counts = np.diff(events.before_start)
    yield "before_count", counts, ""
    back = np.repeat(np.arange(len(events)), counts) - events.before
    yield "before", np.where(back >= 0, 2 * back, -2 * back - 1), "self"
    yield "reason", events.reason, ""


def _kind(values: Any) -> str:
    if not len(values):
        return "u1"
    whole = values.min() >= 0 and (values.dtype.kind in "iu" or (np.floor(values) == values).all())
    return next((kind for kind in TYPES if whole and values.max() <= np.iinfo(kind).max), "f8")


def _planes(values: Any, kind: str) -> bytes:
    little = np.ascontiguousarray(values.astype(f"<{kind}"))
    data: bytes = little.view(np.uint8).reshape(len(little), -1).T.tobytes() if len(little) else b""
    return data


def _text(data: bytes) -> str:
    return base64.b64encode(gzip.compress(data, LEVEL, mtime=0)).decode()
