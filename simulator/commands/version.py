"""What `neuron-sim --version` prints."""

from __future__ import annotations

from neff_bench.neffs import __version__
from neff_bench.simulator.timing.model import MODEL_VERSION, fingerprint

VERSION_NAMES = ("-v", "--version")


def version() -> str:
    """Names the timing model too: with another model the same profile has other times."""
    return f"neuron-sim {__version__}+sim.{MODEL_VERSION}.{fingerprint()} (simulated; no AWS tool)"
