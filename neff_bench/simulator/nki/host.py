"""Does what a script asks of a kernel: call it, benchmark it, profile it.

Here they run on the embedded toolchain after `listen` was called, as `neff-bench run` does. All times are simulated and equal for every iteration, and
options of the compiler change nothing.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from neff_bench.neffs.intake import default_lnc
from neff_bench.simulator.nki import session
from neff_bench.simulator.nki.jit import Kernel, body
from neff_bench.simulator.nki.launch import Launch, launch, target
from neff_bench.simulator.program import Program
from neff_bench.simulator.recording.recorder import is_recording

listener: Callable[[Launch], None] | None = None
"""Gets each launch after it ran."""

lnc_without_grid: int | None = None
"""Physical cores of a launch without a grid; None for what AWS takes."""


def listen(hear: Callable[[Launch], None], lnc: int | None) -> None:
    """Let kernels be called on arrays from here on; `hear` gets each launch. `lnc`: see `lnc_without_grid`."""
    global listener, lnc_without_grid
    listener, lnc_without_grid = hear, lnc
    session.launcher = lambda function, args, kwargs, lnc: _launch(function, args, kwargs, lnc).result


def listen_no_more() -> None:
    """Let kernels be called on arrays no more."""
    global listener
    listener = session.launcher = None


def _launch(function: Any, args: Any, kwargs: Any, lnc: int | None) -> Launch:
    done = launch(function, args, kwargs, lnc or lnc_without_grid or default_lnc(target()), fits=True)
    if listener is not None:
        listener(done)
    return done


def _run(kernel: Any, args: Any, kwargs: Any) -> Launch:
    """Return one launch of a kernel of either dialect, with or without a grid."""
    while isinstance(kernel, Benchmarked):
        kernel = kernel.kernel
    return _launch(body(kernel), args, kwargs, kernel.lnc if isinstance(kernel, Kernel) and kernel.gridded else None)


@dataclass(frozen=True)
class Latency:
    """The latency of one core. All iterations of a simulated kernel take the same time."""

    total_us: float

    def get_latency_percentile(self, percentile: float) -> float:
        """Return microseconds, whatever the percentile."""
        if not 0 <= percentile <= 100:
            raise ValueError(f"percentile {percentile}: expected 0 to 100")
        return self.total_us


@dataclass(frozen=True)
class BenchmarkResult:
    """Holds what `nki.benchmark` leaves as `benchmark_result`. `is_simulation`: always true here."""

    nc_latency: Latency
    is_simulation: bool = True


class Benchmarked:
    """A kernel whose calls leave their simulated time in `benchmark_result`, and its NEFF and trace where asked."""

    def __init__(self, kernel: Any, neff: str | None, trace: str | None, timed: bool) -> None:
        functools.update_wrapper(self, getattr(kernel, "function", kernel))
        self.kernel = kernel
        self.neff = neff
        self.trace = trace
        self.timed = timed
        self.benchmark_result: BenchmarkResult | None = None

    def __getitem__(self, grid: Any) -> Benchmarked:
        return Benchmarked(self.kernel[grid], self.neff, self.trace, self.timed)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the kernel once, and keep its time and files. Inside another kernel, run its body."""
        if is_recording():
            return body(self.kernel)(*args, **kwargs)
        done = _run(self.kernel, args, kwargs)
        if self.timed:
            self.benchmark_result = BenchmarkResult(Latency(_total_us(done.program)))
            print(f"{done.name}: {self.benchmark_result.nc_latency.total_us:.2f} us, simulated", file=sys.stderr)
        _write_files(done.program, self.neff, self.trace)
        return done.result


def benchmark(
    kernel: Any = None, *, warmup: int = 10, iters: int = 100, save_neff_name: str | None = None,
    save_trace_name: str | None = None, additional_compile_opt: str = "", disable_allocation_opt: bool = False,
) -> Any:  # fmt: skip
    """Return `nki.benchmark`, as a decorator. One run answers for all iterations."""
    return _decorator(kernel, save_neff_name, save_trace_name, timed=True)


def baremetal(
    kernel: Any = None, *, save_neff_name: str | None = None, save_trace_name: str | None = None,
    additional_compile_opt: str = "", disable_allocation_opt: bool = False, artifacts_dir: str | None = None,
) -> Any:  # fmt: skip
    """Return `nki.baremetal`, as a decorator: the kernel takes and returns numpy arrays."""
    return _decorator(
        kernel, _inside(artifacts_dir, save_neff_name), _inside(artifacts_dir, save_trace_name), timed=False
    )


def profile(
    kernel: Any = None, *, working_directory: str = ".", save_neff_name: str = "file.neff",
    save_trace_name: str = "profile.ntff", profile_nth: int = 1, additional_compile_opt: str = "", disable_allocation_opt: bool = False, overwrite: bool = False,
) -> Any:  # fmt: skip
    """Return `nki.profile`, as a decorator: leaves the NEFF and the trace in `working_directory`."""
    return _decorator(
        kernel, _inside(working_directory, save_neff_name), _inside(working_directory, save_trace_name), timed=True
    )


def simulate_kernel(kernel: Any, *args: Any, **kwargs: Any) -> Any:
    """Return `nki.simulate_kernel`: run a kernel on numpy arrays."""
    return _run(kernel, args, kwargs).result


def _decorator(kernel: Any, neff: str | None, trace: str | None, *, timed: bool) -> Any:
    def decorate(function: Any) -> Benchmarked:
        return Benchmarked(function, neff, trace, timed)

    return decorate if kernel is None else decorate(kernel)


def _inside(directory: str | None, name: str | None) -> str | None:
    return None if name is None else os.path.join(directory or "", name)


def _total_us(program: Program) -> float:
    from neff_bench.simulator.timing.schedule import schedule
    from neff_bench.simulator.timing.timeline import timeline_of

    return timeline_of(schedule(program)).total_ps * 1e-6


def _write_files(program: Program, neff: str | None, trace: str | None) -> None:
    from neff_bench.simulator.files.neff import read_neff_content, write_neff
    from neff_bench.simulator.files.ntff import write_ntff
    from neff_bench.simulator.timing.schedule import schedule
    from neff_bench.simulator.timing.timeline import timeline_of

    if neff is None:
        return
    os.makedirs(os.path.dirname(neff) or ".", exist_ok=True)
    write_neff(program, neff)
    if trace is not None:
        timed = schedule(program)
        write_ntff(read_neff_content(neff), timed, timeline_of(timed), trace, 0)
