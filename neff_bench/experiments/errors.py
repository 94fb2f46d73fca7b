"""Names what can go wrong in an experiment; the text of each is one line."""

from __future__ import annotations

from neff_bench.errors import NeffBenchError, WrongCall


class ExperimentError(NeffBenchError):
    """Base of everything that this room raises; its text is one line for the user."""


class Unavailable(WrongCall):
    """A back end that this host does not have."""


class DoesNotFit(ExperimentError):
    """A shape that does not fit into the memory of the device."""


class DeviceLost(ExperimentError):
    """A device that answers no more; nothing further can be timed on it."""


class BadResults(ExperimentError):
    """A file of results that cannot be read."""
