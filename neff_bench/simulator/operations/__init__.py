"""Holds the ISA operations. Each is declared once, in one file of this room, by the family it belongs to.

A new file here is found by itself. `neff_bench.simulator.operations.declaration` says what a declaration holds.
"""

from importlib import import_module
from pkgutil import iter_modules

from neff_bench.simulator.operations.declaration import FUNCTIONS, OPERATIONS, Operation

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

__all__ = ["FUNCTIONS", "OPERATIONS", "Operation"]
