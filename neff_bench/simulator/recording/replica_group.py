"""Says which ranks take part in a collective together."""

from __future__ import annotations

from typing import Any

from neff_bench.simulator.recording.recorder import invalid


class ReplicaGroup:
    """`ReplicaGroup([[0, 1], [2, 3]])`: lists of ranks. Each rank is in one list, and communicates with those of its own."""

    def __init__(self, groups: Any) -> None:
        self.groups = groups

    def __repr__(self) -> str:
        return f"ReplicaGroup({self.groups!r})"


def ranks_of(op: str, group: Any) -> list[list[int]]:
    """Return the ranks of a replica group, list by list. Raises NkiValidationError where they are no lists of numbers, overlap, or
    differ in length."""
    given = group.groups if isinstance(group, ReplicaGroup) else group
    try:
        found = [[int(rank) for rank in ranks] for ranks in given]
    except (TypeError, ValueError):
        raise invalid(f"{op}: replica_group must be ReplicaGroup([[0, 1], ...]), not {group!r}") from None
    if not found or not found[0]:
        raise invalid(f"{op}: replica_group {group!r} holds no rank")
    if len({len(ranks) for ranks in found}) > 1:
        raise invalid(f"{op}: replica_group {group!r}: all lists must have one length")
    every = [rank for ranks in found for rank in ranks]
    if min(every) < 0 or len(set(every)) < len(every):
        raise invalid(f"{op}: replica_group {group!r}: each rank may occur once, from 0")
    return found
