"""What can go wrong in an experiment; the text of each is one line.

ExperimentError
├── DoesNotFit         a shape that needs more memory than there is
├── DeviceLost         the device stopped answering
└── BadResults         a file of results that cannot be used
Unavailable            a backend that this machine does not have: a wrong call
"""

from __future__ import annotations

from neff_bench.terminal.errors import NeffBenchError, WrongCall


class ExperimentError(NeffBenchError):
    pass


class Unavailable(WrongCall):
    pass


class DoesNotFit(ExperimentError):
    pass


class DeviceLost(ExperimentError):
    pass


class BadResults(ExperimentError):
    pass
