"""What each instruction does to memory: a table from its name to a function of its operands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from neff_bench.simulator.machine.operands import Operands
from neff_bench.simulator.operations import (
    activation,
    dma,
    elementwise,
    matmul,
    movement,
    random,
    reduction,
    scan,
    search,
    select,
    sequencer,
)

Operation = Callable[[Operands], None]

_FAMILIES = (
    activation,
    dma,
    elementwise,
    matmul,
    movement,
    random,
    reduction,
    scan,
    search,
    select,
    sequencer,
)

OPERATIONS: Mapping[str, Operation] = MappingProxyType(
    {name: function for family in _FAMILIES for name, function in family.OPERATIONS.items()}
)
