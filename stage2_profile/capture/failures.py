"""Says what a log of the device step means, and what follows. The SDK's newest contract is asked: messages do not change their meaning."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from neff_bench.sdk.release import Answer, Kind, Message, load, names

SMALL = 100
"""A status below is a number like any other: it counts by its name, or in a line of the runtime."""
OF_RUNTIME = r"^(?=[^\n]*(?:\bNRT\b|NMGR:|TDRV:|\bnrt_))[^\n]*?"
NEVER = "(?!)"
STATUS = r"(?<!exit )\b(?i:status|error code|error|err)[ =:(]+"


@dataclass(frozen=True)
class Failure:
    """`pattern`: what the log says; its first group, if any, goes into `advice` at `{0}`. `kind`: who has to act.

    `answer`: `wait`: back off and try again. `without_dge`: again without DGE notifications. `single_io`: back off once, then
    again with one buffer for all tensors; the outputs are invalid then. `drop_flag`: again without the flag that the tool does
    not know. `other_format`: `view` in another format. `new_process`: once again; if it comes again, the core is out.
    `another_core`: once again on another core; where that hangs too, it is the kernel and both cores stay. `core_out`: again on
    another core, this one is not used again. `device_out`: its cores are out, for good. `host_out`: nothing more is captured
    on this host. `warn`: the trace counts, with a warning. `fail`: nothing to be done here. `ignore`: not an error.
    """

    name: str
    pattern: re.Pattern[str]
    answer: Answer
    advice: str
    kind: Kind = "user"

    def explain(self, log: str) -> str:
        """Return the advice, with what the pattern found in the log."""
        match = self.pattern.search(log)
        return self.advice.format(*(match.groups() if match else ()))


def diagnose(log: str) -> Failure | None:
    """Return the known failure that a log speaks of. Error lines alone mean nothing: ask only when something went wrong."""
    log = "\n".join(_telling(log.splitlines()))
    return next((failure for failure in known_failures() if failure.pattern.search(log)), None)


def last_words(log: str) -> str:
    """Return the last line that says something, for a failure that is not in the table."""
    lines = [line.strip() for line in _telling(log.splitlines()) if line.strip()]
    telling = [line for line in lines if re.search(r"(?i)error|fatal|panic|fail|ERRO|FATA", line)]
    return (telling or lines or ["it printed nothing"])[-1][:300]


def refused_flag(log: str, failure: Failure | None, asked: Iterable[str]) -> str | None:
    """Return which of the flags that were asked for a tool did not take: the one that it says it does not know, else the first that it names in a
    log that nothing else explains. Ask only where it did nothing at all."""
    if failure is not None and failure.answer != "drop_flag":
        return None
    said = failure.explain(log).rsplit(" ", 1)[-1] if failure is not None else ""
    named = [flag for flag in asked if flag.lstrip("-") in log]
    return said if said in named else next(iter(named), None)


@cache
def known_failures() -> tuple[Failure, ...]:
    """Return the failures in the order in which they count: what harms the device comes before what harms the result. A status that gives no
    reason is not among them: the last line of the log says more."""
    return tuple(failure for failure in _table() if failure.answer != "ignore" and failure.kind != "unknown")


def _telling(lines: Iterable[str]) -> Iterable[str]:
    """Return the lines without those that are no error."""
    harmless = [failure for failure in _table() if failure.answer == "ignore"]
    return [line for line in lines if not any(failure.pattern.search(line) for failure in harmless)]


@cache
def _table() -> tuple[Failure, ...]:
    return tuple(failure_of(name, message) for name, message in load(names()[-1]).messages.items())


def failure_of(name: str, message: Message) -> Failure:
    """Return a message of the contract as something to look for in logs."""
    parts = [message.pattern] if message.pattern else []
    for status, number in message.statuses.items():
        parts.append(rf"\b{status}\b")
        parts.append((OF_RUNTIME if number < SMALL else "") + STATUS + rf"{number}\b")
    return Failure(
        name, re.compile("|".join(parts) or NEVER, re.MULTILINE), message.answer, message.advice, message.kind
    )
