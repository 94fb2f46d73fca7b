"""Keeps the recording context: what the kernel that runs now has allocated and issued.

One recorder serves one trace. With two physical cores the kernel runs twice, core 0 then core 1, over the same HBM:
shapes do not depend on data, so neither run needs the other's results.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import get_ident
from types import FrameType
from typing import TYPE_CHECKING, Any

import msgspec

from neff_bench.simulator.errors import KernelError, NkiValidationError, NotModelledError
from neff_bench.simulator.native.recorder import compiled
from neff_bench.simulator.program import Access, Engine, Instruction, Kind, Memory
from neff_bench.simulator.recording.lines import OWN, Lines
from neff_bench.simulator.recording.places import Places


class PlainStorage(msgspec.Struct, eq=False, gc=False):
    """One allocation. `size`: elements; `free`: elements in one partition (on chip), else `size`.

    `partition` and `address`: where the kernel placed it, the latter None where the allocator may choose.
    """

    index: int
    name: str
    memory: Memory
    region: Any
    shape: tuple[int, ...]
    dtype: str
    itemsize: int
    size: int
    free: int
    kind: Kind
    core: int | None
    source: int
    data: bytes = b""
    partition: int = 0
    address: int | None = None


class PlainState:
    """Holds what is asked of a recorder for each instruction and allocation."""

    __slots__ = ("core", "fixed_source", "forms", "instructions", "places", "storages", "valid_matmuls")

    core: int
    fixed_source: int
    forms: dict[Any, Any]
    instructions: Sequence[Instruction]
    places: Places
    storages: list[Storage]
    valid_matmuls: set[tuple[object, ...]]


Storage = PlainStorage
State = PlainState
_core = compiled()
if not TYPE_CHECKING and _core is not None:
    Storage, State = _core.Storage, _core.State


class NkiInstruction:
    """Holds what an instruction returns. All are one object: nothing can be asked of it."""

    __slots__ = ()

    def depends_on(self, *producers: NkiInstruction) -> NkiInstruction:
        """Refuse the call: the order of instructions follows from their operands."""
        raise not_modelled("NkiInstruction.depends_on")


_ISSUED = NkiInstruction()


class Recorder(State):
    """`instructions`: the list of the core that is being recorded; `core`: its number.

    `lines`: the sources of what is recorded. `places`: which of them runs. `fixed_source`: an index to use instead, or -1.
    `forms`: what tensors of the same shape, dtype and memory share. `valid_matmuls`: shapes, dtypes and memories of matmuls that were checked; kernels repeat a few of them often.
    `meets`: whether a core waits anywhere for another. `dialect`: what the old dialect (`nki/beta`) keeps while it records one core. `run`: gives the value of a register
    from the kernel's data, None where those are not at hand.
    """

    __slots__ = (
        "cores",
        "dialect",
        "lines",
        "lnc",
        "meets",
        "run",
        "shared",
        "shared_count",
        "sync_count",
        "target",
    )  # fmt: skip

    def __init__(self, target: str, lnc: int) -> None:
        self.target = target
        self.lnc = lnc
        self.core = 0
        self.cores: list[Sequence[Instruction]] = _cores(lnc)
        self.instructions = self.cores[0]
        self.storages = []
        self.lines = Lines()
        self.places = Places(self.lines.locate)
        self.fixed_source = -1
        self.forms = {}
        self.shared: dict[tuple[object, ...], Storage] = {}
        self.shared_count: dict[tuple[object, ...], int] = {}
        self.sync_count: dict[str, int] = {}
        self.meets = False
        self.valid_matmuls = set()
        self.dialect: dict[Any, Any] = {}
        self.run: Callable[[Any], int] | None = None

    def start_core(self, core: int) -> None:
        """Send what follows to physical core `core`; occurrences of shared tensors and barriers count from zero.

        The caller calls the kernel: call stacks end at its frame.
        """
        self.lines.root = id(sys._getframe(1))
        self.places.start(self.lines.root)
        self.core = core
        self.instructions = self.cores[core]
        self.shared_count.clear()
        self.sync_count.clear()
        self.dialect.clear()

    def written(self) -> list[Instruction]:
        """Return the instructions of the core as a list that may be changed; what follows is appended to it. Columns, once they are read as
        instructions, stay so."""
        if not isinstance(self.instructions, list):
            self.instructions = self.cores[self.core] = list(self.instructions)
        return self.instructions

    def meeting(self, op: str) -> int:
        """Return how many operations of this name the core has recorded before: both cores meet at those of one number."""
        self.meets = True
        count = self.sync_count.get(op, 0)
        self.sync_count[op] = count + 1
        return count

    def source(self) -> int:
        """Return the index of the kernel line that runs now: that which called the function that asks."""
        return self.fixed_source if self.fixed_source >= 0 else self.places.source(2)

    @contextmanager
    def at(self, text: str) -> Iterator[None]:
        """Give everything recorded inside the source `text` (a graph's instruction, say) instead of a Python line."""
        before, self.fixed_source = self.fixed_source, self.lines.intern(text)
        try:
            yield
        finally:
            self.fixed_source = before


def _cores(lnc: int) -> list[Sequence[Instruction]]:
    """Return what keeps the instructions of each core: columns that share their words, where the recorder is compiled, else lists."""
    if _core is None:
        return [[] for _ in range(lnc)]
    first = _core.Steps()
    return [first, *(_core.Steps((), first) for _ in range(1, lnc))]


_active: dict[int, Recorder] = {}
"""The recorder of each thread that records a kernel, by the thread's number."""
_OUTSIDE = "nki operations work inside a kernel only; launch it with nki.simulate or compile it"


def recorder() -> Recorder:
    """Return the recorder of the kernel that this thread runs now. Raises KernelError outside one."""
    now = _active.get(get_ident())
    if now is None:
        raise KernelError(_OUTSIDE)
    return now


def emit(
    op: str, engine: Engine, writes: dict[str, Any], reads: dict[str, Any], attributes: dict[str, Any]
) -> NkiInstruction:
    """Append one instruction to the kernel that runs now; its source is the first line up the stack that is not the dialect's. Operands are tensors
    of the dialect, or an `Access`. Raises KernelError."""
    now = recorder()
    source = now.fixed_source
    if source < 0:
        source = now.places.source(1)
    to, of = ({name: _access(operand) for name, operand in operands.items()} for operands in (writes, reads))
    now.written().append(Instruction(op, engine, to, of, attributes, source))
    return _ISSUED


def _access(operand: Any) -> Access:
    return operand if isinstance(operand, Access) else operand.access()


if not TYPE_CHECKING and _core is not None:
    _core.bind_recording(emit, _active, _ISSUED)
    emit = _core.emit


def is_recording() -> bool:
    """Return whether this thread records a kernel."""
    return get_ident() in _active


_MANY_TENSORS = 10_000
"""A program of more tensors is taken as old. To walk a smaller one costs less than to find reference cycles late."""


@contextmanager
def recording(target: str, lnc: int = 1) -> Iterator[Recorder]:
    """Yield a recording context on the chip `target` with `lnc` physical cores, for what this thread runs inside.

    The garbage collector is off meanwhile: to walk millions of objects without a cycle costs more than to record them.
    """
    made, thread = Recorder(target, lnc), get_ident()
    before = _active.get(thread)
    _active[thread] = made
    collects = gc.isenabled()
    gc.disable()
    try:
        yield made
    finally:
        if before is None:
            del _active[thread]
        else:
            _active[thread] = before
        made.places.start(0)
        if collects:
            if len(made.storages) > _MANY_TENSORS:
                _take_as_old()
            gc.enable()


def _take_as_old() -> None:
    """Move all objects into the oldest generation of the garbage collector, which it seldom walks, so that it does not walk the program when it
    is on again. A process that has frozen objects keeps them frozen, and its collector walks the program."""
    if gc.get_freeze_count() == 0:
        gc.freeze()
        gc.unfreeze()  # into the oldest generation


def here() -> str | None:
    """Return "file.py:33" of the innermost running line that is not the dialect's own."""
    now = _active.get(get_ident())
    if now is not None and now.fixed_source >= 0:
        return now.lines.texts[now.fixed_source]
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(OWN):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame else None


def invalid(what: str) -> NkiValidationError:
    """Return the error for a broken rule, at the kernel's line; the caller raises it."""
    return NkiValidationError(what, here())


def not_modelled(what: str) -> NotModelledError:
    """Return the error for valid NKI that is not modelled, at the kernel's line; the caller raises it."""
    return NotModelledError(f"{what} is not modelled", here())
