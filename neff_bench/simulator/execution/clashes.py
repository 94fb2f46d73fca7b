"""Finds where the two cores of a logical core write different values to one place of shared HBM between two meetings, which only a run shows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from neff_bench.neffs.findings import Finding, found
from neff_bench.simulator.machine.marks import Marks, granules
from neff_bench.simulator.machine.memory import Memory
from neff_bench.simulator.program import Access, Instruction, Program

_Before = list[tuple[Access, np.ndarray]]


class Clashes:
    """Holds what each core wrote since the cores last met, in the buffers that both write."""

    def __init__(self, program: Program, memory: Memory) -> None:
        self._program, self._memory = program, memory
        written = [{access.buffer for i in core for access in i.writes.values()} for core in program.cores]
        both = set.intersection(*written) if len(written) > 1 else set()
        shared = {index for index in both if program.buffers[index].memory == "hbm"}
        grains = granules(program, shared, [layout.bytes for layout in memory.layouts])
        self._marks = [
            {index: Marks(memory.layouts[index].bytes, grain) for index, grain in grains.items()} for _ in written
        ]
        self._last: list[dict[int, Instruction]] = [{} for _ in written]
        self._found: dict[int, tuple[Instruction, Instruction]] = {}

    def before(self, core: int, instruction: Instruction) -> _Before:
        """Return the accesses of an instruction to such buffers, each with the bytes that lie there before it."""
        accesses = (access for access in instruction.writes.values() if access.buffer in self._marks[core])
        return [(access, self._bytes(access)) for access in accesses if not access.dynamic]

    def after(self, core: int, instruction: Instruction, before: _Before) -> None:
        """Note what the instruction wrote, and whether it changed what the other core had written."""
        for access, old in before:
            index, other = access.buffer, 1 - core
            marks = self._marks[other][index]
            theirs = marks.of(access, access.offset)
            if index not in self._found and theirs.any():
                changed = (self._bytes(access) != old).reshape(-1, marks.granule_bytes).any(1)
                if (changed & theirs.reshape(-1)).any():
                    self._found[index] = instruction, self._last[other][index]
            self._marks[core][index].of(access, access.offset).fill(True)
            self._last[core][index] = instruction

    def met(self) -> None:
        """Begin anew: the cores have met."""
        for marks in self._marks:
            for each in marks.values():
                each.flags.fill(False)

    def findings(self) -> Iterator[Finding]:
        """Yield one finding for each buffer with a clash, at the later write."""
        for index, (instruction, other) in self._found.items():
            line = self._program.sources[other.source] or "unknown line"
            text = f"both cores write {self._program.buffers[index].name}, with different values in one place ({line})"
            ordered = ": no core_barrier or sendrecv orders them on a device"
            yield found("race", text + ordered, self._program.sources[instruction.source])

    def _bytes(self, access: Access) -> np.ndarray:
        return np.array(self._memory.read(access), order="C").reshape(-1).view(np.uint8)
