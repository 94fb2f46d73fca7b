"""Reads the events of a simulated trace that has no bundle: `neuron-sim view` knows its source lines, which the trace does not hold."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

from neff_bench.stage2_profile.capture.environment import tool_environment
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
            words = [
                "view",
                "-n",
                str(neff),
                "-s",
                str(trace),
                "--output-format",
                "json",
                "--output-file",
                str(profile),
            ]
            done = subprocess.run(
                [*tool.argv, *words],
                env=tool_environment(os.environ, Path.cwd()),
                capture_output=True,
                text=True,
                timeout=_TIMEOUT_S,
                check=False,
                encoding="utf-8",
            )
            if done.returncode == 0:
                return read_events(profile)
            reason = (done.stderr.strip().splitlines() or ["no message"])[-1].removeprefix("error: ")
        except (ToolMissing, OSError, subprocess.TimeoutExpired) as error:
            reason = str(error)
    notice(f"{trace}: without source lines: {reason}")
    return read_events(trace, neff)
