"""Says what AWS's compiler takes: one declaration for each rule, by release of the SDK and chip.

A rule has a judge: a pure function over a recorded call (`calls`) or over a kernel's source (`source`), or a pattern of the
simulator's own refusal. The tables of rules lie in `declared/`, a file for each family; a new file there is found by itself.
"""

from importlib import import_module
from pkgutil import iter_modules

from neff_bench.rules import declared
from neff_bench.rules.rule import RULES, Rule

for _module in iter_modules(declared.__path__):
    import_module(f"{declared.__name__}.{_module.name}")

__all__ = ["RULES", "Rule"]
