"""Gives the recorded calls of a program as the plain data that rules of AWS's compiler judge."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from neff_bench.chips.dtypes import SIZE_BYTES
from neff_bench.neffs.findings import Finding as KnownFinding
from neff_bench.neffs.findings import found
from neff_bench.rules import findings
from neff_bench.rules.call import Call, Kernel, Operand, Tile
from neff_bench.rules.findings import Finding
from neff_bench.rules.source import Source
from neff_bench.simulator.compiler.program.columns import INDEX, PSUM, READ, WRITE, Table, item_bytes, table_of
from neff_bench.simulator.errors import FailedAssertion, SimulatorError
from neff_bench.simulator.program import PARTITIONS, Access, Buffer, Instruction, Kind, Program

if TYPE_CHECKING:
    import numpy as np


def judged(program: Program) -> list[Finding]:
    """Return the rules that a program breaks, with the line of each. The program keeps them: its row and the report of its file need the same."""
    kept = vars(program)
    if "judged" not in kept:
        of_calls = findings.of_calls(calls(program), program.target)
        kept["judged"] = sorted({*of_calls, *findings.of_kernel(kernel(program), program.target)})
    found: list[Finding] = kept["judged"]
    return found


def refused(program: Program, folders: Iterable[str | Path]) -> list[KnownFinding]:
    """Return what a release of AWS's compiler refuses in a kernel of the current dialect, once for each line: in its calls, and in the functions of its file that
    made them. `folders`: those that may hold the file."""
    if program.from_hlo or program.before_middle_end or program.keeps_weights:
        return []
    every = {*judged(program), *_of_own_file(program, folders)}
    hard = {(one.place, one.releases): one for one in sorted(every, reverse=True) if one.level == "error"}
    return [
        found("refused", f"AWS's compiler refuses it, {one.code}: {one.text}", one.place, one.releases)
        for one in reversed(hard.values())
    ]


def _of_own_file(program: Program, folders: Iterable[str | Path]) -> list[Finding]:
    """Return the rules that the kernel's own file breaks, in functions with a line that was recorded. A file that is not there breaks none."""
    places = [text.rpartition(":") for text, caller in zip(program.sources, program.callers) if text and not caller]
    name = places[0][0] if places else ""
    path = next((path for folder in folders if name and (path := Path(folder, name)).is_file()), None)
    try:
        device, broken = _of_text(path.read_text(encoding="utf-8"), name, program.target) if path else ((), ())
    except (OSError, SyntaxError, ValueError):
        return []
    if not broken:
        return []
    lines = {int(line) for file, _, line in (text.rpartition(":") for text in program.sources) if file == name}
    ran = [span for span in device if any(line in span for line in lines)]
    return [one for one in broken if any(one.line in span for span in ran)]


def of_refusal(error: SimulatorError, place: str, target: str) -> Finding | None:
    """Return the rule that the simulator's refusal of a kernel stands for, if any."""
    what = f"AssertionError: {error.what}" if isinstance(error, FailedAssertion) else error.what
    return findings.of_refusal(what, place, target, type(error).__name__)


def judge_file(path: Path, target: str) -> None:
    """Judge the rules of a kernel's file, so that processes that are forked from this one need not. A file that cannot be read has none."""
    with suppress(OSError, SyntaxError, ValueError):
        if path.is_file():
            _of_text(path.read_text(encoding="utf-8"), path.name, target)


@lru_cache(maxsize=32)  # many variants and shapes are of one file
def _of_text(text: str, name: str, target: str) -> tuple[tuple[range, ...], tuple[Finding, ...]]:
    """Return the lines of each device function of a file, and the rules that the file breaks; nothing of the old dialect. Raises
    SyntaxError and ValueError."""
    source = Source(text, name)
    if source.old:
        return (), ()
    return tuple(map(source.span, source.device)), tuple(findings.of_source(source, target))


def calls(program: Program) -> Iterator[Call]:
    """Yield each distinct call of a program: instructions of one line that differ only in where their operands lie count once."""
    operands: dict[Access, Operand] = {}
    seen = set()
    for step in _different(program):
        made = [_operand(access, program, operands) for access in (*step.writes.values(), *step.reads.values())]
        key = (step.op, step.source, step.engine, *made, *map(str, step.attributes.values()))
        if key not in seen:
            seen.add(key)
            written = len(step.writes)
            yield Call(
                step.op,
                step.engine,
                dict(zip(step.writes, made[:written])),
                dict(zip(step.reads, made[written:])),
                step.attributes,
                program.sources[step.source],
                program.target,
                program.lnc,
            )


def _different(program: Program) -> Iterator[Instruction]:
    """Yield the first of the instructions that are of one line and kind, where what a kind leaves open is the same too: what its buffers
    are, and where views of PSUM begin."""
    import numpy as np

    table = table_of(program)
    buffers, names = table.buffers, {kind: number for number, kind in enumerate(get_args(Kind))}
    of_buffer = np.array([names[buffer.kind] for buffer in program.buffers], np.int64)
    for steps, columns in zip(program.cores, table.cores, strict=True):
        at, views = columns.views.buffer, columns.views
        row = np.maximum(buffers.row_bytes[at] // item_bytes()[views.dtype], 1)
        start = np.where(buffers.memory[at] == PSUM, buffers.partition[at] + views.offset // row, 0) % PARTITIONS
        left_open = np.where(views.dynamic > 0, -1 - np.arange(len(at)), start * len(names) + of_buffer[at])
        uses = left_open[columns.view].tobytes()
        ends = (columns.use_start * left_open.itemsize).tolist()
        first: dict[tuple[int, int, bytes], Instruction] = {}
        for step, kind, begin, end in zip(steps, columns.kind.tolist(), ends, ends[1:], strict=False):
            first.setdefault((kind, step.source, uses[begin:end]), step)
        yield from first.values()


def kernel(program: Program) -> Kernel:
    """Return a program as a whole; tiles that are alike count once."""
    import numpy as np

    table = table_of(program)
    role = np.concatenate([columns.role for columns in table.cores])
    buffer = np.concatenate([columns.views.buffer[columns.view] for columns in table.cores])
    written, read = (set(np.flatnonzero(np.bincount(buffer[role == each])).tolist()) for each in (WRITE, READ))
    tiles = dict.fromkeys(
        (one.memory, one.shape, one.dtype, one.address, program.sources[one.source])
        for one in program.buffers
        if one.memory != "hbm"
    )
    return Kernel(
        tuple(Tile(*tile) for tile in tiles),
        sum(map(len, program.cores)),
        _names(program, [at for at in program.outputs if at not in written and at not in program.inputs]),
        _names(program, sorted(at for at in read - written if program.buffers[at].kind == "internal")),
        *_sums(program, table, role, buffer),
    )


def _sums(program: Program, table: Table, role: np.ndarray, buffer: np.ndarray) -> tuple[tuple[str, ...], ...]:
    """Return the lines of products that add to what another operation wrote, and of those that go on after somebody read. `role`, `buffer`: of
    the uses of all cores."""
    import numpy as np

    kind, uses = (np.concatenate(of_cores) for of_cores in zip(*((c.kind, np.diff(c.use_start)) for c in table.cores)))
    step = np.repeat(np.arange(len(kind)), uses)
    # What an instruction reads comes behind what it writes: nothing was read before it began.
    place = np.lexsort((role == READ, step, buffer))
    place = place[role[place] != INDEX]
    role, buffer, step = role[place], buffer[place], step[place]
    products = np.array([one.op == "nc_matmul" for one in table.kinds], bool)[kind[step]]
    adds = np.array([bool(one.attributes.get("accumulate")) for one in table.kinds], bool)[kind[step]]
    last = np.maximum.accumulate(np.where(role == WRITE, np.arange(len(role)), 0))
    at = np.flatnonzero(products & adds & (role == WRITE))
    at = at[(at > 0) & (buffer[at - 1] == buffer[at])]  # behind another use of the same buffer
    writer = last[at - 1]
    onto = (buffer[writer] == buffer[at]) & (role[writer] == WRITE) & ~products[writer]
    lines = [one.source for core in program.cores for one in core]
    return tuple(
        tuple(dict.fromkeys(program.sources[lines[one]] for one in np.sort(step[at[chosen]]).tolist()))
        for chosen in (onto, ~onto & (role[at - 1] == READ))
    )


def _names(program: Program, indices: list[int]) -> tuple[str, ...]:
    return tuple(program.buffers[at].name for at in indices)


def _operand(access: Access, program: Program, known: dict[Access, Operand]) -> Operand:
    operand = known.get(access)
    if operand is None:
        buffer = program.buffers[access.buffer]
        operand = known[access] = Operand(
            buffer.memory,
            access.dtype,
            access.shape,
            _start(access, buffer),
            buffer.kind,
            access.pattern[0][0] * SIZE_BYTES[access.dtype] if access.pattern else 0,
            bool(access.dynamic),
            any(part.index.elements > 1 for part in access.dynamic),
            access.columns * SIZE_BYTES[access.dtype],
            access.pattern[0][0] // _row(buffer, access) if access.pattern and buffer.memory != "hbm" else 1,
        )
    return operand


def _start(access: Access, buffer: Buffer) -> int:
    """Return the partition in which a view of on-chip memory begins."""
    if buffer.memory == "hbm":
        return 0
    return (buffer.partition + access.offset // _row(buffer, access)) % PARTITIONS


def _row(buffer: Buffer, access: Access) -> int:
    """Return the elements of a partition."""
    return max(buffer.row_bytes // SIZE_BYTES[access.dtype], 1)
