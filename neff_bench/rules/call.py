"""Says what a rule sees of a recorded kernel: plain data that any recorder can give."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

Memory = Literal["hbm", "sbuf", "psum"]


class Operand(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One operand of a call: a view of a buffer.

    `start`: its first partition. `step_bytes`: from row to row, in memory. `kind`: of the buffer (input, output, internal,
    constant). `gathered`: its rows have addresses of their own; `dynamic`: its address is known at run time only. `columns_bytes`: of a row. `rows_apart`: partitions from
    row to row.
    """

    memory: Memory
    dtype: str
    shape: tuple[int, ...]
    start: int = 0
    kind: str = "internal"
    step_bytes: int = 0
    dynamic: bool = False
    gathered: bool = False
    columns_bytes: int = 0
    rows_apart: int = 1

    @property
    def partitions(self) -> int:
        """Rows on the chip."""
        return self.shape[0] if self.shape else 1


class Call(msgspec.Struct, frozen=True, gc=False):
    """One distinct instruction: operands under the names of the documented signature. `place`: "file.py:33". `engine`: the one that runs it."""

    op: str
    engine: str
    writes: dict[str, Operand]
    reads: dict[str, Operand]
    attributes: dict[str, Any]
    place: str
    target: str
    lnc: int = 1

    def __getitem__(self, name: str) -> Any:
        """Return the operand or the attribute of a name; None where the call has none."""
        return self.reads.get(name) or self.writes.get(name) or self.attributes.get(name)

    @property
    def operands(self) -> list[Operand]:
        """All of them: what is written first."""
        return [*self.writes.values(), *self.reads.values()]


class Tile(msgspec.Struct, frozen=True, gc=False):
    """An allocation in SBUF or PSUM. `address`: the byte of a partition where the kernel placed it; None where it did not."""

    memory: Memory
    shape: tuple[int, ...]
    dtype: str
    address: int | None
    place: str


class Kernel(msgspec.Struct, frozen=True, gc=False):
    """A recorded kernel as a whole, and names in it: results that nothing writes (`unwritten`), tiles that are read and not
    written (`undefined`), sums of matmuls that begin on what another instruction wrote (`accumulates_onto`) or go on after somebody
    read them (`read_open`)."""

    tiles: tuple[Tile, ...]
    calls: int
    unwritten: tuple[str, ...] = ()
    undefined: tuple[str, ...] = ()
    accumulates_onto: tuple[str, ...] = ()
    read_open: tuple[str, ...] = ()
