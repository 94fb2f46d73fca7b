"""Products that follow each other into the same place of PSUM: the second adds to what the first has written, and has to wait for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neff_bench.chips import Chip
from neff_bench.parsers.formats.opcodes import OPCODES
from neff_bench.simulator.compiler.program.columns import Columns

if TYPE_CHECKING:
    import numpy as np


def hold_back(opcode: np.ndarray, origin: np.ndarray, interval_ns: np.ndarray, columns: Columns, chip: Chip) -> None:
    """Lengthens the intervals of the products of one core whose place the next product writes too; by machine instruction. What a
    product writes is the last of its uses."""
    import numpy as np

    products = np.flatnonzero(opcode == OPCODES["MATMUL"])
    place = columns.view[columns.use_start[origin[products] + 1] - 1]
    again = products[:-1][place[1:] == place[:-1]]
    interval_ns[again] = np.maximum(interval_ns[again], chip.pe_same_place_ns)
