"""Says which source lines of a kernel make other instructions than before.

Lines move, so the lines of a file are compared as two texts are: each line of instructions is a word, and what is not in the longest common part changed.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import msgspec

PACKETS = "DMA packets"
ROUNDED_NS = 1
"""What rounding may change of the simulated time of each instruction."""
PLACE = re.compile(r"(.+):(\d+)")


class Line(msgspec.Struct, frozen=True, array_like=True):
    """Holds what one source line makes. `does`: (engine and opcode, instructions or DMA packets, ns of an engine's simulated
    instructions or bytes of the packets), sorted."""

    file: str
    number: int
    does: tuple[tuple[str, int, int], ...]


@dataclass(frozen=True)
class Change:
    """A source line whose instructions differ. `before`, `after`: its number in the file, None where it makes none; `was`,
    `now`: what it makes, for people."""

    file: str
    before: int | None
    after: int | None
    was: str
    now: str


def read_lines(detail: Path, neff: Path | None, simulated: bool) -> tuple[Line, ...]:
    """Return the lines of a whole-profile JSON, sorted by file and number. Times count where they are simulated: measured ones
    differ from run to run. Raises `ParseError`."""
    from neff_bench.parsers.event_tables import read_timeline
    from neff_bench.parsers.formats.opcodes import SETUP

    timeline = read_timeline(detail, neff)
    made: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    for one in timeline.instructions:
        if one.nki_source_location and one.opcode not in SETUP:
            sums = made[one.nki_source_location, f"{one.subgroup} {one.opcode}"]
            sums[0] += 1
            sums[1] += round(one.duration) if simulated else 0
    for packet in timeline.dma:
        if packet.nki_source_location:
            sums = made[packet.nki_source_location, PACKETS]
            sums[0] += 1
            sums[1] += packet.transfer_size
    lines: dict[tuple[str, int], list[tuple[str, int, int]]] = defaultdict(list)
    for (where, what), (count, size) in sorted(made.items()):
        place = PLACE.fullmatch(where)
        if place is not None:
            lines[_file(place[1]), int(place[2])].append((what, count, size))
    return tuple(Line(file, number, tuple(does)) for (file, number), does in sorted(lines.items()))


def _file(path: str) -> str:
    """Return the path without the folder of the checkout, which differs between two that are compared."""
    parts = path.split("/")
    return "/".join(parts[parts.index("nkilib_src") :] if "nkilib_src" in parts else parts[-2:])


def changed_lines(before: Sequence[Line], after: Sequence[Line]) -> list[Change]:
    """Return the changed lines, in the order of files and lines."""
    files = sorted({line.file for line in (*before, *after)})
    before, after = _without_rounding(before, after)
    return [
        change
        for file in files
        for change in _changed(
            [line for line in before if line.file == file], [line for line in after if line.file == file]
        )
    ]


def _without_rounding(*sides: Sequence[Line]) -> list[list[Line]]:
    """Return both sides. Lines that differ by rounding alone say what the first of them says."""
    first: dict[tuple[tuple[str, int, int], ...], Any] = {}
    for does in dict.fromkeys(line.does for side in sides for line in side):
        first[does] = next((known for known in first.values() if _alike(known, does)), does)
    return [[msgspec.structs.replace(line, does=first[line.does]) for line in side] for side in sides]


def _changed(before: Sequence[Line], after: Sequence[Line]) -> Iterator[Change]:
    for was, now in _changed_pairs(before, after):
        yield Change(
            before[0].file if before else after[0].file,
            was.number if was else None,
            now.number if now else None,
            _text(was, now),
            _text(now, was),
        )


def _changed_pairs(before: Sequence[Line], after: Sequence[Line]) -> Iterator[tuple[Line | None, Line | None]]:
    if [line.number for line in before] == [line.number for line in after]:  # no line moved
        yield from ((was, now) for was, now in zip(before, after, strict=True) if was.does != now.does)
        return
    matcher = SequenceMatcher(None, [line.does for line in before], [line.does for line in after], autojunk=False)
    for kind, low_a, high_a, low_b, high_b in matcher.get_opcodes():
        if kind != "equal":
            yield from _paired(before[low_a:high_a], after[low_b:high_b])


def _paired(before: Sequence[Line], after: Sequence[Line]) -> Iterator[tuple[Line | None, Line | None]]:
    """Yield the lines of a changed part, in order: two that make the same kind of instruction together, all others alone."""
    left = list(after)
    for was in before:
        kinds = {what for what, *_ in was.does}
        at = next((at for at, now in enumerate(left) if kinds & {what for what, *_ in now.does}), None)
        if at is None:
            yield was, None
            continue
        yield from ((None, now) for now in left[:at])
        yield was, left[at]
        del left[: at + 1]
    yield from ((None, now) for now in left)


def _alike(was: Sequence[tuple[str, int, int]], now: Sequence[tuple[str, int, int]]) -> bool:
    """Return whether these are the same instructions, in times that differ by no more than what is rounded."""
    return len(was) == len(now) and all(
        one[:2] == other[:2] and abs(one[2] - other[2]) <= (0 if one[0] == PACKETS else ROUNDED_NS) * one[1]
        for one, other in zip(was, now)
    )


def _text(line: Line | None, other: Line | None) -> str:
    """Return what of a line the other does not make."""
    if line is None:
        return "nothing"
    rest = [made for made in line.does if other is None or made not in other.does]
    return ", ".join(_made(*made) for made in rest) or "only what stayed the same"


def _made(what: str, count: int, size: int) -> str:
    if what == PACKETS:
        return f"{count} {what}, {size} bytes in all"
    return f"{count} {what}" + (f" in {size / 1000:.3f} us" if size else "")


def lines_of(store: Path, cases: Sequence[str]) -> dict[str, tuple[Line, ...] | str]:
    """Return for each case its lines, or a text that says why they are not known. Runs the profiler's viewer where the whole profile is
    not there yet."""
    from neff_bench.errors import WrongCall
    from neff_bench.neffs.errors import NeffsError
    from neff_bench.parsers.errors import ParseError
    from neff_bench.stage2_profile.directory import detail_path, profiled_rows
    from neff_bench.stage2_profile.errors import ProfileError
    from neff_bench.stage2_profile.options import Options

    if not cases:
        return {}
    found: dict[str, tuple[Line, ...] | str] = {}
    try:
        entries, profiled = profiled_rows(Options(directory=store, only=tuple(cases), view_only=True, detail=True))
    except (WrongCall, ProfileError, NeffsError) as error:
        return dict.fromkeys(cases, str(error))
    for entry, row in zip(entries, profiled, strict=True):
        try:
            path = detail_path(entry, row.run) if row.status == "profiled" else None
            if path is None:
                found[row.case] = row.reason or "no whole profile; run profile-neffs --hot where the profiler is"
            else:
                found[row.case] = read_lines(path, getattr(entry, "neff", None), row.source == "simulated")
        except (ParseError, ProfileError, OSError) as error:
            found[row.case] = str(error)
    return found
