"""Follows the dependencies of a program while several of its instructions become one."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from heapq import heapify, heappop, heappush


class Contraction:
    """`edges[i]`: the instructions that instruction i waits for. Merged instructions go by the number of their first one."""

    def __init__(self, edges: Sequence[Collection[int]]) -> None:
        self.stands_for = list(range(len(edges)))
        """The instruction that each one has become part of."""
        self._merged: set[int] = set()
        self.before = [set(waits) for waits in edges]
        self.after: list[set[int]] = [set() for _ in edges]
        for index, waits in enumerate(edges):
            for earlier in waits:
                self.after[earlier].add(index)

    def held_up_by(self, index: int) -> set[int]:
        """Return the instructions of higher numbers that it waits for, directly or not."""
        return _reached([index], self.before, above=index) - {index}

    def merge(self, members: Sequence[int]) -> bool:
        """Make one of these instructions, the first of them. False where one is part of a merge or has to come before another."""
        first, last = members[0], members[-1]
        wanted = set(members)
        if not self._merged.isdisjoint(wanted):
            return False
        seen: set[int] = set()
        waiting = [later for member in members for later in self.after[member]]
        while waiting:
            index = waiting.pop()
            if index in wanted:
                return False
            # What begins behind the last member leads back only by way of another merge; `order` finds that.
            if index not in seen and index < last:
                seen.add(index)
                waiting += self.after[index]
        for member in members[1:]:
            self._join(first, member)
        self._merged |= wanted
        return True

    def _join(self, first: int, member: int) -> None:
        self.stands_for[member] = first
        for here, there in ((self.before, self.after), (self.after, self.before)):
            for other in here[member]:
                there[other].discard(member)
                there[other].add(first)
            here[first] |= here[member]
            here[member] = set()

    def order(self, rank: Sequence[int] | None = None) -> list[int] | None:
        """Return the instructions that are left, each behind those that it waits for and as early as its rank says, which is its number where
        it is not given; None for a circle."""
        rank = range(len(self.before)) if rank is None else rank
        missing = [len(waits) for waits in self.before]
        left = [index for index, first in enumerate(self.stands_for) if index == first]
        ready = [(rank[index], index) for index in left if not missing[index]]
        heapify(ready)
        order = []
        while ready:
            index = heappop(ready)[1]
            order.append(index)
            for later in self.after[index]:
                missing[later] -= 1
                if not missing[later]:
                    heappush(ready, (rank[later], later))
        return order if len(order) == len(left) else None


def _reached(starts: Collection[int], ways: Sequence[Collection[int]], above: int = -1) -> set[int]:
    """Return these instructions and all of higher numbers than `above` that `ways` leads to from them."""
    found = set(starts)
    waiting = list(found)
    while waiting:
        for index in ways[waiting.pop()]:
            if index > above and index not in found:
                found.add(index)
                waiting.append(index)
    return found
