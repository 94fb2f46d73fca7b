"""Says how an ISA operation is declared: recording, executing, cost and opcode in one place.

    @operation(execute=_max8, cost=engine_work(), opcode="MAX8")
    def max8(dst, src, name=None): ...

The function records the operation. Its name is that of the operation and, in kernels, that of `nki.isa`. A declaration that lacks
a cost or an opcode, or names an opcode that is not known, ends the import.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from neff_bench.chips import Chip
from neff_bench.parsers.formats.opcodes import OPCODES
from neff_bench.simulator.costs.steps import Cost, Lowered
from neff_bench.simulator.costs.table import Row, add_rows
from neff_bench.simulator.machine.operands import Operands
from neff_bench.simulator.program import Instruction, Program

Record = TypeVar("Record", bound=Callable[..., Any])
Execute = Callable[[Operands], None]
Meet = Callable[[Sequence[Operands]], None]
Across = Callable[[Sequence[Operands]], None]


@dataclass(frozen=True)
class Operation:
    """One ISA operation.

    `record`: the function of `nki.isa`. `execute`: what it does to memory; None where that is not known (a random sequence
    that is not published), so that a program with it has times but no results. `meet`: what it does when all cores have
    come to it; None where one core runs it alone. `across`: of a collective, what it does when the ranks of a group have come to it,
    in the order of the group; None for what a rank does alone. `opcodes`: bytes of the machine instructions that it can become.
    """

    name: str
    record: Callable[..., Any]
    execute: Execute | None
    meet: Meet | None
    cost: Cost
    opcodes: tuple[int, ...]
    across: Across | None = None

    @property
    def waits(self) -> bool:
        """Whether a core stands at it until others are there."""
        return self.meet is not None or self.across is not None

    def lower(self, instruction: Instruction, program: Program, chip: Chip) -> Lowered:
        """Its machine instructions with their times, before they have a place in the program."""
        return self.cost(instruction, program, chip, self.opcodes)


OPERATIONS: dict[str, Operation] = {}
"""Every declared operation, by the name that instructions hold."""

FUNCTIONS: dict[str, Callable[..., Any]] = {}
"""What `nki.isa` offers: the operations, and functions that record others or refuse."""


def operation(
    *,
    execute: Execute | None,
    cost: Cost,
    opcode: str | tuple[str, ...],
    meet: Meet | None = None,
    across: Across | None = None,
    offered: bool = True,
    rows: tuple[Row, ...] = (),
) -> Callable[[Record], Record]:
    """Declare an operation by the function that records it; the fields are those of `Operation`.

    `rows`: what it costs, where `neff_bench.simulator.costs.table` does not have it. `offered`: whether kernels can call it as a function of `nki.isa`. `opcode`: a name of `neff_bench.parsers.formats.opcodes`, or several in the order that `cost` expects. Raises ValueError
    for an unknown opcode, for no cost, and for a name that is declared already.
    """
    names = (opcode,) if isinstance(opcode, str) else tuple(opcode)

    def declare(record: Record) -> Record:
        name = record.__name__
        unknown = [word for word in names if word not in OPCODES]
        if unknown or not names:
            raise ValueError(f"operation {name}: opcode {unknown or 'missing'}; add it to parsers/formats/opcodes.py")
        if not callable(cost):
            raise ValueError(f"operation {name}: a cost is missing; see neff_bench.simulator.costs")
        opcodes = tuple(OPCODES[word] for word in names)
        if name in OPERATIONS:
            raise ValueError(f"operation {name} is declared twice")
        if offered:
            function(record)
        add_rows(rows)
        OPERATIONS[name] = Operation(name, record, execute, meet, cost, opcodes, across)
        return record

    return declare


def function(record: Record) -> Record:
    """Offer a function in `nki.isa` that is no operation of its own. Raises ValueError for a name that is taken."""
    name = record.__name__
    if name in FUNCTIONS:
        raise ValueError(f"operation {name} is declared twice: in {FUNCTIONS[name].__module__} and {record.__module__}")
    FUNCTIONS[name] = record
    return record
