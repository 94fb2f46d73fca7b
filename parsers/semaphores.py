"""Says what the semaphores of a core signal, from the definitions in its NEFF.

The runtime keeps the first ones (`runtime_semaphore_count`), the next four belong to engines, and each DMA queue has a set of its own. So it is in the
ten public profiles of trn2 whose NEFF and JSON are there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from neff_bench.chips.engines import ENGINES, TITLES
from neff_bench.parsers.document import decode
from neff_bench.parsers.formats.neff import DEFINITION, ENGINE_FILES
from neff_bench.parsers.neff import read_members
from neff_bench.system.decoding import prepare

ENGINES_IN_ORDER = ("gpsimd", "scalar", "tensor", "vector")
"""The order of the engines' semaphores; the report gives the next one no name."""


class _Queue(msgspec.Struct):
    semaphore_set: list[int] = []


class _Definition(msgspec.Struct):
    dma_queue: dict[str, _Queue] = {}
    runtime_semaphore_count: int | None = None


prepare(_Definition)


def semaphore_names(neff: Path, cores: Sequence[int]) -> Mapping[tuple[int, int], str]:
    """Return the name of each semaphore by core and number, as AWS's report writes it: `S[5] (Tensor)`, `S[8] (qSyncDynamicHW)`. Raises ParseError."""
    members = read_members(neff, {f"sg{number:02d}/{DEFINITION}" for number in range(len(cores))})
    names: dict[tuple[int, int], str] = {}
    for number, core in enumerate(cores):
        data = members.get(f"sg{number:02d}/{DEFINITION}")
        if data is None:
            continue
        found: _Definition = decode(str(neff), memoryview(data), _Definition)
        if found.runtime_semaphore_count is not None:
            for place, engine in enumerate(ENGINES_IN_ORDER, found.runtime_semaphore_count):
                names[core, place] = f"S[{place}] ({TITLES[ENGINES.index(engine)]})"
        for queue, definition in found.dma_queue.items():
            names |= {(core, place): f"S[{place}] ({shown(queue)})" for place in definition.semaphore_set}
    return names


def shown(queue: str) -> str:
    """Return `qSyncDynamicHW` for the compiler's `qSPDynamicHW`."""
    for engine, file, key in ENGINE_FILES:
        for name in (file, key.capitalize()):
            if queue.startswith(f"q{name}"):
                return f"q{TITLES[ENGINES.index(engine)]}{queue.removeprefix(f'q{name}')}"
    return queue
