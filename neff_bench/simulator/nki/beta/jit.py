"""Provides `neuronxcc.nki.jit`: kernels that are launched on a grid of programs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from neff_bench.simulator.nki import session
from neff_bench.simulator.nki.beta.grid import programs
from neff_bench.simulator.nki.beta.returns import after_loops
from neff_bench.simulator.nki.beta.tile import dressed, plain
from neff_bench.simulator.nki.jit import named
from neff_bench.simulator.recording.recorder import is_recording, recorder


class BetaKernel:
    """A decorated kernel; `kernel[a, b]` is its launch on a grid, one program after the other.

    `middle_end`: whether AWS's compiler transforms its instructions. `places`: whether the kernel's own addresses hold.
    """

    def __init__(self, function: Callable[..., Any], grid: tuple[Any, ...] = ()) -> None:
        functools.update_wrapper(self, named(function))
        self.function = function
        self.func = function
        self.grid = grid
        self.middle_end: bool = getattr(function, "middle_end", True)
        self.places: bool = getattr(function, "places", True)

    def __getitem__(self, grid: Any) -> BetaKernel:
        launched = BetaKernel(self.function, grid if isinstance(grid, tuple) else (grid,))
        launched.middle_end, launched.places = self.middle_end, self.places
        return launched

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the kernel inside a recording, program by program of its grid; else launch it."""
        if not is_recording():
            return session.call(self, args, kwargs, None)
        dialect = recorder().dialect
        outermost = not dialect.get("depth")
        if outermost:
            dialect["middle_end"], dialect["places"] = self.middle_end, self.places
        args, kwargs = dressed(args), {key: dressed(value) for key, value in kwargs.items()}
        result, function = None, after_loops(self.function)
        dialect["depth"] = dialect.get("depth", 0) + 1
        for _ in programs(self.grid) if self.grid else (None,):
            result = function(*args, **kwargs)
        dialect["depth"] -= 1
        return plain(result) if outermost else result


def jit(function: Any = None, **options: Any) -> Any:
    """Make a kernel of a function: a decorator, `@nki.jit` and `@nki.jit(mode=...)`."""
    if function is None:
        return functools.partial(jit, **options)
    return function if isinstance(function, BetaKernel) else BetaKernel(function)
