"""What can go wrong in an experiment; the text of each is one line.

ExperimentError
├── WrongCall          what was asked for makes no sense: exit code 2
├── Unavailable        a backend that this machine does not have
├── DoesNotFit         a shape that needs more memory than there is
├── DeviceLost         the device stopped answering
└── BadResults         a file of results that cannot be used
"""

from __future__ import annotations


class ExperimentError(Exception):
    pass


class WrongCall(ExperimentError):
    pass


class Unavailable(ExperimentError):
    pass


class DoesNotFit(ExperimentError):
    pass


class DeviceLost(ExperimentError):
    pass


class BadResults(ExperimentError):
    pass
