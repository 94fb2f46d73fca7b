"""What the recorder raises.

    CompileError
    ├── SpecError              kernel.json that cannot be read, or names something that does not exist
    └── KernelError            the kernel itself failed while it was recorded
        ├── NkiValidationError a rule of the hardware or of the dialect is violated
        │   └── CapacityError  SBUF or PSUM does not hold what the kernel keeps at one time
        └── NotModelledError   valid NKI that this recorder does not know

`source` is the kernel's own line, never one of ours.
"""

from __future__ import annotations

from neff_bench.simulator.errors import CompileError


class SpecError(CompileError):
    pass


class KernelError(CompileError):
    pass


class NkiValidationError(KernelError):
    pass


class CapacityError(NkiValidationError):
    pass


class CapacityWarning(UserWarning):
    """What CapacityError says, where only the numbers of a kernel are asked for: `nki.simulate` has no memory limit."""


class NotModelledError(KernelError):
    pass
