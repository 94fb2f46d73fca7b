"""Our timelines of traces beside the JSON that AWS's profiler made of them: `python -m validation.pairs DIRECTORY...`.

A pair is an NTFF, the NEFF beside it where there is one, and a whole-profile JSON of the same name, in its folder or in one below. A trace without a JSON
is counted by what it says of itself. The JSON is opened only to be compared with. One line for a pair: whether the rows of instructions, DMA packets and
semaphores are equal, how many instructions have the name, the operands and a source line, and whether the keys of our summary are equal.
Exit code 1 when a goal is missed: rows and keys equal, names on 97 % of the rows that have one, lines on 85 % of the rows that the compiler made
where the NEFF has lines at all.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from neff_bench.parsers.container import same_program
from neff_bench.parsers.errors import ParseError
from neff_bench.parsers.event_rows import InstructionRow, Timeline
from neff_bench.parsers.event_tables import read_timeline
from neff_bench.parsers.neff import read_uuid
from neff_bench.parsers.ntff import read_ntff

NAMES_MIN, LINES_MIN = 0.97, 0.85
SLACK_NS = {5: 2, 6: 0}
"""By container version: the clocks of version 5 are calibrated, those of 6 exact."""
EXTRAS = 2
"""Rows of ours that a JSON of version 6 lacks against its own counts; known in two public files."""
UNSEEN = re.compile(
    r"setter=0|(imm|cmp[01])=(0\.0+|0|0x0|\[0x0\])|cmp0=\$R\[0\]|accumulator_cmd=IDLE|compute_op=NONE|(src|dst)_shape_reg=0|"
    r"trace=START|notification=EXPLICIT|transpose_mode=DISABLED|table_sel=0"
)
"""Words of operands that are the same in every public profile, so that nobody knows their place in a slot."""


@dataclass(frozen=True)
class Pair:
    ntff: Path
    neff: Path | None
    json: Path | None


def find_pairs(directory: Path) -> Iterator[Pair]:
    for ntff in sorted(directory.rglob("*.ntff")):
        near = [*ntff.parent.glob("*.json"), *ntff.parent.glob("*/*.json")]
        own = (
            path for path in near if path.stem in (ntff.stem, "ntff") or path.stem.startswith(f"{ntff.stem}_profile")
        )
        uuid = read_ntff(ntff).uuid
        neffs = (path for path in ntff.parent.glob("*.neff") if same_program(uuid, read_uuid(path)))
        yield Pair(ntff, next(neffs, None), next(own, None))


def place(row: InstructionRow) -> tuple[str, str, int]:
    """Profiles of version 5, of one core, do not tell the core."""
    return (row.subgraph or "sg00", row.subgroup, row.pc)


def instructions(timeline: Timeline) -> Counter[tuple[object, ...]]:
    return Counter((*place(row), row.opcode) for row in timeline.instructions)


def words(text: str, named: bool) -> list[str]:
    text = text if named else re.sub(r"\bS(\[\d+\]) \(\w+\)", r"$S\1", text)
    return [word for word in text.split() if not UNSEEN.fullmatch(word)]


def late_ns(ours: list[float], theirs: list[float]) -> float:
    return max((abs(one - other) for one, other in zip(sorted(ours), sorted(theirs))), default=0.0)


def compare(pair: Pair) -> tuple[str, list[str]]:
    """Return a line for people, and the goals that are missed. Raises `ParseError`."""
    ours = read_timeline(pair.ntff, pair.neff)
    version = read_ntff(pair.ntff).version
    missed: list[str] = []
    compiled = [row for row in ours.instructions if row.alignment in ("compiled", "unaligned")]
    lines = sum(row.nki_source_location is not None for row in compiled)
    said = [f"{len(ours.instructions)} instructions"]
    if pair.neff:
        said.append(f"{ours.unnamed_count} unaligned")
        said.append(f"lines on {lines} of {len(compiled)}" if lines else "no lines in the NEFF")
        if lines and lines < LINES_MIN * len(compiled):
            missed.append("lines")
    if pair.json is None:
        named = sum(bool(row.operands) for row in ours.instructions)
        return "; ".join([*said, f"operands on {named}", "no JSON"]), missed
    theirs = read_timeline(pair.json)
    mine, yours = instructions(ours), instructions(theirs)
    extra, lacking = (mine - yours).total(), (yours - mine).total()
    late = late_ns([row.timestamp for row in ours.instructions], [row.timestamp for row in theirs.instructions])
    if lacking or extra > (EXTRAS if version == 6 else 0) or (not extra and late > SLACK_NS.get(version, 0)):
        missed.append("instruction rows")
    said.append(f"rows {'equal' if not lacking + extra else f'{extra} more, {lacking} fewer'}")
    computed = {row.queue_type for row in theirs.dma} - {row.queue_type for row in ours.dma}
    packets, reported = ([(row.transfer_size, str(row.dma_engine)) for row in one.dma] for one in (ours, theirs))
    more = (Counter(reported) - Counter(packets)).total()
    if (Counter(packets) - Counter(reported)).total() or (more and version == 6):
        missed.append("DMA rows")
    said.append(
        f"DMA {'equal' if not more else f'{more} computed rows left out'}" + (f" {computed}" if computed else "")
    )
    updates = [Counter((row.value, row.subgraph or "sg00") for row in one.semaphores) for one in (ours, theirs)]
    if updates[0] != updates[1]:
        missed.append("semaphore rows")
    said.append(f"semaphores {'equal' if updates[0] == updates[1] else 'differ'}")
    known = {place(row): row for row in ours.instructions}
    both = [(known.get(place(row)), row) for row in theirs.instructions]
    if pair.neff:
        wanted = [(one, row) for one, row in both if row.bir_instruction_name]
        right = sum(one is not None and one.bir_instruction_name == row.bir_instruction_name for one, row in wanted)
        said.append(f"names {right} of {len(wanted)}")
        if right < NAMES_MIN * len(wanted):
            missed.append("names")
    named = pair.neff is not None
    same = sum(one is not None and words(one.operands, named) == words(row.operands, named) for one, row in both)
    said.append(f"operands {same} of {len(both)}")
    keys = {key for key, value in ours.summary.items() if key in theirs.summary}
    wrong = [key for key in keys if not equal(ours.summary[key], theirs.summary[key], version)]
    said.append(
        f"{len(keys) - len(wrong)} of {len(keys)} summary keys equal" + (f", not {', '.join(wrong)}" if wrong else "")
    )
    if wrong and version == 6:
        missed.append("summary")
    return "; ".join(said), missed


def equal(one: object, other: object, version: int) -> bool:
    """Times of version 5 are calibrated: within 0.5 %."""
    if version == 6 or not isinstance(one, float) or not isinstance(other, float):
        return one == other
    return abs(one - other) <= 5e-3 * abs(other)


def main() -> None:
    missed = pairs = 0
    for root in map(Path, sys.argv[1:]):
        for pair in find_pairs(root):
            try:
                line, wrong = compare(pair)
            except ParseError as error:
                line, wrong = str(error), ["unreadable"]
            pairs += 1
            missed += bool(wrong)
            print(f"{pair.ntff.relative_to(root)}: {line}" + (f"  MISSED: {', '.join(wrong)}" if wrong else ""))
    print(f"{pairs} traces, {missed} of them miss a goal")
    raise SystemExit(1 if missed else 0)


if __name__ == "__main__":
    main()
