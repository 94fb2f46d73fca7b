"""Declares everything the simulator raises for a user's mistake; the text of each is one line: where (when known), what, what was expected."""

from __future__ import annotations

from neff_bench.errors import NeffBenchError


class SimulatorError(NeffBenchError):
    """`what`: one line. `source`: "file.py:33" of the user's code, or a file name; None when there is no place to name."""

    def __init__(self, what: str, source: str | None = None) -> None:
        self.what = " ".join(what.split())
        self.source = source or None
        super().__init__(f"{self.source}: {self.what}" if self.source else self.what)

    def __reduce__(self) -> tuple[type[SimulatorError], tuple[str, str | None]]:
        return type(self), (self.what, self.source)


class CompileError(SimulatorError):
    """A kernel, graph or target that cannot be compiled."""


class SpecError(CompileError):
    """A kernel.json that cannot be read, or that names something which does not exist."""


class KernelError(CompileError):
    """A kernel that failed while it was recorded."""


class FailedAssertion(KernelError):
    """An assert of the kernel's own that does not hold."""


class NkiValidationError(KernelError):
    """A rule of the hardware or of the dialect is violated."""


class CapacityError(NkiValidationError):
    """SBUF or PSUM does not hold what the kernel keeps at one time."""


class MissingAttribute(NkiValidationError, AttributeError):
    """A rule is violated by asking for an attribute; `hasattr` and `getattr` with a default see no attribute."""


class CapacityWarning(UserWarning):
    """Says what CapacityError says, where only the numbers of a kernel are asked for: `nki.simulate` has no memory limit."""


class UnwrittenWarning(UserWarning):
    """A kernel returns an output that it did not write, or not wholly."""


class NotModelledError(KernelError):
    """Valid NKI that the simulator does not model."""


class MissingModel(NotModelledError, AttributeError):
    """An attribute that is not modelled; `hasattr` and `getattr` with a default see no attribute."""


class ExecutionError(SimulatorError):
    """A program that cannot run on the inputs it was given."""


class CaptureError(SimulatorError):
    """A capture that failed: bad NEFF, bad input file, device fault."""


class ViewError(SimulatorError):
    """A trace or a program file that cannot be read or shown."""
