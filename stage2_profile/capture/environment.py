"""Makes the environment of the tools: what they get, and the little of it that is written down."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from neff_bench.chips import CHIPS
from neff_bench.chips.calibration import ENVIRONMENT as CALIBRATION
from neff_bench.installation import IMPORT_ROOT
from neff_bench.neffs.case import Case
from neff_bench.sdk.environment import of_role, prepared
from neff_bench.sdk.release import Release

OF_SDK = ("NEURON_", "NKI_")
"""How the SDK's variables begin. The contract, which takes a tenth of a call without work to read, is read where one is set."""

MEETING = "NEURON_RT_ROOT_COMM_ID"
"""Where ranks meet: HOST:PORT."""
HERE, FIRST_PORT = "127.0.0.1", 62_000
"""The address of the meeting of ranks on this host, an IPv4 address as the runtime asks for; the number of the first logical core is added, so that two captures have two ports."""


def tool_environment(environ: Mapping[str, str], home: Path) -> dict[str, str]:
    """Return the environment of steps that need no device. The explorer fails without a home directory, so it gets one."""
    env = {
        name: value
        for name, value in environ.items()
        if not name.startswith(OF_SDK) or name not in of_role("unset", "capture")
    }
    env.setdefault("HOME", str(home))
    env["PYTHONPATH"] = ":".join(filter(None, [str(IMPORT_ROOT), environ.get("PYTHONPATH", "")]))
    env["PYTHONSAFEPATH"] = "1"  # the working directory holds files that are named after tensors
    return env


def capture_environment(
    env: Mapping[str, str], release: Release, case: Case, core: int | None, dge_notifications: bool | None
) -> dict[str, str]:
    """Return `tool_environment`, for the device step on logical core `core`, of several ranks on those that follow it; None leaves the choice
    to the runtime. The contract of the release says what is set, and why. `dge_notifications` None leaves the variable alone."""
    has_lnc = CHIPS[case.target].max_lnc > 1
    cores = None if core is None else str(core) if case.ranks == 1 else f"{core}-{core + case.ranks - 1}"
    env = prepared(env, release, "capture", {"lnc": str(case.lnc) if has_lnc else None, "core": cores})
    if case.ranks > 1:
        env[MEETING] = f"{HERE}:{FIRST_PORT + (core or 0)}"
    if dge_notifications is not None:
        env["NEURON_RT_ENABLE_DGE_NOTIFICATIONS"] = str(int(dge_notifications))
    return env


def recorded(env: Mapping[str, str]) -> dict[str, str]:
    """Return the part of an environment that may be written down: what changes a measurement or a model, and where ranks met on this
    host. Others may hold secrets."""
    found = {name: env[name] for name in (*of_role("measurement"), CALIBRATION) if name in env}
    return {**found, MEETING: env[MEETING]} if env.get(MEETING, "").startswith(f"{HERE}:") else found
