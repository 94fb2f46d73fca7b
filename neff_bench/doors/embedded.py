"""Puts the embedded NKI in the place of AWS's packages, for a process that launches kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from neff_bench.simulator.nki.launch import Launch


def embed(hear: Callable[[Launch], None], lnc: int | None) -> None:
    """Make `import nki`, `import neuronxcc.nki` and `import torch_xla` work in this process. `hear` gets each launch of a
    kernel; `lnc`: physical cores of a launch without a grid, None for what AWS takes."""
    from neff_bench.doors import torch_xla
    from neff_bench.simulator.nki import host
    from neff_bench.simulator.nki.install import install, install_host

    install()
    install_host()
    torch_xla.install()
    host.listen(hear, lnc)


@contextmanager
def embedded(hear: Callable[[Launch], None], lnc: int | None) -> Iterator[None]:
    """Hear every launch of a kernel until the end of the context."""
    from neff_bench.simulator.nki import host
    from neff_bench.simulator.nki.install import MADE_UP, undone

    with undone(*MADE_UP, "torch_xla", "torch_neuronx"):
        embed(hear, lnc)
        try:
            yield
        finally:
            host.listen_no_more()
