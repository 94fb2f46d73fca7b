"""Judges what `host.py` found: which release of the SDK this host has, part by part, and what works with it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from neff_bench.chips import CHIPS
from neff_bench.installation import pip_install
from neff_bench.sdk.identify import identify
from neff_bench.sdk.release import Release, order

PROFILERS = ("neuron-explorer", "neuron-profile")
WHAT = {
    "tools": PROFILERS,
    "nki": ("nki",),
    "neuronx-cc": ("neuronx-cc",),
    "runtime": ("runtime",),
    "driver": ("driver",),
}
HOW_SURE = {"+": "", "~": " (seen with one public caller)", "?": " (inferred)"}


@dataclass(frozen=True)
class Part:
    """A part of the SDK that is installed. `release`: the one it is of, or the nearest that is known where `known` is False."""

    component: str
    name: str
    version: str
    release: str
    known: bool


@dataclass(frozen=True)
class Ability:
    """Something that the SDK does. `how`: by which interface, format or flag; `why_not` None where it works here."""

    what: str
    how: str
    why_not: str | None


@dataclass(frozen=True)
class Sdk:
    """`release`: that of the profiler, else of the compilers, else of the runtime; None without any part of the SDK.
    `nki`: the generation of NKI in words. `read`: when the pages were read that the release is known from. `warnings`: what does not fit together, and what to know of the release."""

    release: str | None
    parts: tuple[Part, ...]
    nki: str | None
    abilities: tuple[Ability, ...]
    warnings: tuple[str, ...]
    read: str | None = None


def examine(
    versions: Mapping[str, str], absent: Mapping[str, str], has_pyarrow: bool, instance: str | None = None
) -> Sdk:
    """Judge the parts. `versions`: of the parts that are here, by their names in `WHAT`, `neuron-ls` and `nrtpy`; "" where one does not say.
    `absent`: why other parts are not here. `instance`: its type, such as inf2.xlarge."""
    parts = tuple(_parts(versions))
    if not parts:
        return Sdk(None, (), None, (), ())
    first = next(part for component in WHAT for part in parts if part.component == component)
    release = identify(first.component, first.version).release
    nki = next((part for part in parts if part.component == "nki"), None)
    generation = None
    if nki is not None:
        described = identify("nki", nki.version).release.nki
        generation = f"{nki.version}: {described.generation}{HOW_SURE[described.sure]}"
    return Sdk(
        release.name,
        parts,
        generation,
        tuple(_abilities(release, versions, absent, has_pyarrow, instance)),
        tuple(_warnings(release, parts)),
        release.read,
    )


def _parts(versions: Mapping[str, str]) -> Iterator[Part]:
    for component, names in WHAT.items():
        for name in names:
            if name in versions:
                match = identify(component, versions[name])
                yield Part(component, name, versions[name] or "unknown", match.release.name, match.known)


def _abilities(
    release: Release, versions: Mapping[str, str], absent: Mapping[str, str], has_pyarrow: bool, instance: str | None
) -> Iterator[Ability]:
    def lacks(*names: str) -> str | None:
        return next((absent.get(name, f"{name} is absent") for name in names if name not in versions), None)

    nki = identify("nki", versions["nki"]).release.nki if "nki" in versions else release.nki
    ways = ", ".join(f"{name}{HOW_SURE[interface.sure]}" for name, interface in nki.interfaces.items())
    yield Ability("compile NKI kernels", ways, lacks("nki"))
    family = re.sub(r"(?<=\d)\D.*", "", instance or "")
    unnamed = f"no page of this release names {family} as a target of NKI" if family not in nki.targets else None
    yield Ability("run NKI kernels here", _on(family), lacks("device", "nki") or unnamed)
    target = release.tools["neuronx-cc"].commands["compile"].flags["--target"]
    named = [each for each in target.values if each not in target.undocumented]
    more = f"; {', '.join(target.undocumented)} in no page of the compiler" if target.undocumented else ""
    yield Ability("compile XLA graphs", f"targets {', '.join(named)}{more}", lacks("neuronx-cc"))
    tool = next((name for name in PROFILERS if name in versions), PROFILERS[0])
    profiler = None if tool in versions else absent.get(tool, f"{tool} is absent")
    yield Ability("capture on a device", tool, profiler or lacks("device", "driver", "runtime"))
    if tool not in release.tools:
        yield Ability("read a profile", tool, f"SDK {release.name} has no {tool}")
        return
    formats = release.formats(tool)
    summary = next((name for name in ("summary-json", "parquet") if name in formats), "")
    without = "" if has_pyarrow or summary != "parquet" else f"Parquet needs pyarrow: {pip_install('parquet')}"
    yield Ability("read a profile", f"{tool} view: {summary}", profiler or without or None)
    whole = [name for name in ("parquet", "json") if name in formats]
    unread = whole == ["parquet"] and not has_pyarrow
    why = f"SDK {release.name} writes Parquet alone, which needs pyarrow: {pip_install('parquet')}"
    schema = f", schema {release.parquet_schema.version}" if release.parquet_schema.version else ""
    how = " or ".join("Parquet" + schema if name == "parquet" else "JSON" for name in whole)
    yield Ability("read a whole profile (--hot)", how, profiler or (why if unread else None))
    listed = release.tools["neuron-ls"].json
    yield Ability("list devices", f"neuron-ls {' '.join(listed.flag)}" if listed else "neuron-ls", lacks("neuron-ls"))
    why_no_nrtpy = None if "nrtpy" in release.python else f"SDK {release.name} has no nrtpy; it came with 2.32"
    yield Ability("times without a trace (--tool nrtpy)", "nrtpy", why_no_nrtpy or lacks("nrtpy"))


def _on(family: str) -> str:
    """Return how NKI kernels run on a family of instances."""
    if family not in CHIPS:
        return family
    return (
        f"{family}, LNC 1 and 2"
        if CHIPS[family].max_lnc > 1
        else f"{family}, LNC 1; nki-library's tests ask for trn2 or trn3"
    )


def _warnings(release: Release, parts: tuple[Part, ...]) -> Iterator[str]:
    for part in parts:
        if not part.known:
            yield f"{part.name} {part.version} is of no release that is known; it is taken for one of SDK {part.release}"
    mixed = {part.release for part in parts if part.known}
    if len(mixed) > 1:
        said = ", ".join(f"{part.name} {part.version} of {part.release}" for part in parts if part.known)
        yield f"parts of several releases of the SDK are installed: {said}"
    by_component = {part.component: part for part in parts}
    if "runtime" in by_component and "driver" in by_component:
        runtime, driver = by_component["runtime"], by_component["driver"]
        needed = identify("runtime", runtime.version).release.needs_driver
        if needed is not None and order(driver.version) < order(needed):
            yield (
                f"runtime {runtime.version} does not work with driver {driver.version}; "
                f"update aws-neuronx-dkms to {needed} or newer"
            )
    if release.date is None:
        yield f"SDK {release.name} is known from announcements alone"
    for note in release.notes:
        yield f"SDK {release.name}: {note}"
