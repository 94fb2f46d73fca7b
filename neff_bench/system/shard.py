"""Implements `--shard I/N`. A case belongs to one shard by its name alone, so the shards of hosts that see different lists never overlap."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import click

_TEXT = re.compile(r"([1-9][0-9]{0,5})/([1-9][0-9]{0,5})")


@dataclass(frozen=True)
class Shard:
    """Part `number` (from 1) of `count`."""

    number: int
    count: int

    def holds(self, name: str) -> bool:
        """Return whether the case of this name is in this part."""
        import hashlib  # help is told without it

        digest = hashlib.sha256(name.encode()).digest()
        return int.from_bytes(digest[:8], "big") % self.count == self.number - 1

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"


class _ShardType(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    name = "I/N"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Shard:
        found = _TEXT.fullmatch(value)
        if found is None or int(found[1]) > int(found[2]):
            self.fail(f"{value!r}: expected I/N with I from 1 to N, such as 2/4", param, ctx)
        return Shard(int(found[1]), int(found[2]))


SHARD = _ShardType()
"""The type of the option."""
