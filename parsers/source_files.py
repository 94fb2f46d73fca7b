"""Finds the source files that the debug information of a NEFF names: those that a profile of it can point at."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator

import msgspec

from neff_bench.parsers.call_stacks import INDEX, read_call_stacks, stack_files
from neff_bench.parsers.errors import guarded
from neff_bench.parsers.formats.neff import ENGINE_FILES, PROGRAM_MEMBER
from neff_bench.parsers.neff import read_members
from neff_bench.parsers.wire import Budget, Message
from neff_bench.system.decoding import prepare

CORES_MAX = 2
"""Physical cores of a program."""
FIELDS_MAX = 20_000_000
_LINE = re.compile(r"(.+):\d+")


class _Program(msgspec.Struct):
    """Holds what the simulator keeps in its NEFFs."""

    sources: list[str] = []


prepare(_Program)


@guarded
def source_files(neff: str | os.PathLike[str]) -> tuple[str, ...]:
    """Return the names of Python files, as the compiler wrote them; none for a NEFF without debug information. Raises ParseError."""
    backends = {
        f"sg{core:02d}/debug_info_backend_{file}.dbg" for core in range(CORES_MAX) for _, file, _ in ENGINE_FILES
    }
    members = read_members(neff, {PROGRAM_MEMBER, INDEX, *backends})
    if PROGRAM_MEMBER in members:
        found = _files_of(msgspec.msgpack.decode(members[PROGRAM_MEMBER], type=_Program).sources)
    else:
        budget = Budget(FIELDS_MAX)
        trees = read_members(neff, stack_files(str(neff), members.get(INDEX)))
        stacks = read_call_stacks(str(neff), members.get(INDEX), trees)
        found = [
            name for member in sorted(backends & members.keys()) for name in _named(str(neff), members[member], budget)
        ]
        found += _files_of(line for lines in stacks.values() for line in lines)
    return tuple(name for name in dict.fromkeys(found) if name.endswith(".py"))


def _files_of(lines: Iterable[str]) -> list[str]:
    return [place[1] for line in lines if (place := _LINE.fullmatch(line))]


def _named(name: str, backend: bytes, budget: Budget) -> Iterator[str]:
    """Yield the table of files, and the files that stand beside an instruction (debug_info.py has the layout)."""
    whole = Message(name, memoryview(backend), 0, budget)
    yield from whole.texts(5)
    for entry in whole.messages(3):
        for detail in entry.messages(7):
            if detail.text(1) == "kernel_file":
                yield detail.text(2) or ""
