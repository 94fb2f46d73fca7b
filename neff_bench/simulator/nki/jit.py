"""Provides `nki.jit`: a kernel that can be launched on a grid, or called by another kernel."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from neff_bench.neffs.intake import kernel_name
from neff_bench.simulator.errors import NotModelledError
from neff_bench.simulator.nki import session
from neff_bench.simulator.recording.recorder import here, is_recording


class Kernel:
    """A decorated kernel. Inside another kernel a call runs its body; `kernel[lnc]` fixes the number of cores.

    `gridded`: whether the number of cores was given."""

    def __init__(
        self,
        function: Callable[..., Any],
        lnc: int = 1,
        options: dict[str, Any] | None = None,
        *,
        gridded: bool = False,
    ) -> None:
        functools.update_wrapper(self, named(function))
        self.function = function
        self.func = function
        self.lnc = lnc
        self.gridded = gridded
        self.options = options or {}

    def __getitem__(self, grid: Any) -> Kernel:
        sizes = grid if isinstance(grid, tuple) else (grid,)
        lnc = 1
        for size in sizes:
            lnc *= int(size)
        return Kernel(self.function, lnc, self.options, gridded=True)

    def with_schedule(self, edges: Any) -> Kernel:
        """Raise NotModelledError: edges between named instructions (AWS docs nki/guides/how-to-scheduling-apis.rst)."""
        raise NotModelledError(f"{self.function.__name__}.with_schedule is not modelled", here())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the kernel's body inside a recording, else launch it."""
        if is_recording():
            return self.function(*args, **kwargs)
        return session.call(self.function, args, kwargs, self.lnc if self.gridded else None)


def named(function: Any) -> Any:
    """Return the function; a `functools.partial`, which has no name, gets that of the function that it calls."""
    if isinstance(function, functools.partial) and not hasattr(function, "__name__"):
        function.__name__ = getattr(function.func, "__name__", "kernel")  # type: ignore[attr-defined]
    return function


def label(kernel: Any) -> str:
    """Return the name of a kernel, decorated or not, as `kernel_name` makes it of its entry; of a `functools.partial` that of what it
    calls, and of an object that is called that of its class."""
    function = body(kernel)
    while isinstance(function, functools.partial):
        function = function.func
    function = inspect.unwrap(function)
    name = getattr(function, "__name__", type(function).__name__)
    file = getattr(getattr(function, "__code__", None), "co_filename", "")
    return kernel_name(f"{file}:{name}" if file.endswith(".py") else name)


def jit(fn: Any = None, func: Any = None, **options: Any) -> Any:
    """Make a kernel of a function: a decorator, `@nki.jit` and `@nki.jit(mode=...)`. `func` is the name of `fn` before SDK 2.30."""
    function = func if fn is None else fn
    if function is None:
        return functools.partial(jit, **options)
    if isinstance(function, Kernel):
        return function
    return Kernel(function, options=options)


def body(kernel: Any) -> Callable[..., Any]:
    """Return the Python function of a kernel, decorated or not."""
    return kernel.function if isinstance(kernel, Kernel) else kernel
