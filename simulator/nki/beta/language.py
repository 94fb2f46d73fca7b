"""`neuronxcc.nki.language`: the old dialect's names over the current one's functions."""

from __future__ import annotations

import itertools
from typing import Any

from neff_bench.simulator.nki import isa
from neff_bench.simulator.nki import language as nl
from neff_bench.simulator.nki.beta.index import Grid, arange
from neff_bench.simulator.nki.beta.tile import Tile, dressed, plain, write
from neff_bench.simulator.nki.language.operators import Operator
from neff_bench.simulator.recording.recorder import not_modelled, recorder
from neff_bench.simulator.recording.tensor import NkiTensor

__all__ = ["arange", "mgrid"]

mgrid = Grid()
_programs: list[tuple[tuple[int, ...], tuple[int, ...]]] = []


class par_dim(int):
    """The size of the partition dimension, wherever it stands in a shape."""


class spmd_dim:
    """A grid dimension of `size` programs on each of `cores` physical cores."""

    def __init__(self, size: int, cores: int) -> None:
        self.size = size
        self.cores = cores


def nc(count: int) -> int:
    return count


def programs(grid: tuple[Any, ...]) -> Any:
    """Set each program of the grid that the core that is recorded runs, one after the other."""
    sizes = tuple(item.size * item.cores if isinstance(item, spmd_dim) else int(item) for item in grid)
    spread = {axis: item.cores for axis, item in enumerate(grid) if isinstance(item, spmd_dim)}
    now = recorder()
    for program in itertools.product(*map(range, sizes)):
        if any(program[axis] % cores != now.core for axis, cores in spread.items()):
            continue
        if not spread and now.core:
            continue
        now.shared_count.clear()
        _programs.append((program, sizes))
        try:
            yield program
        finally:
            _programs.pop()


def program_id(axis: int = 0) -> int:
    return _programs[-1][0][axis] if _programs else nl.program_id(axis)


def num_programs(axes: Any = 0) -> int:
    return _programs[-1][1][axes] if _programs else nl.num_programs(axes)


def program_ndim() -> int:
    return len(_programs[-1][1]) if _programs else nl.program_ndim()


def ndarray(shape: Any, dtype: Any, *, buffer: Any = None, name: str = "") -> Tile:
    """On chip, dimensions before `par_dim` are blocks: they lie behind the partition dimension."""
    sizes = tuple(shape)
    blocks = next((at for at, size in enumerate(sizes) if isinstance(size, par_dim)), 0)
    ordered = (sizes[blocks], *sizes[:blocks], *sizes[blocks + 1 :])
    return Tile(nl.ndarray(tuple(map(int, ordered)), dtype, nl.sbuf if buffer is None else buffer, name), blocks)


def full(shape: Any, fill_value: Any, dtype: Any, *, buffer: Any = None, name: str = "") -> Tile:
    made = ndarray(shape, dtype, buffer=buffer, name=name)
    isa.memset(made.view, fill_value)
    return made


def zeros(shape: Any, dtype: Any, *, buffer: Any = None, name: str = "") -> Tile:
    return full(shape, 0, dtype, buffer=buffer, name=name)


def _no_mask(mask: Any) -> None:
    if mask is not None:
        raise not_modelled("a mask")


def load(src: Tile, *, mask: Any = None, dtype: Any = None) -> Tile:
    _no_mask(mask)
    return Tile(nl.load(src.view, dtype))


def store(dst: Tile, value: Any, *, mask: Any = None) -> None:
    _no_mask(mask)
    write(dst.view, plain(value))


def _reduce(function: Any, x: Tile, axis: Any, dtype: Any, keepdims: bool) -> Tile:
    """Reduce any free axes: those that stay are moved before those that go."""
    axes = sorted(at % x.view.ndim for at in (axis if isinstance(axis, (list, tuple)) else (axis,)))
    kept = [at for at in range(x.view.ndim) if at not in axes]
    view = x.view.permute([*kept, *axes])
    return Tile(function(view, axis=list(range(len(kept), x.view.ndim)), dtype=dtype, keepdims=keepdims))


def sum(x: Tile, axis: Any, *, dtype: Any = None, mask: Any = None, keepdims: bool = False) -> Tile:
    _no_mask(mask)
    return _reduce(nl.sum, x, axis, dtype, keepdims)


def max(x: Tile, axis: Any, *, dtype: Any = None, mask: Any = None, keepdims: bool = False) -> Tile:
    _no_mask(mask)
    return _reduce(nl.max, x, axis, dtype, keepdims)


def min(x: Tile, axis: Any, *, dtype: Any = None, mask: Any = None, keepdims: bool = False) -> Tile:
    _no_mask(mask)
    return _reduce(nl.min, x, axis, dtype, keepdims)


class Function(Operator):
    """An operator of the current dialect that takes and returns tiles."""

    __slots__ = ()

    def __call__(self, *operands: Any, dtype: Any = None, mask: Any = None) -> Tile:
        _no_mask(mask)
        return Tile(super().__call__(*plain(operands), dtype=dtype))


def copy(src: Tile, *, dtype: Any = None, mask: Any = None) -> Tile:
    _no_mask(mask)
    made = nl.ndarray(src.view.shape, src.dtype if dtype is None else dtype)
    isa.tensor_copy(made, src.view)
    return Tile(made)


def __getattr__(name: str) -> Any:
    """Everything else is the current dialect's: operators and functions take tiles, the rest is as it is."""
    found = getattr(nl, name)
    if isinstance(found, Operator):
        return Function(found.__name__)
    if not callable(found) or isinstance(found, type) or found is range:
        return found

    def function(*args: Any, mask: Any = None, **kwargs: Any) -> Any:
        _no_mask(mask)
        return dressed(found(*plain(args), **plain(kwargs)))

    return function


def is_tensor(value: Any) -> bool:
    return isinstance(value, (Tile, NkiTensor))
