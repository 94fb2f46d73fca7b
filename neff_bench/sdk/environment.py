"""Sets the environment of the SDK's tools: what its contract says to set, to take away, to record, and to put into keys."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Literal

from neff_bench.sdk.release import Release, load, names

Step = Literal["compile", "capture"]


def prepared(
    environ: Mapping[str, str], release: Release, step: Step, values: Mapping[str, str | None]
) -> dict[str, str]:
    """Return `environ` as a step is to have it. `values`: what stands for `{target}`, `{lnc}`, `{core}`; a variable whose value is None
    stays as it is."""
    env = dict(environ)
    for name in of_role("unset", step):
        env.pop(name, None)
    for name, variable in release.environment.items():
        if variable.used_by not in (step, "both"):
            continue
        if variable.default is not None:
            env.setdefault(name, variable.default)
        if variable.set is not None:
            part = variable.set.strip("{}")
            value = values.get(part) if variable.set != part else part
            if value is not None:
                env[name] = value
    return env


def for_lines() -> dict[str, str]:
    """Return the variables that put source lines into a NEFF, with their values."""
    found = load(names()[-1]).environment.items()
    return {name: variable.lines for name, variable in found if variable.lines is not None}


@cache
def of_role(role: str, step: Step | None = None) -> tuple[str, ...]:
    """Return the variables that have a role in any release (for a step): a host may have parts of several."""
    found = {
        name: None
        for release in map(load, names())
        for name, variable in release.environment.items()
        if variable.role == role and (step is None or variable.used_by in (step, "both"))
    }
    return tuple(found)
