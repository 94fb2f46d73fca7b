"""Writes argument lists from the data of a release: a flag that the release lacks is never written."""

from __future__ import annotations

from collections.abc import Iterable

from neff_bench.errors import NeffBenchError
from neff_bench.sdk.release import Command, Flag, load, names

Asked = tuple[str, "str | None"]
"""A flag as it is to be spelled, and its value; None for a switch."""


class FlagAbsent(NeffBenchError):
    """A tool of this release has no such flag, and nothing can be left out."""


def find_flag(command: Command, spelling: str) -> Flag | None:
    """Return the flag that has this long, short or other name."""
    if spelling in command.flags:
        return command.flags[spelling]
    return next((flag for flag in command.flags.values() if spelling in (flag.short, *flag.aliases)), None)


def words(command: Command, asked: Iterable[Asked]) -> list[str]:
    """Return the flags and values as the release writes them, without those of `optional` that it lacks. Raises `FlagAbsent` for any other that it lacks."""
    found: list[str] = []
    for spelling, value in asked:
        flag = find_flag(command, spelling)
        if flag is None:
            raise FlagAbsent(f"this release of the Neuron SDK has no flag {spelling}")
        if value is None:
            found.append(spelling)
        elif flag.joined and spelling.startswith("--"):
            found.append(f"{spelling}={value}")
        else:
            found += [spelling, value]
    return found


def knows(command: Command, spelling: str) -> bool:
    """Return whether the release has this flag."""
    return find_flag(command, spelling) is not None


def neuron_ls_forms() -> list[tuple[str, ...]]:
    """Return how neuron-ls is asked for JSON, of every release, older ones first: the flags for which it is known."""
    listed = [load(name).tools["neuron-ls"].json for name in names()]
    return list(dict.fromkeys(tuple(each.flag) for each in listed if each is not None))
