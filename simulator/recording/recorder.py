"""The recording context: what the kernel that runs now has allocated and issued.

One recorder serves one trace. With two physical cores the kernel runs twice, core 0 then core 1, over the same HBM:
shapes do not depend on data, so neither run needs the other's results.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import msgspec

from neff_bench.simulator.errors import KernelError, NkiValidationError, NotModelledError
from neff_bench.simulator.program import Access, Engine, Instruction, Kind, Memory

_SIMULATOR = Path(__file__).parent.parent
OWN = tuple(f"{_SIMULATOR / room}/" for room in ("nki", "operations", "recording"))
"""Folders of the dialect itself: what they hold is never the source of an instruction."""


class Storage(msgspec.Struct, eq=False, gc=False):
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


class NkiInstruction:
    """What an instruction returns. All are one object: nothing can be asked of it."""

    __slots__ = ()

    def depends_on(self, *producers: NkiInstruction) -> NkiInstruction:
        """Refused: the order of instructions follows from their operands."""
        raise not_modelled("NkiInstruction.depends_on")


_ISSUED = NkiInstruction()


class Recorder:
    """`instructions`: the list of the core that is being recorded; `core`: its number.

    `line_index`: places in code objects, by identity since hashing one walks all of it, to indices of `source_texts`;
    `codes` keeps those objects alive. A place is a line and the number of the calls that led to it, which `chains` holds; those of the
    frame `caller` at its instruction `called_at` are `chain`. `valid_matmuls`: shapes, dtypes and memories of matmuls that were checked; kernels repeat a few of them often.
    `dialect`: what the old dialect (`nki/beta`) keeps while it records one core. `run`: gives the value of a register
    from the kernel's data, None where those are not at hand.
    """

    __slots__ = (
        "called_at",
        "caller",
        "chain",
        "chains",
        "codes",
        "core",
        "cores",
        "dialect",
        "fixed_source",
        "instructions",
        "line_index",
        "lnc",
        "root",
        "run",
        "shared",
        "shared_count",
        "source_callers",
        "source_index",
        "source_texts",
        "storages",
        "sync_count",
        "target",
        "valid_matmuls",
    )  # fmt: skip

    def __init__(self, target: str, lnc: int) -> None:
        self.target = target
        self.lnc = lnc
        self.core = 0
        self.cores: list[list[Instruction]] = [[] for _ in range(lnc)]
        self.instructions = self.cores[0]
        self.storages: list[Storage] = []
        self.source_texts: list[str] = [""]
        self.source_callers: list[int] = [0]
        self.source_index: dict[tuple[str, int], int] = {("", 0): 0}
        self.line_index: dict[tuple[int, int, int], int] = {}
        self.chains: dict[tuple[int, ...], int] = {}
        self.chain = 0
        self.caller: FrameType | None = None
        self.called_at = -1
        self.codes: list[CodeType] = []
        self.fixed_source = -1
        self.root = 0
        self.shared: dict[tuple[object, ...], Storage] = {}
        self.shared_count: dict[tuple[object, ...], int] = {}
        self.sync_count: dict[str, int] = {}
        self.valid_matmuls: set[tuple[object, ...]] = set()
        self.dialect: dict[Any, Any] = {}
        self.run: Callable[[Any], int] | None = None

    def start_core(self, core: int) -> None:
        """Send what follows to physical core `core`; occurrences of shared tensors and barriers count from zero.

        The caller calls the kernel: call stacks end at its frame.
        """
        self.root = id(sys._getframe(1))
        self.called_at = -1
        self.core = core
        self.instructions = self.cores[core]
        self.shared_count.clear()
        self.sync_count.clear()
        self.dialect.clear()

    def source(self) -> int:
        """Index of the kernel line that runs now."""
        return self.fixed_source if self.fixed_source >= 0 else self.place(sys._getframe(2))

    def place(self, frame: FrameType | None) -> int:
        """Index of the innermost line from `frame` on that is not the dialect's own, called as it is now."""
        if frame is None or id(frame) == self.root:
            return 0
        caller = frame.f_back
        if caller is not self.caller or caller is None or caller.f_lasti != self.called_at:
            self._follow(caller)
        key = id(frame.f_code), frame.f_lasti, self.chain
        index = self.line_index.get(key)
        if index is None:
            index = self.line_index[key] = self.locate(frame)
        return index

    def _follow(self, caller: FrameType | None) -> None:
        """Make `chain` the number of the calls that led to the instruction of `caller` that runs now.

        While a frame stands at one call, all frames above it stand too, unless one is a generator's: it may go on for another caller.
        """
        key: list[int] = []
        above, root, resumed = caller, self.root, False
        while above is not None and id(above) != root:
            code = above.f_code
            key += (id(code), above.f_lasti)
            resumed = resumed or bool(code.co_flags & _RESUMED)
            above = above.f_back
        self.chain = self.chains.setdefault(tuple(key), len(self.chains))
        self.caller = caller
        self.called_at = -1 if caller is None or resumed else caller.f_lasti

    def locate(self, frame: FrameType | None) -> int:
        """The same for a call stack that was not seen before."""
        if frame is None or id(frame) == self.root:
            return 0
        caller = self.locate(frame.f_back)
        self.codes.append(frame.f_code)
        if frame.f_code.co_filename.startswith(OWN):
            return caller
        return self.intern(f"{frame.f_code.co_filename}:{frame.f_lineno}", caller)

    def intern(self, text: str, caller: int = 0) -> int:
        """Index of a source text in the program's table. `caller`: index of the line that called it, 0 for none."""
        index = self.source_index.get((text, caller))
        if index is None:
            index = self.source_index[text, caller] = len(self.source_texts)
            self.source_texts.append(text)
            self.source_callers.append(caller)
        return index

    @contextmanager
    def at(self, text: str) -> Iterator[None]:
        """Give everything recorded inside the source `text` (a graph's instruction, say) instead of a Python line."""
        before, self.fixed_source = self.fixed_source, self.intern(text)
        try:
            yield
        finally:
            self.fixed_source = before


_RESUMED = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR

_active: list[Recorder] = []
_OUTSIDE = "nki operations work inside a kernel only; launch it with nki.simulate or compile it"


def recorder() -> Recorder:
    """The recorder of the kernel that runs now. Raises KernelError outside one."""
    if not _active:
        raise KernelError(_OUTSIDE)
    return _active[-1]


def emit(
    op: str, engine: Engine, writes: dict[str, Access], reads: dict[str, Access], attributes: dict[str, Any]
) -> NkiInstruction:
    """Append one instruction to the kernel that runs now; its source is the first line up the stack that is not the dialect's own.

    Raises KernelError outside a kernel.
    """
    if not _active:
        raise KernelError(_OUTSIDE)
    now = _active[-1]
    source = now.fixed_source
    if source < 0:
        source = now.place(sys._getframe(2))
    now.instructions.append(Instruction(op, engine, writes, reads, attributes, source))
    return _ISSUED


def is_recording() -> bool:
    """Whether a kernel is being recorded."""
    return bool(_active)


@contextmanager
def recording(target: str, lnc: int = 1) -> Iterator[Recorder]:
    """A recording context on the chip `target` with `lnc` physical cores.

    The garbage collector is off during the recording. A program holds millions of objects and no cycle, and to walk them
    again and again would cost more than to record them.
    """
    made = Recorder(target, lnc)
    _active.append(made)
    collects = gc.isenabled()
    gc.disable()
    try:
        yield made
    finally:
        _active.pop()
        made.caller = None
        if collects:
            gc.enable()


def here() -> str | None:
    """ "file.py:33" of the innermost running line that is not the dialect's own."""
    if _active and _active[-1].fixed_source >= 0:
        return _active[-1].source_texts[_active[-1].fixed_source]
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(OWN):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame else None


def invalid(what: str) -> NkiValidationError:
    """The error for a broken rule, at the kernel's line; the caller raises it."""
    return NkiValidationError(what, here())


def not_modelled(what: str) -> NotModelledError:
    """The error for valid NKI that is not modelled, at the kernel's line; the caller raises it."""
    return NotModelledError(f"{what} is not modelled", here())
