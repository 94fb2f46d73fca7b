"""`nki.collectives`: communication between chips. Kernels may import it; every operation of it raises."""

from __future__ import annotations

from typing import Any

from neff_bench.simulator.recording.recorder import not_modelled


class ReplicaGroup:
    """Ranks that take part in a collective."""

    def __init__(self, groups: Any) -> None:
        self.groups = groups


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)

    def collective(*_: Any, **__: Any) -> Any:
        raise not_modelled(f"nki.collectives.{name}")

    return collective
