"""Says what `neuron-sim --version` prints."""

from __future__ import annotations

from neff_bench.installation import __version__
from neff_bench.simulator.timing.model import model_version

VERSION_NAMES = ("-v", "--version")


def version() -> str:
    """Return the identity of a profile. It names the timing model too: with another model the same profile has other times."""
    return f"neuron-sim {__version__}+sim.{model_version()} (simulated; no AWS tool)"
