"""Reads names, source lines and call stacks of the instructions in a trace, from the debug information of its NEFF.

    sgNN/debug_info_asm_<Engine>.dbg        field 3[]: one message for each slot of <Engine>.bin, in order {3: packed ids of BIR instructions}
    sgNN/debug_info_backend_<Engine>.dbg    field 3[]: {1: BIR id, 2: name, 7[]: {1: key, 2: value}}; keys kernel_file and kernel_name, each
                                            the number of an entry of field 5[] (files) and 7[] (kernels), and kernel_line
    kernel_debug_info.json                  the files below, by kernel; only of kernels compiled with NKI debug information
    <kernel>.klir.debuginfo.json            the tree of functions and loops that each instruction was made in

Plain protobuf without a published schema, worked out on NEFFs of trn2 (neuronx-cc 2.23). The trace holds the streams as they were loaded: the
loader puts its own instructions around the compiler's, leaves out placeholders and replaces pseudo opcodes.
So the two streams are laid over each other by their content, and what cannot be laid has no name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

from neff_bench.parsers.call_stacks import INDEX, CallStacks, read_call_stacks, stack_files
from neff_bench.parsers.container import Container, same_program
from neff_bench.parsers.errors import ParseError, guarded
from neff_bench.parsers.formats.neff import ENGINE_FILES, INSTRUCTION_BYTES
from neff_bench.parsers.formats.opcodes import OPCODES
from neff_bench.parsers.neff import read_members, read_uuid
from neff_bench.parsers.wire import Budget, Message

FIELDS_MAX = 20_000_000
PLACEHOLDER = 0xCC
"""A slot that the loader leaves out."""
PSEUDO_DMA, PSEUDO_ADDRESS = 0xD4, 0xDA
REPLACED = {PSEUDO_DMA: OPCODES["DMA_DIRECT2D"], 0xCE: OPCODES["TENSOR_LOAD"], PSEUDO_ADDRESS: 0xA7}
"""Pseudo opcodes, by what the loader writes for them. It writes the address of a DMA before the DMA, where the compiler has it behind. Worked out on
three public NEFFs with software descriptors, whose streams then agree slot for slot."""
CELLS_MAX = 40_000_000
"""Slots times slots that are compared where one stream does not lie in the other in one piece."""
INSTRUCTION_NAME = re.compile(r"inst\.\d+")
"""The start of a BIR name: what the compiler made of an instruction of the kernel keeps its name."""


@dataclass(frozen=True)
class Label:
    """Holds what the compiler calls an instruction. `source`: `/home/me/kernel.py:33`; None where it was compiled without debug information.
    `callers`: the lines that led there, outermost first."""

    name: str
    bir_id: int
    source: str | None
    callers: tuple[str, ...] = ()


@dataclass(frozen=True)
class StreamLabels:
    """The labels of one loaded stream. `labels`: one for each slot, which is what `pc` counts. `first`, `last`: the outermost slots that are the compiler's."""

    labels: tuple[Label | None, ...]
    placed: tuple[bool, ...]
    first: int
    last: int

    def of(self, pc: int) -> tuple[Label | None, str]:
        """Return the label of a slot, and how it came by it: `compiled`, `runtime` or `unaligned`."""
        if 0 <= pc < len(self.labels) and self.placed[pc]:
            return self.labels[pc], "compiled"
        return None, "unaligned" if self.first <= pc <= self.last else "runtime"


Labels = dict[tuple[int, int], StreamLabels]
"""The labels of each physical core and engine index."""


@guarded
def read_labels(neff: Path, container: Container) -> Labels:
    """Return the labels of a trace's streams; empty for a NEFF without debug information. Raises ParseError, also for another program."""
    if same_program(container.uuid.hex(), read_uuid(neff)) is False:
        raise ParseError(neff, None, f"another program than that of {container.path}: the uuids differ")
    cores = sorted({stream.core for stream in container.streams})
    wanted = {
        f"sg{number:02d}/{name}"
        for number in range(len(cores))
        for _, file, _ in ENGINE_FILES
        for name in (f"{file}.bin", f"debug_info_asm_{file}.dbg", f"debug_info_backend_{file}.dbg")
    }
    members = read_members(neff, {*wanted, INDEX})
    stacks = read_call_stacks(
        str(neff), members.get(INDEX), read_members(neff, stack_files(str(neff), members.get(INDEX)))
    )
    budget = Budget(FIELDS_MAX)
    labels: Labels = {}
    for stream in container.streams:
        directory, file = f"sg{cores.index(stream.core):02d}", ENGINE_FILES[stream.engine].file
        names = (f"{file}.bin", f"debug_info_asm_{file}.dbg", f"debug_info_backend_{file}.dbg")
        code, asm, backend = (members.get(f"{directory}/{name}") for name in names)
        if code is None or asm is None or backend is None:
            continue
        compiled = _compiled(str(neff), asm, backend, stacks, budget)
        places = align(_slots(code), _slots(stream.read()))
        found = [number for number, place in enumerate(places) if place is not None]
        labels[stream.core, stream.engine] = StreamLabels(
            labels=tuple(compiled[place] if place is not None and place < len(compiled) else None for place in places),
            placed=tuple(place is not None for place in places),
            first=found[0] if found else 0,
            last=found[-1] if found else len(places),
        )
    return labels


def _slots(code: bytes | memoryview) -> list[bytes]:
    data = bytes(code)
    return [data[at : at + INSTRUCTION_BYTES] for at in range(0, len(data), INSTRUCTION_BYTES)]


def _compiled(name: str, asm: bytes, backend: bytes, stacks: CallStacks, budget: Budget) -> list[Label | None]:
    """Return the label of each slot that the compiler wrote."""
    whole = Message(name, memoryview(backend), 0, budget)
    files, kernels = whole.texts(5), whole.texts(7)
    known: dict[int, Label] = {}
    for entry in whole.messages(3):
        details = {detail.text(1) or "": detail.text(2) or "" for detail in entry.messages(7)}
        file, line = _entry(files, details.get("kernel_file")), details.get("kernel_line")
        called = entry.text(2) or ""
        made_of = INSTRUCTION_NAME.match(called)
        callers = stacks.get((_entry(kernels, details.get("kernel_name")), made_of[0] if made_of else ""), ())
        source = f"{file}:{line}" if file and line else None
        known[entry.integer(1)] = Label(called, entry.integer(1), source, callers)
    found = []
    for slot in Message(name, memoryview(asm), 0, budget).messages(3):
        ids = slot.packed(3)
        found.append(known.get(ids[0]) if ids else None)
    return found


def _entry(table: Sequence[str], value: str | None) -> str:
    """Return a value that is the number of an entry of the table, or stands for itself."""
    if value is not None and value.isdecimal() and int(value) < len(table):
        return table[int(value)]
    return value or ""


def align(compiled: Sequence[bytes], loaded: Sequence[bytes]) -> list[int | None]:
    """Return for each loaded slot the number of the compiled one that it came from; None for those of the loader."""
    kept = [number for number, slot in enumerate(compiled) if slot[0] != PLACEHOLDER]
    for at in range(len(kept) - 1):
        if compiled[kept[at]][0] == PSEUDO_DMA and compiled[kept[at + 1]][0] == PSEUDO_ADDRESS:
            kept[at], kept[at + 1] = kept[at + 1], kept[at]
    ours, theirs = [_token(compiled[number]) for number in kept], [_token(slot) for slot in loaded]
    places: list[int | None] = [None] * len(loaded)
    start = _in_one_piece(ours, theirs)
    if start is not None:
        places[start : start + len(kept)] = kept
    elif len(ours) * len(theirs) <= CELLS_MAX:
        for block in SequenceMatcher(None, ours, theirs, autojunk=False).get_matching_blocks():
            for step in range(block.size):
                places[block.b + step] = kept[block.a + step]
    return places


_REPLACEMENTS = frozenset(REPLACED.values())


def _token(slot: bytes) -> bytes:
    """Return what a slot is compared by: all of it, but for one that the loader replaces, and fills addresses in, its opcode alone."""
    opcode = REPLACED.get(slot[0], slot[0])
    return bytes([opcode]) if opcode in _REPLACEMENTS else slot


def _in_one_piece(ours: Sequence[bytes], theirs: Sequence[bytes]) -> int | None:
    """Return where the one lies in the other; None when it does not, or in more than one place."""
    if not ours:
        return None
    starts = [
        at
        for at in range(len(theirs) - len(ours) + 1)
        if theirs[at] == ours[0] and theirs[at : at + len(ours)] == list(ours)
    ]
    return starts[0] if len(starts) == 1 else None
