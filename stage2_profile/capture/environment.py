"""The environment of the tools: what they get, and the little of it that is written down."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from neff_bench.chips import CHIPS
from neff_bench.chips.calibration import ENVIRONMENT as CALIBRATION
from neff_bench.installation import IMPORT_ROOT

RECORDED = (
    "NEURON_RT_VISIBLE_CORES",
    "NEURON_LOGICAL_NC_CONFIG",
    "NEURON_RT_RESET_CORES",
    "NEURON_RT_ENABLE_DGE_NOTIFICATIONS",
    "NEURON_RT_ENABLE_OCP",
    "NEURON_RT_ENABLE_OCP_SATURATION",
    "NEURON_RT_EXEC_TIMEOUT",
    "NEURON_RT_ALLOW_LEGACY_NEFF",
    "NEURON_RT_LOG_LEVEL",
    "NEURON_PLATFORM_TARGET_OVERRIDE",
    "NEURON_RT_PROFILE_BUF_DMA_MB",
    "NEURON_RT_PROFILE_BUF_EVENT_MB",
    CALIBRATION,
)
"""The variables that change a measurement. No other is ever written to `run.json`: they may hold secrets."""

UNSET = ("NEURON_RT_NUM_CORES", "NEURON_RT_INSPECT_ENABLE")
"""The first is another way to ask for cores, the second starts a second profiler inside the first."""


def tool_environment(environ: Mapping[str, str], home: Path) -> dict[str, str]:
    """For steps that need no device. The explorer fails without a home directory, so it gets one."""
    env = {name: value for name, value in environ.items() if name not in UNSET}
    env.setdefault("HOME", str(home))
    env["PYTHONPATH"] = ":".join(filter(None, [str(IMPORT_ROOT), environ.get("PYTHONPATH", "")]))
    env["PYTHONSAFEPATH"] = "1"  # the working directory holds files that are named after tensors
    return env


def capture_environment(
    environ: Mapping[str, str], home: Path, *, target: str, lnc: int, core: int | None, dge_notifications: bool | None
) -> dict[str, str]:
    """For the device step on logical core `core`; None leaves the choice to the runtime.

    Cores are reset by the runtime at every start: a change of LNC on a core without reset makes it unusable
    (aws-neuron/nki-library, test/utils/core_reset_strategy.py). `dge_notifications` None leaves the variable alone.
    """
    env = tool_environment(environ, home)
    env["NEURON_RT_RESET_CORES"] = "1"
    env.setdefault("NEURON_RT_ENABLE_OCP", "1")
    env.setdefault("NEURON_RT_ENABLE_OCP_SATURATION", "1")
    if target in CHIPS and CHIPS[target].max_lnc > 1:
        env["NEURON_LOGICAL_NC_CONFIG"] = str(lnc)
    if core is not None:
        env["NEURON_RT_VISIBLE_CORES"] = str(core)
    if dge_notifications is not None:
        env["NEURON_RT_ENABLE_DGE_NOTIFICATIONS"] = str(int(dge_notifications))
    return env


def recorded(env: Mapping[str, str]) -> dict[str, str]:
    """The part of an environment that may be written down."""
    return {name: env[name] for name in RECORDED if name in env}
