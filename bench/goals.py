"""The goals of `make bench`: each line has a ratio to something that ran beside it, and whether that is good enough."""

from __future__ import annotations


class Goals:
    def __init__(self) -> None:
        self.missed = 0

    def at_most(self, limit: float, what: str, ratio: float, beside: str) -> None:
        """Say whether the goal is met. `ratio`: of what this costs to what `beside` costs."""
        self._print(ratio <= limit, f"{what}: {ratio:.2f} x {beside}", f"at most {limit:g}")

    def at_least(self, limit: float, what: str, ratio: float, beside: str) -> None:
        """Say whether the goal is met. `ratio`: of how fast this is to how fast `beside` is."""
        self._print(ratio >= limit, f"{what}: {ratio:.2f} x {beside}", f"at least {limit:g}")

    def not_compared(self, what: str, package: str) -> None:
        """Say that a peer is absent: nothing is known, so nothing passes."""
        print(f"not compared: {what}: {package} is not installed", flush=True)

    def _print(self, good: bool, told: str, goal: str) -> None:
        self.missed += not good
        print(f"{'good' if good else 'MISSED'}: {told} (goal: {goal})", flush=True)

    def exit_code(self) -> int:
        return 1 if self.missed else 0
