"""Declares the warm parent of stage 2: what the tool of simulated NEFFs will import."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from neff_bench.stage2_profile.capture.environment import tool_environment
from neff_bench.system.warm import WarmParent

_TOOL = (
    "neff_bench.simulator.commands.cli",
    "neff_bench.simulator.commands.capture",
    "neff_bench.simulator.commands.view",
    "neff_bench.simulator.commands.show_session",
    "neff_bench.simulator.execution.calls",
    "neff_bench.simulator.execution.execute",
    "neff_bench.simulator.files.ntff",
    "neff_bench.simulator.machine.products:blas",
    "neff_bench.simulator.timing.interval:intervals",
    "neff_bench.simulator.timing.timeline",
    "neff_bench.simulator.native:compiled_passes",
    "neff_bench.simulator.timing.model:fingerprint",
    "neff_bench.parsers.wire",
    "neff_bench.stage2_profile.metrics.forked_check",
    "difflib",
    "orjson",
)


def warm_parent(environ: Mapping[str, str]) -> WarmParent:
    """Return the warm parent, which starts with the first tool that is needed."""
    return WarmParent(_TOOL, tool_environment(environ, Path.cwd()))
