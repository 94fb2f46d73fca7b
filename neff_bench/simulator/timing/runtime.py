"""Says what the runtime does around a kernel, as columns: its instructions, its semaphore updates, its fetches, made once for each core of a chip."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from neff_bench.chips.overheads import Control, Overheads
from neff_bench.parsers.formats.opcodes import OPCODES
from neff_bench.simulator.timing.schedule import Schedule

if TYPE_CHECKING:
    import numpy as np

_CLEARED = ((3, 53), (54, 104), (105, 155), (156, 206), (207, 255))
"""By engine: first and last of the semaphores that its EVENT_SEMAPHORE_RANGE_CLEAR sets to zero (inf2 and trn2 traces), or one EVENT_SEMAPHORE each
(trn1 traces: 51, 51, 51, 51 and 49 of them)."""
_MEETING, _MEETING_VALUES = 2, 9
"""The semaphore at which the engines meet around a kernel, and its values: 1 to 8, then 0 (inf2 and trn2 traces)."""


@dataclass(frozen=True)
class Fetches:
    """Packets of instruction fetch: DMA engine, bytes, times in ns."""

    engine: np.ndarray
    bytes: np.ndarray
    start_ns: np.ndarray
    duration_ns: np.ndarray


@dataclass(frozen=True)
class Updates:
    """Semaphore updates. `value`: after the update; `engine`: who; time in ns."""

    semaphore: np.ndarray
    value: np.ndarray
    engine: np.ndarray
    time_ns: np.ndarray


@dataclass(frozen=True)
class Around:
    """The runtime's instructions on one core: the first `before` are before the kernel, engine by engine, the others behind it. Arrays of equal
    length; times in ns from the start of the execution."""

    engine: np.ndarray
    opcode: np.ndarray
    start_ns: np.ndarray
    duration_ns: np.ndarray
    before: int
    clears: _Clears

    def updates(self) -> Updates:
        """Return the meeting of all engines: each EVENT_SEMAPHORE raises semaphore 2, at whose eighth value all engines have met; it begins anew then. Each engine
        clears its share of the others at the end."""
        import numpy as np

        clears = self.clears
        step = self.duration_ns[clears.control] / clears.count
        cleared = self.start_ns[clears.control][clears.which] + step[clears.which] * clears.step
        met = self.start_ns[clears.meeting] + self.duration_ns[clears.meeting]
        place = np.lexsort((self.engine[clears.meeting], met))
        return Updates(
            np.concatenate([clears.semaphore, np.full(len(met), _MEETING, np.int32)]),
            np.concatenate([np.zeros(len(cleared), np.int64), np.arange(1, len(met) + 1) % _MEETING_VALUES]),
            np.concatenate([self.engine[clears.control][clears.which], self.engine[clears.meeting][place]]).astype(np.uint8),
            np.concatenate([cleared, met[place]]),
        )  # fmt: skip


@dataclass(frozen=True)
class _Clears:
    """Holds which of the instructions update semaphores. `control`: those that clear one or a range; `count`: how many each clears.
    Of each cleared semaphore: `which` of them clears it, as its `step`-th. `meeting`: those that raise semaphore 2."""

    control: np.ndarray
    count: np.ndarray
    which: np.ndarray
    step: np.ndarray
    semaphore: np.ndarray
    meeting: np.ndarray

    @property
    def updates(self) -> int:
        """How many updates these are."""
        return len(self.semaphore) + len(self.meeting)


@dataclass(frozen=True)
class _Fixed:
    """Holds what `Around` is made from. `start_ns`: before the kernel from the start of the execution; behind it from the end of the
    engine's own work (`leaving`) or of the kernel. `waits`: the last instruction of an engine that leaves; `until_ns`: when it
    ends, from the end of the kernel."""

    engine: np.ndarray
    opcode: np.ndarray
    start_ns: np.ndarray
    duration_ns: np.ndarray
    before: int
    leaving: np.ndarray
    waits: np.ndarray
    until_ns: np.ndarray
    kernel_start_ns: np.ndarray
    clears: _Clears


def around(schedule: Schedule, number: int) -> Around:
    """Return the runtime's instructions around the kernel on core `number`. An engine enters the postamble when the kernel has ended on
    the core; from the end of its own work until then it is leaving."""
    import numpy as np

    core, fixed = schedule.cores[number], _fixed(schedule.overheads, number)
    end = core.kernel_end_ns
    own_end = np.full(5, -np.inf)
    np.maximum.at(own_end, core.code.engine, core.end_ns)
    since = np.where(np.isinf(own_end), fixed.kernel_start_ns, own_end)
    start, duration = fixed.start_ns.copy(), fixed.duration_ns.copy()
    behind = slice(fixed.before, None)
    start[behind] += np.where(fixed.leaving, since[fixed.engine[behind]], end)
    duration[fixed.waits] = np.maximum(end + fixed.until_ns - start[fixed.waits], 0.0)
    return Around(fixed.engine, fixed.opcode, start, duration, fixed.before, fixed.clears)


@lru_cache(maxsize=64)
def fetched(overheads: Overheads, core: int) -> Fetches:
    """Return the packets of instruction fetch of one core."""
    import numpy as np

    fetches = overheads.fetches[core]
    return Fetches(
        np.array([fetch.engine for fetch in fetches], dtype=np.int32),
        np.array([fetch.bytes for fetch in fetches], dtype=np.int64),
        np.array([fetch.start_ns for fetch in fetches], dtype=float),
        np.array([fetch.duration_ns for fetch in fetches], dtype=float),
    )


@lru_cache(maxsize=64)
def _fixed(overheads: Overheads, core: int) -> _Fixed:
    import numpy as np

    rows: list[tuple[int, Control]] = [
        (engine, control) for engine in range(5) for control in overheads.preamble[core][engine]
    ]
    before = len(rows)
    leaving: list[bool] = []
    waits: list[int] = []
    until: list[float] = []
    for engine in range(5):
        left = overheads.leaving[core][engine] if overheads.leaving else ()
        after = overheads.postamble[core][engine]
        rows += [(engine, control) for control in (*left, *after)]
        leaving += [True] * len(left) + [False] * len(after)
        if left:
            waits.append(len(rows) - len(after) - 1)
            until.append(after[0].start_ns)
    engines = np.array([engine for engine, _ in rows], dtype=np.int64)
    return _Fixed(
        engines,
        np.array([OPCODES[control.opcode] for _, control in rows], dtype=np.int64),
        np.array([control.start_ns for _, control in rows], dtype=float),
        np.array([control.duration_ns for _, control in rows], dtype=float),
        before,
        np.array(leaving, dtype=bool),
        np.array(waits, dtype=np.int64),
        np.array(until, dtype=float),
        np.array([overheads.kernel_start_ns(core, engine) for engine in range(5)], dtype=float),
        _clears(rows, engines),
    )


def _clears(rows: list[tuple[int, Control]], engines: np.ndarray) -> _Clears:
    import numpy as np

    by_engine = np.argsort(engines, kind="stable").tolist()
    of_all = [at for at in by_engine if rows[at][1].opcode == "EVENT_SEMAPHORE_RANGE_CLEAR"]
    of_one = [at for at in by_engine if rows[at][1].clears]
    left = [iter(range(first, last + 1)) for first, last in _CLEARED]
    control = of_all + of_one
    ranges = [list(left[rows[at][0]]) for at in of_all] + [[next(left[rows[at][0]])] for at in of_one]
    count = np.array([len(numbers) for numbers in ranges], dtype=np.int64)
    return _Clears(
        np.array(control, dtype=np.int64),
        count,
        np.repeat(np.arange(len(control)), count),
        np.array([step for numbers in ranges for step in range(1, len(numbers) + 1)], dtype=np.int64),
        np.array([number for numbers in ranges for number in numbers], dtype=np.int32),
        np.array(
            [at for at in by_engine if rows[at][1].opcode == "EVENT_SEMAPHORE" and not rows[at][1].clears],
            dtype=np.int64,
        ),
    )
