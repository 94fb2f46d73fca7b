"""`neuronxcc.nki.jit`: kernels that are launched on a grid of programs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from neff_bench.simulator.nki import session
from neff_bench.simulator.nki.beta.language import programs
from neff_bench.simulator.nki.beta.tile import dressed, plain
from neff_bench.simulator.recording.recorder import is_recording


class BetaKernel:
    """A decorated kernel; `kernel[a, b]` is its launch on a grid, one program after the other."""

    def __init__(self, function: Callable[..., Any], grid: tuple[Any, ...] = ()) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.grid = grid

    def __getitem__(self, grid: Any) -> BetaKernel:
        return BetaKernel(self.function, grid if isinstance(grid, tuple) else (grid,))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not is_recording():
            return session.call(self, args, kwargs, None)
        args, kwargs = dressed(args), {key: dressed(value) for key, value in kwargs.items()}
        if not self.grid:
            return plain(self.function(*args, **kwargs))
        result = None
        for _ in programs(self.grid):
            result = self.function(*args, **kwargs)
        return plain(result)


def jit(function: Any = None, **options: Any) -> Any:
    """Decorator; `@nki.jit` and `@nki.jit(mode=...)`."""
    if function is None:
        return functools.partial(jit, **options)
    return BetaKernel(function)
