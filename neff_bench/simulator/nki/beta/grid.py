"""Runs the grid of programs of `neuronxcc.nki`: each core runs its programs one after the other."""

from __future__ import annotations

import itertools
from typing import Any

from neff_bench.simulator.nki import language as nl
from neff_bench.simulator.nki.beta.index import whole_numbers
from neff_bench.simulator.recording.recorder import is_recording, recorder


class spmd_dim:
    """A grid dimension of `size` programs on each of `cores` physical cores."""

    def __init__(self, size: int, cores: int) -> None:
        self.size = size
        self.cores = cores


def nc(count: int) -> int:
    """Return a dimension of a grid that is spread over physical cores."""
    return count


def programs(grid: tuple[Any, ...]) -> Any:
    """Set each program of the grid that the core that is recorded runs, one after the other."""
    sizes = whole_numbers(
        "a grid", tuple(item.size * item.cores if isinstance(item, spmd_dim) else item for item in grid)
    )
    spread = {axis: item.cores for axis, item in enumerate(grid) if isinstance(item, spmd_dim)}
    now = recorder()
    for program in itertools.product(*map(range, sizes)):
        if any(program[axis] % cores != now.core for axis, cores in spread.items()):
            continue
        if not spread and now.core:
            continue
        now.shared_count.clear()
        outer = now.dialect.get(_PROGRAM)
        now.dialect[_PROGRAM] = program, sizes
        try:
            yield program
        finally:
            now.dialect[_PROGRAM] = outer


_PROGRAM = "program"
"""What a recording keeps of its grid: the numbers of the program that runs, along each axis, and how many there are."""


def _running() -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    return recorder().dialect.get(_PROGRAM) if is_recording() else None


def program_id(axis: int = 0) -> int:
    """Return the number of this program along an axis of the grid."""
    running = _running()
    return running[0][axis] if running else nl.program_id(axis)


def num_programs(axes: Any = 0) -> int:
    """Return programs along an axis of the grid."""
    running = _running()
    found: int = running[1][axes] if running else nl.num_programs(axes)
    return found


def program_ndim() -> int:
    """Return the dimensions of the grid."""
    running = _running()
    return len(running[1]) if running else nl.program_ndim()
