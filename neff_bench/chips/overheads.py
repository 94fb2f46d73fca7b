"""Says what surrounds every kernel on the device: the runtime's preamble and postamble and the fetching of instructions.

Times are in ns: from the start of the execution for the preamble, from the end of the core's last kernel instruction for the postamble.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from neff_bench.chips.engines import ENGINES


@dataclass(frozen=True)
class Control:
    """One fixed instruction. `opcode`: its name. Times in ns. `clears`: it is an EVENT_SEMAPHORE that sets one semaphore to zero, where others
    are where engines meet."""

    opcode: str
    start_ns: float
    duration_ns: float
    clears: bool = False


@dataclass(frozen=True)
class Fetch:
    """One instruction-fetch packet: DMA engine within the core, bytes, times in ns from the start of the execution."""

    engine: int
    bytes: int
    start_ns: float
    duration_ns: float


@dataclass(frozen=True, eq=False)
class Overheads:
    """The overheads by core (the second entry is that of the second core of a logical core), then by engine index.

    postamble_ns: last kernel instruction to the end of the execution. leaving: what an engine does after its own last kernel instruction, while others
    work; the last of it lasts until the postamble. first_execution_ns: how much later GpSimd can begin in the first execution after loading.
    static: the overheads where the descriptors of every DMA were made at compile time, None where they are not known to differ.
    """

    preamble: tuple[tuple[tuple[Control, ...], ...], ...]
    postamble: tuple[tuple[tuple[Control, ...], ...], ...]
    fetches: tuple[tuple[Fetch, ...], ...]
    postamble_ns: float
    first_execution_ns: float
    leaving: tuple[tuple[tuple[Control, ...], ...], ...] = ()
    static: Overheads | None = None

    def around(self, static: bool) -> Overheads:
        """Return what surrounds a kernel. `static`: the descriptors of all its DMAs were made at compile time."""
        return self.static if static and self.static is not None else self

    def kernel_start_ns(self, core: int, engine: int, first_execution: bool = False) -> float:
        """Return when the engine can begin with the kernel."""
        later = self.first_execution_ns if first_execution and ENGINES[engine] == "gpsimd" else 0.0
        return self._preamble_ends_ns[core][engine] + later

    @cached_property
    def _preamble_ends_ns(self) -> list[list[float]]:
        return [
            [max((c.start_ns + c.duration_ns for c in each), default=0.0) for each in core] for core in self.preamble
        ]

    @property
    def preamble_ns(self) -> float:
        """When the first engine can begin."""
        return min(self._preamble_ends_ns[0])


def controls(*texts: str) -> tuple[tuple[Control, ...], ...]:
    """Return the control instructions by engine, in the order of ENGINES. Each text: `OPCODE start duration`, separated by semicolons, or `OPCODE start duration times
    every` of instructions that each clear a semaphore."""
    return tuple(
        tuple(control for entry in text.split(";") if entry.strip() for control in _controls(*entry.split()))
        for text in texts
    )


def _controls(name: str, start: str, duration: str, times: str = "1", every: str = "") -> Iterator[Control]:
    for number in range(int(times)):
        later = number * float(every) if every else 0.0
        yield Control(name, float(start) + later, float(duration), bool(every))


def fetches(text: str) -> tuple[Fetch, ...]:
    """Return the text: `engine bytes start duration`, separated by semicolons, or `engine bytes start duration times every`."""
    return tuple(fetch for entry in text.split(";") if entry.strip() for fetch in _fetches(*entry.split()))


def _fetches(engine: str, size: str, start: str, duration: str, times: str = "1", every: str = "0") -> Iterator[Fetch]:
    for number in range(int(times)):
        yield Fetch(int(engine), int(size), float(start) + number * float(every), float(duration))
