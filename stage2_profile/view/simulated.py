"""Reads the events of a simulated trace that has no bundle: `neuron-sim view` knows its source lines, which the trace does not hold."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from neff_bench.stage2_profile.capture.arguments import view
from neff_bench.stage2_profile.capture.environment import tool_environment
from neff_bench.stage2_profile.capture.process import Limits, run
from neff_bench.stage2_profile.capture.tools import find_simulator
from neff_bench.stage2_profile.errors import ToolMissing
from neff_bench.stage2_profile.metrics.hot import Event, read_events
from neff_bench.terminal.streams import notice

_TIMEOUT_S = 600.0


def simulated_events(trace: Path, neff: Path) -> list[Event]:
    """Return the events of a simulated trace. What neuron-sim refuses, such as a trace of another model, is read from the trace alone, with a notice. Raises `ParseError`."""
    with tempfile.TemporaryDirectory() as directory:
        profile = Path(directory, "ntff.json")
        try:
            tool = find_simulator(os.environ)
            argv = view(tool.argv, str(neff), str(trace), "json", tool.command("view"), str(profile))
            done = run(argv, Path.cwd(), tool_environment(os.environ, Path.cwd()), Limits(_TIMEOUT_S))
            if done.exit_code == 0:
                return read_events(profile)
            reason = (done.log.strip().splitlines() or ["no message"])[-1].removeprefix("error: ")
        except (ToolMissing, OSError) as error:
            reason = str(error)
    notice(f"{trace}: without source lines: {reason}")
    return read_events(trace, neff)
