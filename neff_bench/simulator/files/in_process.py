"""Makes the timeline of a recorded program in this process, as columns: what the reader of its profile's JSON gives, with no JSON in between."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec

from neff_bench.chips.engines import TITLES
from neff_bench.parsers.event_columns import Coded, Columns, Links, joined
from neff_bench.parsers.event_rows import (
    DmaRow,
    InstructionRow,
    LinkedDmaRow,
    LinkedInstructionRow,
    SemaphoreRow,
    SensitivityRow,
    UsageRow,
)
from neff_bench.parsers.event_rows import Timeline as Shown
from neff_bench.parsers.formats.opcodes import NAMES, OPCODES
from neff_bench.simulator.costs.transfers import start_ns
from neff_bench.simulator.files.profile import (
    FIRST_DMA_ENGINE,
    accumulation_flags,
    operand_texts,
    queue_type,
    sensitivity_table,
)
from neff_bench.simulator.files.usage import memory_use
from neff_bench.simulator.program import Instruction, Program
from neff_bench.simulator.timing.schedule import CoreSchedule, Schedule
from neff_bench.simulator.timing.timeline import CoreTimeline, Timeline

if TYPE_CHECKING:
    import numpy as np

_MATMUL, _EVENT_SEMAPHORE = OPCODES["MATMUL"], OPCODES["EVENT_SEMAPHORE"]
_MEMORIES = {"sbuf": "sb", "psum": "psum"}


def shown(name: str, program: Program, schedule: Schedule, timeline: Timeline, summary: Mapping[str, Any]) -> Shown:
    """Return the linked timeline of a program. `name`: what stands for the path of a file. It has no sensitivities, which take the longest:
    `with_sensitivities` adds them."""
    parts = [_Core(program, schedule, core, number) for number, core in enumerate(timeline.cores)]
    usage = [
        UsageRow(float(use.time_ps // 1000), _MEMORIES[use.memory], use.fraction, part.graph)
        for part in parts
        for use in memory_use(program, part.number, part.timed)
    ]
    return Shown(
        name, True, dict(summary), joined([part.instructions() for part in parts]), joined([part.dma() for part in parts]),
        joined([part.semaphores() for part in parts]), usage=usage,
    )  # fmt: skip


def with_sensitivities(timeline: Shown, program: Program, schedule: Schedule) -> Shown:
    """Return the timeline with what each constant of the chip would change; without, where that would take long."""
    return replace(timeline, sensitivity=msgspec.convert(sensitivity_table(program, schedule), list[SensitivityRow]))


def unlinked(timeline: Shown) -> Shown:
    """Return a timeline of `shown` without what depends on what, and without the use of memory."""
    instructions: Any = timeline.instructions
    dma: Any = timeline.dma
    return replace(
        timeline, instructions=instructions.of_kind(InstructionRow), dma=dma.of_kind(DmaRow), usage=[], sensitivity=[]
    )


class _Core:
    """One core of a program, and its rows."""

    def __init__(self, program: Program, schedule: Schedule, core: CoreTimeline, number: int) -> None:
        self.program, self.core, self.number = program, core, number
        self.timed: CoreSchedule = schedule.cores[number]
        self.steps: Sequence[Instruction] = program.cores[number]
        self.first, self.chip, self.partners = schedule.first[number], schedule.chip, schedule.partners
        self.graph = f"sg{number:02d}"

    def instructions(self) -> Columns[InstructionRow]:
        """Return the instructions by engine and place in its stream; those of the runtime have no line and no operands."""
        import numpy as np

        rows, code = self.core.instructions, self.timed.code
        own = rows.index >= 0
        index = np.where(own, rows.index, 0)
        origin = np.where(own, code.origin[index] if len(code) else 0, -1)
        runtimes = (1 << 48) | (self.number << 40) | (rows.engine.astype(np.int64) << 32) | rows.pc
        turned = code.transpose[index] if len(code) else np.zeros(len(index), bool)
        return Columns(
            LinkedInstructionRow,
            {
                **self._when(rows.start_ps, rows.end_ps),
                "evt_wait_time": np.rint(rows.wait_ns),
                "subgroup": _texts(rows.engine, lambda engine: TITLES[engine]),
                "opcode": _texts(rows.opcode, NAMES.__getitem__),
                "pc": rows.pc,
                "id": np.where(own, self.first + rows.index, runtimes),
                "alignment": Coded((~own).astype(np.int64), ("", "runtime")),
                "operands": self._operands(origin, rows.opcode, index),
                "instruction_type": Coded(np.where(own, 1 + turned, 0), ("", "REGULAR", "TRANSPOSE")),
                "predecessors": self._predecessors(own, index),
                "meets": np.where(own, self.partners[self.first + index], -1) if len(code) else np.full(len(own), -1),
                **self._movement(own, index),
                **self._origins(origin),
            },
        )

    def dma(self) -> Columns[DmaRow]:
        """Return the packets by start."""
        import numpy as np

        rows, code = self.core.dma, self.timed.code
        issued = np.flatnonzero(code.transfer >= 0)
        trigger = np.full(len(code.transfers) + 1, -1)  # the last element is that of a fetch, whose transfer is -1
        trigger[code.transfer[issued]] = self.first + issued
        origin = np.full(len(code.transfers) + 1, -1)
        origin[code.transfer[issued]] = code.origin[issued]
        static = np.append(code.transfers.column(lambda one: one.static, "bool"), False)[rows.transfer]
        engine, queue = rows.engine.astype(np.int64) + FIRST_DMA_ENGINE + 16 * self.number, rows.queue.astype(np.int64)
        kinds = (queue << 2) | ((rows.transfer < 0) << 1) | static
        return Columns(
            LinkedDmaRow,
            {
                **self._when(rows.start_ps, rows.end_ps),
                "transfer_size": rows.bytes,
                "subgroup": _texts(queue << 8 | engine, lambda both: f"Q{both >> 8}-E{both & 0xFF}"),
                "dma_engine": _texts(engine, str),
                "dma_queue": _texts(queue, str),
                "queue_type": _texts(kinds, lambda kind: queue_type(-(kind >> 1 & 1), kind >> 2, bool(kind & 1))),
                "trigger": trigger[rows.transfer],
                "variable": _texts(origin[rows.transfer], self._variable),
                **{name: one for name, one in self._origins(origin[rows.transfer]).items() if name != "hlo_name"},
            },
        )

    def semaphores(self) -> Columns[SemaphoreRow]:
        """Return their updates by time."""
        import numpy as np

        rows = self.core.semaphores
        who = rows.semaphore.astype(np.int64) << 8 | rows.engine
        return Columns(
            SemaphoreRow,
            {
                "timestamp": (rows.time_ps // 1000).astype(np.float64),
                "subgraph": self._graph(len(who)),
                "id": _texts(
                    who, lambda both: f"S[{both >> 8}] ({TITLES[both & 255] if both & 255 < len(TITLES) else 'DMA'})"
                ),
                "value": rows.value,
            },
        )

    def _when(self, start_ps: np.ndarray, end_ps: np.ndarray) -> dict[str, Any]:
        start, end = start_ps // 1000, end_ps // 1000
        return {
            "timestamp": start.astype("float64"),
            "duration": (end - start).astype("float64"),
            "subgraph": self._graph(len(start)),
        }

    def _graph(self, length: int) -> Coded:
        import numpy as np

        return Coded(np.zeros(length, np.int64), (self.graph,))

    def _operands(self, origin: np.ndarray, opcode: np.ndarray, index: np.ndarray) -> Coded:
        """Return the text of each, with what a product does to PSUM."""
        import numpy as np

        flags = np.zeros(len(self.timed.code) + 1, np.int64)
        for at, flag in accumulation_flags(self.steps, self.timed.code).items():
            flags[at] = flag
        key = np.where(
            (origin < 0) | (opcode == _EVENT_SEMAPHORE),
            -5,
            origin * 5 + np.where(opcode == _MATMUL, 1 + flags[index], 0),
        )
        texts = [*operand_texts(self.program, self.number), ""]  # the last is of what has no origin
        ends = ("", *(f" acc_flags={flag}" for flag in range(4)))
        return _texts(key, lambda one: texts[one // 5] + ends[one % 5])

    def _origins(self, origin: np.ndarray) -> dict[str, Coded]:
        """Return the line, and those that called it, of what comes from a step; -1 is of none."""
        import numpy as np

        source = np.array([*(step.source for step in self.steps), -1], np.int64)[origin]
        text = self.program.sources
        if self.program.from_hlo:
            return {"hlo_name": _texts(source, lambda one: text[one] if one >= 0 else "")}
        return {
            "nki_source_location": _texts(source, lambda one: text[one] if one >= 0 else None),
            "nki_call_stack": _texts(source, lambda one: tuple(self.program.call_stack(one)) if one >= 0 else ()),
        }

    def _variable(self, origin: int) -> str:
        """Return the tensor in HBM that a DMA reads, else the one that it writes."""
        step = self.steps[origin] if origin >= 0 else None
        accesses = (*step.reads.values(), *step.writes.values()) if step else ()
        buffers = (self.program.buffers[access.buffer] for access in accesses)
        return next((buffer.name for buffer in buffers if buffer.memory == "hbm"), "unknown")

    def _movement(self, own: np.ndarray, index: np.ndarray) -> dict[str, Any]:
        """Return when the packets of each DMA may move, and what sets their pace."""
        import numpy as np

        code = self.timed.code
        transfer = np.where(own, code.transfer[index], -1) if len(code) else np.full(len(own), -1)
        starts = np.rint(code.transfers.column(lambda one: start_ns(one, self.chip), "float64"))
        paces = np.append(1 + self.timed.by_hbm, 0)  # the last element is that of what is no DMA, whose transfer is -1
        return {
            "dma_start_ns": np.append(starts, 0.0)[transfer],
            "dma_pace": Coded(paces[transfer].astype(np.int64), ("", "dma", "hbm")),
        }

    def _predecessors(self, own: np.ndarray, index: np.ndarray) -> Links:
        import numpy as np

        code = self.timed.code
        begin = np.where(own, code.wait_start[index], 0)
        count = np.where(own, code.wait_start[index + 1] - begin, 0) if len(code) else np.zeros(len(own), np.int64)
        start = np.concatenate([[0], np.cumsum(count)])
        place = np.arange(start[-1]) - np.repeat(start[:-1] - begin, count)
        return Links(start, self.first + code.waits[place].astype(np.int64))


def _texts(keys: np.ndarray, text: Any) -> Coded:
    """Return a column of what a function says of each key, which is asked once."""
    import numpy as np

    low = int(keys.min(initial=0))
    there = np.zeros(int(keys.max(initial=0)) - low + 1, bool)
    there[keys - low] = True
    every = np.flatnonzero(there) + low
    return Coded((np.cumsum(there) - 1)[keys - low], [text(key) for key in every.tolist()])
