"""Declares the program: what a front end (NKI recorder, HLO lowering) hands to the executor and to the timing model.

A program knows shapes, never data, as a NEFF does. It holds one instruction list for each physical core of the
logical core, in program order and before any scheduling, over a shared table of buffers.

Buffers, operands and instructions can form no cycle, so the garbage collector is told not to walk millions of them (`gc=False`).
"""

from __future__ import annotations

from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from neff_bench.chips.dtypes import SIZE_BYTES
from neff_bench.chips.engines import ENGINES as ENGINES
from neff_bench.chips.engines import Engine as Engine
from neff_bench.parsers.formats.neff import MUST_ALIAS

if TYPE_CHECKING:
    from collections.abc import Sequence

PROGRAM_VERSION = 1

PARTITIONS = 128
"""The partitions of SBUF."""

Memory = Literal["hbm", "sbuf", "psum"]
Kind = Literal["input", "output", "internal", "constant"]


class Buffer(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One allocation.

    `shape`: in elements of `dtype`; for `sbuf` and `psum`, dimension 0 is the partition.
    `core`: the physical core (0, 1) that owns it; None for HBM that both cores of a logical core see.
    `data`: raw little-endian bytes of a constant, else empty.
    `address`: byte offset inside each partition where the kernel placed it, None where the allocator may choose.
    `source`: index into `Program.sources` of the line that allocated it.
    `partition`: the first partition of a buffer that the kernel placed.
    """

    name: str
    memory: Memory
    shape: tuple[int, ...]
    dtype: str
    kind: Kind
    core: int | None = None
    data: bytes = b""
    address: int | None = None
    source: int = 0
    partition: int = 0

    @property
    def size_bytes(self) -> int:
        """Bytes in all."""
        return prod(self.shape) * SIZE_BYTES[self.dtype]

    @property
    def row_bytes(self) -> int:
        """Bytes of one row: one partition on chip, the last dimension in HBM."""
        return prod(self.shape[-1:] if self.memory == "hbm" else self.shape[1:]) * SIZE_BYTES[self.dtype]


class Dynamic(msgspec.Struct, frozen=True, array_like=True, tag=False, gc=False):
    """A run-time part of an address: the offset grows by `step` elements times the value read from `index`.

    `index` reads one element (the same for all partitions) or one for each row of the pattern's first dimension.
    """

    step: int
    index: Access


class Access(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A strided view of a buffer.

    `buffer`: index into `Program.buffers`. `offset`: first element, in elements of `dtype`, from the buffer's start,
    row-major over the buffer's shape. `pattern`: `(step, size)` pairs, outermost first, in elements of `dtype`; in
    on-chip memory the first pair walks the partitions. `dtype` may differ from the buffer's own (a reinterpreting view).
    """

    buffer: int
    offset: int
    pattern: tuple[tuple[int, int], ...]
    dtype: str
    dynamic: tuple[Dynamic, ...] = ()

    @property
    def shape(self) -> tuple[int, ...]:
        """Elements along each dimension."""
        return tuple(size for _, size in self.pattern)

    @property
    def elements(self) -> int:
        """Elements in all."""
        return prod([size for _, size in self.pattern])

    @property
    def columns(self) -> int:
        """Elements in one partition."""
        columns = 1
        for _, size in self.pattern[1:]:
            columns *= size
        return columns

    @property
    def unit_stride(self) -> bool:
        """Whether neighbouring columns lie side by side in their partition."""
        for step, size in reversed(self.pattern[1:]):
            if size > 1:
                return abs(step) == 1
        return True


def first_partition(access: Access, buffer: Buffer) -> int:
    """Return the partition in which a view of SBUF begins; 0 for one of another memory."""
    if buffer.memory != "sbuf":
        return 0
    row = max(buffer.row_bytes // SIZE_BYTES[access.dtype], 1)
    return (buffer.partition + access.offset // row) % PARTITIONS


class Instruction(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One `nki.isa` operation with its operands under the names of the documented signature.

    `engine`: the engine that runs it; for a DMA, the engine whose queue issues it.
    `attributes`: scalars, strings and lists only (what JSON can hold).
    `source`: index into `Program.sources`.
    """

    op: str
    engine: Engine
    writes: dict[str, Access]
    reads: dict[str, Access]
    attributes: dict[str, Any]
    source: int = 0


if TYPE_CHECKING:
    Steps = Sequence[Instruction]
else:
    Steps = tuple[Instruction, ...]
"""The instructions of a core: a tuple, or what a recording has as columns and makes instructions of when somebody looks at one."""


class Program(msgspec.Struct, frozen=True, dict=True):
    """`cores[c]` is the instruction list of physical core c; `len(cores) == lnc`.

    `inputs` and `outputs`: indices into `buffers`, in the order of the kernel's arguments and results.
    `sources`: "file.py:33" strings, of an HLO graph "%dot.3 = dot(%p0, %p1)"; index 0 is "" (unknown). `callers`: for each of them the index of the line that called it, 0 for none.
    `model_flops`: 2 x MAC of the HLO graph; None for NKI kernels, whose NEFFs carry no HLO statistics.
    `before_middle_end`: AWS's compiler changes the program in ways that are not known: it adds loads and stores, or computes once what is repeated.
    `what_changes`: which of its parts those are, in words.
    `spilled_bytes`: what its instructions write to HBM because SBUF has no room, where AWS's compiler spills what is not known;
    `reloaded_bytes`: what they read of it.
    `left_out_bytes`: what its instructions do not read from HBM because it still lies in SBUF: which loads AWS's compiler leaves out is known
    of one kernel.
    `keeps_weights`: of a kernel: its compiler loads no weights that the PE holds already, as that of HLO graphs does.
    `lowered_as_known`: of an HLO graph: public profiles show that AWS's compiler makes the same program of it.
    """

    name: str
    target: str
    lnc: int
    buffers: tuple[Buffer, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    cores: tuple[Steps, ...]
    sources: tuple[str, ...] = ("",)
    model_flops: int | None = None
    version: int = PROGRAM_VERSION
    before_middle_end: bool = False
    lowered_as_known: bool = False
    callers: tuple[int, ...] = ()
    spilled_bytes: int = 0
    keeps_weights: bool = False
    reloaded_bytes: int = 0
    left_out_bytes: int = 0
    what_changes: str = ""

    def call_stack(self, source: int) -> tuple[str, ...]:
        """Return the lines that called a line, outermost first."""
        found: list[str] = []
        while 0 < source < len(self.callers) and (source := self.callers[source]):
            found.append(self.sources[source])
        return tuple(reversed(found))

    def input_name(self, index: int) -> str:
        """Return the name of an input in the NEFF: NKI marks those that the kernel writes into and returns."""
        name = self.buffers[index].name
        return name + MUST_ALIAS if index in self.outputs else name

    @cached_property
    def ranks(self) -> int:
        """How many ranks its collectives name; 1 for a program without them."""
        groups = [step.attributes["groups"] for core in self.cores for step in core if "groups" in step.attributes]
        return max((rank + 1 for lists in groups for ranks in lists for rank in ranks), default=1)

    @property
    def sharers(self) -> int:
        """How many cores share HBM: those that have instructions; 1 for a program without any."""
        return sum(map(bool, self.cores)) or 1

    @property
    def from_hlo(self) -> bool:
        """Whether it was lowered from an HLO graph, as AWS's XLA compiler does; else it is an NKI kernel."""
        return self.model_flops is not None


def encode(program: Program) -> bytes:
    """Return the MessagePack bytes of the program."""
    return msgspec.msgpack.encode(program, enc_hook=_recorded)


def _recorded(steps: Sequence[Instruction]) -> msgspec.Raw:
    """Return the bytes of the instructions of a recording, which are made one after the other: none is kept."""
    encoder = msgspec.msgpack.Encoder()
    head = encoder.encode([None] * len(steps))  # each None is one byte
    whole = bytearray(head[: len(head) - len(steps)])
    for step in steps:
        encoder.encode_into(step, whole, -1)
    return msgspec.Raw(whole)


def decode(data: bytes) -> Program:
    """Decode: the inverse of `encode`. Raises `msgspec.DecodeError` on bytes that no program gave."""
    return msgspec.msgpack.decode(data, type=Program)
