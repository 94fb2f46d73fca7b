"""Declares `neff-bench schema`: the JSON schema of a row, for programs that read `--format json`."""

from __future__ import annotations

import json
import types
import typing
from dataclasses import fields
from typing import Any, Literal, get_args, get_origin

import msgspec

from neff_bench.stage2_profile.metrics.rows import METRICS, Row
from neff_bench.terminal import streams
from neff_bench.terminal.command import command

_DIMS = {
    "type": "object",
    "additionalProperties": {"type": "integer"},
    "description": "The size of each dimension of the case, by its name.",
}
_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean"}


@command("schema")
def schema() -> None:
    """Print the JSON schema of the rows that `profile-neffs --format json` writes.

    \b
    neff-bench schema > rows.schema.json
    """
    streams.line(json.dumps(row_schema(), indent=2))


def row_schema() -> dict[str, Any]:
    """Return a list of rows."""
    hints = typing.get_type_hints(Row)
    properties = {}
    for field in fields(Row):
        if field.name == "by_rank":
            continue
        described = _DIMS if field.name == "dims" else _type(hints[field.name])
        if field.name in METRICS:
            described["description"] = f"Unit: {METRICS[field.name].unit}."
        properties[field.name] = described
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Rows of neff-bench",
        "type": "array",
        "items": {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        },
    }


def _type(hint: Any) -> dict[str, Any]:
    """Return the schema of one type: those that a row has."""
    if get_origin(hint) in (types.UnionType, typing.Union):
        parts = [_type(part) for part in get_args(hint) if part is not types.NoneType]
        [one] = parts
        return _or_null(one)
    if get_origin(hint) is Literal:
        return {"enum": list(get_args(hint))}
    if get_origin(hint) is tuple:
        return {"type": "array", "items": _type(get_args(hint)[0])}
    if issubclass(hint, msgspec.Struct):
        properties = {name: _type(each) for name, each in typing.get_type_hints(hint).items()}
        return {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": _TYPES[hint]}


def _or_null(one: dict[str, Any]) -> dict[str, Any]:
    if "enum" in one:
        return {"enum": [*one["enum"], None]}
    return {**one, "type": [one["type"], "null"]}
