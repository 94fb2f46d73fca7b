"""Says which release of the SDK a version of one of its parts belongs to."""

from __future__ import annotations

from dataclasses import dataclass

from neff_bench.errors import WrongCall
from neff_bench.sdk.release import Release, load, names, order


@dataclass(frozen=True)
class Match:
    """`release`: the one whose contract holds. `known`: False when the version is older or newer than every one that is known,
    or says nothing; then it is the nearest."""

    release: Release
    known: bool


def newest_published() -> Release:
    """Return the newest release that is out: one that is only announced is nobody's until its version says so."""
    return next(release for release in map(load, reversed(names())) if release.date is not None)


def identify(component: str, version: str | None) -> Match:
    """Return the release of a version of `tools`, `nki`, `neuronx-cc`, `runtime`, `driver` or `nrtpy`.

    A version of the tools begins with that of its release; of the others the newest release counts whose version is not newer than `version`.
    """
    asked = order(version or "")
    if not asked:
        return Match(newest_published(), known=False)
    own = {release.name: order(_version(release, component) or "") for release in map(load, names())}
    same = [name for name, numbers in own.items() if numbers[:2] == asked[:2]]
    if same:
        return Match(load(([name for name in same if own[name] <= asked] or same)[-1]), known=True)
    older = [name for name, numbers in own.items() if numbers and numbers < asked]
    return Match(load((older or names())[-1 if older else 0]), known=False)


def _version(release: Release, component: str) -> str | None:
    version: str | None = getattr(release.versions, component.replace("-", "_"))
    return version


def older(text: str) -> tuple[str, ...]:
    """Return those of the releases that a text names which came out before the first one that is known."""
    named = [name for part in text.split(",") for name in part.strip().split("..")]
    return tuple(name for name in named if name.startswith("2.") and () < order(name) < order(names()[0]))


def between(text: str) -> tuple[str, ...]:
    """Return the releases that a text names: `2.32`, `2.29..2.33`, `2.29,2.31`. The first one that is known stands for all before it. Raises WrongCall
    for one that is not known."""
    known = names()
    before = older(text)
    found: list[str] = []
    for part in text.split(","):
        words = part.strip().partition("..")
        first, last = (known[0] if word in before else word for word in (words[0], words[2]))
        for name in (first, last or first):
            if name not in known:
                out = [one if load(one).date else f"{one} (announced)" for one in known]
                raise WrongCall(f"release {name!r} of the SDK is not known; known: {', '.join(out)}")
        found += known[known.index(first) : known.index(last or first) + 1]
    return tuple(name for name in known if name in found)
