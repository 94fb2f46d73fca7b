"""Says which cores a scheduler granted to this process, and which the user asks for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from neff_bench.errors import WrongCall

if TYPE_CHECKING:
    from neff_bench.parsers.neuron_ls import Topology

VARIABLE = "NEURON_RT_VISIBLE_CORES"
MAX_CORES = 4096


@dataclass(frozen=True)
class Grant:
    """`logical`: as NEURON_RT_VISIBLE_CORES names them, each of `lnc` physical cores; `lnc` None where nobody says, then the
    LNC of a case counts."""

    text: str
    logical: tuple[int, ...]
    lnc: int | None

    def physical(self, lnc: int) -> tuple[int, ...]:
        """Return the physical cores, for a case of this LNC."""
        size = self.lnc or lnc
        return tuple(core * size + part for core in self.logical for part in range(size))


def parse_cores(text: str, name: str = "--cores") -> tuple[int, ...]:
    """Return the core numbers of a text such as `0-7` or `0,2,4-5`. Raises `WrongCall`."""
    cores: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise WrongCall(f"{name} {text!r}: expected numbers and ranges such as 0-7 or 0,2,4-5")
        start, end = int(first), int(last if dash else first)
        if end < start or end >= MAX_CORES:
            raise WrongCall(f"{name} {text!r}: {part.strip()!r} is not a range of cores (0 to {MAX_CORES - 1})")
        cores.update(range(start, end + 1))
    return tuple(sorted(cores))


def read_grant(environ: Mapping[str, str], topology: Topology | None) -> Grant | None:
    """Return the grant in an environment, in logical cores of its LNC, None where there is none. Raises `WrongCall`."""
    text = environ.get(VARIABLE, "").strip()
    if not text:
        return None
    said = environ.get("NEURON_LOGICAL_NC_CONFIG", "")
    lnc = topology.lnc if topology else int(said) if said in ("1", "2") else None
    return Grant(text, parse_cores(text, VARIABLE), lnc)


def check_cores(cores: tuple[int, ...], grant: Grant | None, topology: Topology | None) -> None:
    """Refuse physical cores that are not on this host or not granted. Raises `WrongCall`."""
    if topology is not None and (absent := set(cores) - set(topology.physical_cores)):
        raise WrongCall(
            f"--cores: this host has no core {numbers(absent)}, only {numbers(topology.physical_cores)} (physical, neuron-ls)"
        )
    if grant is None or grant.lnc is None:
        return
    granted = grant.physical(grant.lnc)
    if outside := set(cores) - set(granted):
        raise WrongCall(
            f"--cores: core {numbers(outside)} is not granted to this process: {VARIABLE}={grant.text} is physical cores "
            f"{numbers(granted)} at LNC {grant.lnc}; choose among these, or add --force-cores"
        )


def numbers(cores: set[int] | tuple[int, ...]) -> str:
    """Return core numbers as a text: `0-3,6` for 0, 1, 2, 3, 6."""
    parts: list[list[int]] = []
    for core in sorted(cores):
        if parts and core == parts[-1][-1] + 1:
            parts[-1].append(core)
        else:
            parts.append([core])
    return ",".join(str(part[0]) if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts)
