"""Finds one time axis for a trace whose engines do not share a clock.

Version 6, and version 5 on trn2, count picoseconds of one clock. On inf2 and trn1 (versions 4, 5) the clocks of engines differ by constants, found by
matching the ends of an engine's EVENT_SEMAPHORE instructions with the semaphore updates tagged with that engine; DMA engines count 0.85 GHz ticks from
another epoch, found likewise. The time zero is the end of the Tensor NOTIFY that opens the pass. The residual constants below were fitted on inf2
(certainty `calibrated`); elsewhere they are left out (`unverified`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from neff_bench.chips import CHIPS
from neff_bench.parsers.formats.ntff import DMA_WRITER, OPENS_PASS
from neff_bench.parsers.formats.opcodes import OPCODES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from neff_bench.parsers.container import Container
    from neff_bench.parsers.rows import RawDma, RawInstructions, Records

ENGINE_COUNT = 5

TRN2_MARKER_PS = 4167
"""The execution on trn2 starts 5 cycles of 1.2 GHz before the opening NOTIFY ends (all version 6 files)."""

INF2_SCALE = np.array([1 - 27.3e-6, 1 - 27.3e-6, 1 - 27.3e-6, 1 - 28.4e-6, 1 - 27.3e-6])
INF2_CONSTANT_PS = np.array([0, 10_800, 12_100, 1_600, 15_000])
INF2_SEMAPHORE_PS = -34_300
INF2_DMA_PS = -178_000
"""A DMA's semaphore update is seen about this long after its write done; 60 ns either way."""
INF2_DMA_SCALE = 1 - 28.07e-6
INF2_DMA_ENGINE_PS = np.array(
    [-5050, -1400, 2050, -10900, -7350, -3850, -1400, 2050, 5600, -2650, 900, 4450, 11500, 7950, 900, -2600]
)
"""The start of each DMA engine: they start apart by multiples of three ticks, the same in every trace."""

DMA_TICK_PS = (20_000, 17)
"""A tick of 0.85 GHz is 20000/17 ps."""

VOTERS = 1000
VOTE_WINDOW_PS = 3_000
DMA_VOTE_WINDOW_PS = 20_000
VOTES_MIN = 3
CANDIDATES = 200
VOTE_SHARE = 0.6
"""An offset counts when this share of an engine's EVENT_SEMAPHOREs agrees on it within the window."""


@dataclass(frozen=True, eq=False)
class Clock:
    """Ticks to ps since the start of the execution, for one core.

    `known`: per engine, whether its clock was found. `offset`: per engine, ps to add; `end_ps`: rows that end later do not count.
    """

    zero: int
    offset: NDArray[np.int64]
    scale: NDArray[np.float64]
    known: NDArray[np.bool_]
    semaphore_offset: int
    dma_tick_ps: tuple[int, int]
    dma_epoch: int
    dma_offset: int | None
    dma_scale: float
    dma_engine_offset: NDArray[np.int64]
    end_ps: int | None

    def instruction_ps(self, engine: Any, ticks: Any) -> Any:
        """Return ticks of instructions in ps. `engine`: (n,) index; `ticks`: (n,). Exact where the clock needs no scale."""
        since = ticks - self.zero
        if (self.scale == 1).all():
            return since + self.offset[engine] if self.offset.any() else since
        shifted = since + self.offset[engine]
        return shifted - np.rint(shifted * (1 - self.scale[engine])).astype(np.int64)

    def semaphore_ps(self, ticks: Any) -> Any:
        """Return the ticks of semaphore records on the common axis, in picoseconds."""
        since = ticks - self.zero
        shifted = since if (self.scale == 1).all() else since - np.rint(since * (1 - self.scale[0])).astype(np.int64)
        return shifted + self.semaphore_offset

    def dma_ps(self, engine: Any, ticks: Any) -> Any:
        """Return ticks of DMA packets in ps. `engine`: (n,) within the core; `ticks`: (n,). Raises ValueError when the DMA clock was not found."""
        if self.dma_offset is None:
            raise ValueError("no DMA clock")
        if self.dma_scale == 1 and self.dma_tick_ps == (1, 1):
            return ticks - self.dma_epoch + self.dma_offset
        numerator, denominator = self.dma_tick_ps
        since = (ticks - self.dma_epoch) * numerator // denominator + self.dma_offset
        return since - np.rint(since * (1 - self.dma_scale)).astype(np.int64) + self.dma_engine_offset[engine]


def one_clock(zero: int, end_ps: int | None) -> Clock:
    """Return the clock of files whose every unit counts the same picoseconds."""
    same, exact = np.zeros(ENGINE_COUNT, np.int64), np.ones(ENGINE_COUNT)
    return Clock(
        zero, same, exact, np.ones(ENGINE_COUNT, bool), 0, (1, 1), zero, 0, 1.0, np.zeros(16, np.int64), end_ps
    )


def synchronise(
    container: Container,
    rows: Mapping[int, RawInstructions],
    updates: Mapping[int, Records],
    packets: Mapping[int, RawDma],
) -> Mapping[int, Clock]:
    """Return a clock for each core that has one; a core is missing when nothing in its trace tells the start of the execution."""
    cores = sorted({section.core for section in container.sections})
    if container.window is not None:
        start, end = container.window
        return dict.fromkeys(cores, one_clock(0, end - start))
    opened = {core: int(ends.min()) for core in cores if core in rows and len(ends := _opening_ends(rows[core]))}
    if container.family and CHIPS[container.family].one_clock:
        return dict.fromkeys(cores, one_clock(min(opened.values()) - TRN2_MARKER_PS, None)) if opened else {}
    clocks = {core: _vote(container, opened[core], rows[core], updates.get(core), packets.get(core)) for core in opened}
    return {core: clock for core, clock in clocks.items() if clock is not None}


def _opening_ends(rows: RawInstructions) -> Any:
    return rows.end[(rows.engine == 0) & (rows.opcode == OPCODES["NOTIFY"]) & (rows.marker == OPENS_PASS)]


def _vote(
    container: Container, opened: int, rows: RawInstructions, updates: Records | None, packets: RawDma | None
) -> Clock | None:
    if updates is None:
        return None
    calibrated = container.version == 5 and container.family == "inf2"
    to_semaphores: list[int | None] = []
    for engine in range(ENGINE_COUNT):
        ends = rows.end[(rows.engine == engine) & (rows.opcode == OPCODES["EVENT_SEMAPHORE"])]
        to_semaphores.append(_offset(ends, updates.ticks[updates.writer == engine + 1], VOTE_WINDOW_PS))
    if to_semaphores[0] is None:
        return None
    zero = opened + to_semaphores[0]
    constant = INF2_CONSTANT_PS if calibrated else np.zeros(ENGINE_COUNT, np.int64)
    epoch, dma_offset = 0, None
    if packets is not None and len(packets.done):
        epoch = int(packets.done.min())
        done_ps = (packets.done - epoch) * DMA_TICK_PS[0] // DMA_TICK_PS[1]
        found = _offset(updates.ticks[updates.writer == DMA_WRITER], done_ps, DMA_VOTE_WINDOW_PS)
        dma_offset = None if found is None else -found - zero + (INF2_DMA_PS if calibrated else 0)
    return Clock(
        zero=zero,
        offset=np.array([offset or 0 for offset in to_semaphores]) + constant,
        scale=INF2_SCALE if calibrated else np.ones(ENGINE_COUNT),
        known=np.array([offset is not None for offset in to_semaphores]),
        semaphore_offset=INF2_SEMAPHORE_PS if calibrated else 0,
        dma_tick_ps=DMA_TICK_PS,
        dma_epoch=epoch,
        dma_offset=dma_offset,
        dma_scale=INF2_DMA_SCALE if calibrated else 1.0,
        dma_engine_offset=INF2_DMA_ENGINE_PS if calibrated else np.zeros(16, np.int64),
        end_ps=None,
    )


def _offset(from_ticks: Any, to_ticks: Any, window_ps: int) -> int | None:
    """Return what to add to the first clock to get the second: the difference at which most of the first clock's events have a partner, and among
    equals at which they agree most closely; None when few agree."""
    from_ticks, to_ticks = np.sort(from_ticks)[:VOTERS], np.sort(to_ticks)[:VOTERS]
    if min(len(from_ticks), len(to_ticks)) < VOTES_MIN:
        return None
    differences = (to_ticks[None, :] - from_ticks[:, None]).ravel()
    order = np.argsort(differences)
    differences, voter = differences[order], order // len(to_ticks)
    first = np.arange(len(differences))
    last = np.searchsorted(differences, differences + window_ps, side="right")
    candidates = np.argsort(first - last, kind="stable")[:CANDIDATES]

    def merit(at: int) -> tuple[int, int]:
        return len(np.unique(voter[at : last[at]])), int(differences[at] - differences[last[at] - 1])

    best = max(candidates.tolist(), key=merit)
    if merit(best)[0] < max(VOTES_MIN, VOTE_SHARE * len(from_ticks)):
        return None
    return int(np.median(differences[best : last[best]]))
