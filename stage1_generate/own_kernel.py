"""Finds a case's kernel: built in, described in the case, or declared in a Python file of the user's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from neff_bench.installation import IMPORT_ROOT
from neff_bench.neffs.case import Case
from neff_bench.neffs.own import OwnKernel
from neff_bench.stage1_generate import kernels
from neff_bench.stage1_generate.entries import load_file, place
from neff_bench.stage1_generate.errors import GenerateError
from neff_bench.stage1_generate.kernel import Dims, Implementation, Kernel
from neff_bench.stage1_generate.reference import call_reference

if TYPE_CHECKING:
    import numpy as np

DECLARATION = "KERNEL"


def kernel_of(case: Case, folder: str | None) -> Kernel:
    """Return the declaration of a case's kernel. `folder`: what its files are relative to. Raises `GenerateError` when a file declares none."""
    if case.own is None:
        return kernels.load(case.kernel)
    here = Path(folder or ".")
    return declared(here / case.own) if isinstance(case.own, str) else _described(case, case.own, here)


def implementation_of(case: Case, folder: str | None) -> Implementation:
    """Return how a case is built. Raises as `kernel_of`."""
    return kernel_of(case, folder).implementations[case.implementation]


def search_folders(case: Case, folder: str | None, nkilib: str | None) -> tuple[str, ...]:
    """Return what has to be on `sys.path` to import a case's kernel, in this order."""
    own: tuple[str, ...] = ()
    if case.own is not None:
        here = Path(folder or ".")
        entry = case.own if isinstance(case.own, str) else case.own.entry
        own = (str(here / Path(entry).parent if isinstance(case.own, str) else place(entry, here).folder),)
    return tuple(path for path in (*own, nkilib, str(IMPORT_ROOT)) if path)


@cache
def declared(path: Path) -> Kernel:
    """Return the `KERNEL` of a Python file. Raises `GenerateError`."""
    try:
        kernel = getattr(load_file(path.resolve()), DECLARATION, None)
    except (Exception, SystemExit) as error:  # it is the user's code, it may raise anything
        what = " ".join(str(error).split())
        raise GenerateError(
            f"{path.name} cannot be imported: {type(error).__name__}: {what}; a declaration imports no compiler, so keep "
            "the kernel itself in another file"
        ) from None
    if not isinstance(kernel, Kernel):
        raise GenerateError(
            f"{path.name} has no {DECLARATION} that is a neff_bench.stage1_generate.kernel.Kernel; for a function write "
            f"`{path.name}:function`"
        )
    return replace(kernel, implementations=_absolute(kernel.implementations, path.resolve().parent))


def _absolute(implementations: Mapping[str, Implementation], folder: Path) -> dict[str, Implementation]:
    """Return the entries of files as absolute paths; they are relative to the declaration."""

    def at(entry: str | Callable[[Dims], str]) -> str | Callable[[Dims], str]:
        return place(entry, folder).entry if isinstance(entry, str) else lambda d: place(entry(d), folder).entry

    return {name: replace(each, entry=at(each.entry)) for name, each in implementations.items()}


def _described(case: Case, own: OwnKernel, folder: Path) -> Kernel:
    outputs, reference = own.outputs, own.reference
    inputs = tuple(
        replace(tensor, values=place(tensor.values, folder).entry) if ":" in tensor.values else tensor
        for tensor in own.inputs
    )

    def compute(d: Dims, arrays: Mapping[str, np.ndarray]) -> tuple[np.ndarray, ...]:
        return call_reference(place(str(reference), folder).entry, arrays, dict(own.arguments))

    return Kernel(
        name=case.kernel,
        dims=tuple(name for name, _ in case.dims),
        inputs=lambda d, dtype: inputs,
        outputs=None if outputs is None else lambda d, dtype: outputs,
        reference=compute if reference else None,
        model_flops=lambda d: own.flops,
        implementations={
            case.implementation: Implementation(
                "xla" if case.implementation == "xla" else "nki",
                place(own.entry, folder).entry,
                arguments=lambda d: dict(own.arguments),
                needs=("nkilib",) if case.implementation == "nkilib" else (),
            )
        },
        tolerance={} if own.tolerance is None else {case.dtype: own.tolerance},
    )
