"""Names and source lines of the instructions in a trace, from the debug information of its NEFF.

    sgNN/debug_info_asm_<Engine>.dbg        field 3[]: one message for each slot of <Engine>.bin, in order {3: packed ids of BIR instructions}
    sgNN/debug_info_backend_<Engine>.dbg    field 3[]: {1: BIR id, 2: name, 7[]: {1: key, 2: value}}; keys kernel_file, kernel_line

Plain protobuf without a published schema, worked out on NEFFs of trn2 (neuronx-cc 2.23). The trace holds the streams as they were loaded: the
loader puts its own instructions around the compiler's, leaves out placeholders and writes descriptor instructions for pseudo opcodes.
So the two streams are laid over each other by their content, and what cannot be laid has no name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

from neff_bench.parsers.container import Container, same_program
from neff_bench.parsers.errors import ParseError, guarded
from neff_bench.parsers.formats.neff import ENGINE_FILES, INSTRUCTION_BYTES
from neff_bench.parsers.formats.opcodes import OPCODES
from neff_bench.parsers.neff import read_members, read_uuid
from neff_bench.parsers.wire import Budget, Message

FIELDS_MAX = 20_000_000
PLACEHOLDER = 0xCC
"""A slot that the loader leaves out."""
PSEUDO_DMA = 0xD4
"""What the loader replaces by an instruction that makes descriptors."""
CELLS_MAX = 40_000_000
"""Slots times slots that are compared where one stream does not lie in the other in one piece."""


@dataclass(frozen=True)
class Label:
    """What the compiler calls an instruction. `source`: `kernel.py:33`; None where it was compiled without debug information."""

    name: str
    bir_id: int
    source: str | None


Labels = dict[tuple[int, int], tuple[Label | None, ...]]
"""By physical core and engine index: one for each slot of the loaded stream, which is what `pc` counts."""


@guarded
def read_labels(neff: Path, container: Container) -> Labels:
    """The labels of a trace's streams; empty for a NEFF without debug information. Raises ParseError, also for another program."""
    if same_program(container.uuid.hex(), read_uuid(neff)) is False:
        raise ParseError(neff, None, f"another program than that of {container.path}: the uuids differ")
    cores = sorted({stream.core for stream in container.streams})
    wanted = {
        f"sg{number:02d}/{name}"
        for number in range(len(cores))
        for _, file, _ in ENGINE_FILES
        for name in (f"{file}.bin", f"debug_info_asm_{file}.dbg", f"debug_info_backend_{file}.dbg")
    }
    members = read_members(neff, wanted)
    budget = Budget(FIELDS_MAX)
    labels: Labels = {}
    for stream in container.streams:
        directory, file = f"sg{cores.index(stream.core):02d}", ENGINE_FILES[stream.engine].file
        names = (f"{file}.bin", f"debug_info_asm_{file}.dbg", f"debug_info_backend_{file}.dbg")
        code, asm, backend = (members.get(f"{directory}/{name}") for name in names)
        if code is None or asm is None or backend is None:
            continue
        compiled = _compiled(str(neff), asm, backend, budget)
        loaded = _slots(stream.read())
        places = align(_slots(code), loaded)
        labels[stream.core, stream.engine] = tuple(
            compiled[place] if place is not None and place < len(compiled) else None for place in places
        )
    return labels


def _slots(code: bytes | memoryview) -> list[bytes]:
    data = bytes(code)
    return [data[at : at + INSTRUCTION_BYTES] for at in range(0, len(data), INSTRUCTION_BYTES)]


def _compiled(name: str, asm: bytes, backend: bytes, budget: Budget) -> list[Label | None]:
    """The label of each slot that the compiler wrote."""
    known: dict[int, Label] = {}
    for entry in Message(name, memoryview(backend), 0, budget).messages(3):
        details = {detail.text(1): detail.text(2) for detail in entry.messages(7)}
        file, line = details.get("kernel_file"), details.get("kernel_line")
        source = f"{Path(file).name}:{line}" if file and line else None
        known[entry.integer(1)] = Label(entry.text(2) or "", entry.integer(1), source)
    found = []
    for slot in Message(name, memoryview(asm), 0, budget).messages(3):
        ids = slot.packed(3)
        found.append(known.get(ids[0]) if ids else None)
    return found


def align(compiled: Sequence[bytes], loaded: Sequence[bytes]) -> list[int | None]:
    """For each loaded slot the number of the compiled one that it came from; None for those of the loader."""
    kept = [number for number, slot in enumerate(compiled) if slot[0] != PLACEHOLDER]
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


def _token(slot: bytes) -> bytes:
    """What a slot is compared by: all of it, but for a transfer, whose addresses the loader fills in, its opcode alone."""
    descriptors = (PSEUDO_DMA, OPCODES["DMA_DIRECT2D"])
    return b"transfer" if slot[0] in descriptors else slot


def _in_one_piece(ours: Sequence[bytes], theirs: Sequence[bytes]) -> int | None:
    """Where the one lies in the other; None when it does not, or in more than one place."""
    if not ours:
        return None
    starts = [
        at
        for at in range(len(theirs) - len(ours) + 1)
        if theirs[at] == ours[0] and theirs[at : at + len(ours)] == list(ours)
    ]
    return starts[0] if len(starts) == 1 else None
