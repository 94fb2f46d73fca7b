"""Records under what a device was measured: the part of `run.json` that a simulated run has not."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec


class Neighbour(msgspec.Struct, frozen=True, kw_only=True):
    """Who used a device beside a capture. `program`: the first words of its command; `cores`: physical ones, where it is known which.
    `pid` None: another capture of the same call."""

    device: int
    pid: int | None
    program: str
    cores: tuple[int, ...] = ()


class Conditions(msgspec.Struct, frozen=True, kw_only=True):
    """Says under what conditions a device was measured. None is what is not known.

    `neighbours`: on the same devices, before the capture and after it. `shared_hbm`: another capture of the same call used the
    same bank. `dge_notifications`: of the last try, `dge_compiled_out`: the case was built with --disable-dge. `throttling`: the
    keys `throttle_*` of the profile, each the largest over the executions.
    """

    instance_type: str | None = None
    driver_version: str | None = None
    runtime_version: str | None = None
    neighbours: tuple[Neighbour, ...] | None = None
    shared_hbm: bool = False
    dge_notifications: bool = False
    dge_compiled_out: bool = False
    throttling: dict[str, float] | None = None


def unexplained(neighbours: Iterable[Neighbour] | None) -> list[str]:
    """Return what must be said of processes that came to the device meanwhile: nobody knows which cores they used."""
    return [
        f"process {each.pid} ({each.program}) used device {each.device} beside the capture"
        for each in neighbours or ()
        if each.pid is not None and not each.cores
    ]


def with_throttling(conditions: Conditions | None, summaries: Iterable[Path]) -> Conditions | None:
    """Return the conditions of a measured run with what the summaries of its executions say of throttling."""
    if conditions is None:
        return None
    from neff_bench.parsers.profile_json import read_summary

    largest: dict[str, float] = {}
    for path in summaries:
        said = read_summary(path).throttle
        largest.update({key: max(value, largest.get(key, value)) for key, value in said.items()})
    return msgspec.structs.replace(conditions, throttling=largest)
