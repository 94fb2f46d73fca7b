"""Leads from the paths that a pull request changes to the cases that judge it, and to the kernels that no case judges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from neff_bench.neffs.case import Case
from neff_bench.neffs.own import OwnKernel
from neff_bench.nkilib.library import LIBRARY, PARTS, Kernel, Library
from neff_bench.stage1_generate.kernel import Dims
from neff_bench.stage1_generate.own_kernel import implementation_of

BENCHMARKS = "benchmarks/"


@dataclass(frozen=True)
class Touched:
    """Holds what a change means. `options`: of generate-neffs, "" for all cases, "none" for no case. `not_covered`: names of what
    changed and has no case."""

    options: str
    not_covered: tuple[str, ...] = ()


def library_of(checkout: Path, cases: Iterable[Case]) -> Library:
    """Return the checkout, with the kernels that the cases name."""
    return Library(checkout.resolve(), frozenset(entry_of(case) for case in cases if case.implementation == "nkilib"))


def covered(library: Library, cases: Iterable[Case]) -> dict[str, str]:
    """Return for the entry of each kernel the glob of its cases. A wrapper of ours covers the kernels that it imports, one in a
    file the kernel that its case is named after; a case of `qkv` also
    covers what its module imports under the name `qkv_...`: the paths that it chooses from."""
    found: dict[str, str] = {}
    for case in cases:
        if case.implementation == "nkilib":
            module, _, name = entry_of(case).partition(":")
            own = [
                kernel
                for kernel in library.kernels
                if kernel.entry == f"{module}:{name}" or (module.endswith(".py") and kernel.name == case.kernel)
            ]
            for kernel in own or library.imported_by(module):
                found.setdefault(kernel.entry, f"{case.kernel}_*")
    for entry, glob in list(found.items()):
        module, _, name = entry.partition(":")
        for kernel in library.imported_by(module):
            if kernel.name.startswith(f"{name}_"):
                found.setdefault(kernel.entry, glob)
    return found


def touched(library: Library, globs: Mapping[str, str], paths: Sequence[str]) -> Touched:
    """Return what a change of these paths touches. `globs`: as `covered` gives them."""
    chosen: set[str] = set()
    missing: dict[str, None] = {}
    for path in paths:
        if path.startswith(BENCHMARKS):
            return Touched("", tuple(sorted(missing)))
        if not path.startswith(f"{LIBRARY}/"):
            continue
        kernels = library.touched(path)
        chosen |= {globs[kernel.entry] for kernel in kernels if kernel.entry in globs}
        missing.update(dict.fromkeys(name_of(kernel, library) for kernel in kernels if kernel.entry not in globs))
        if not kernels and path.removeprefix(f"{LIBRARY}/").startswith(tuple(f"{part}/" for part in PARTS)):
            missing[path.removeprefix(f"{LIBRARY}/").rpartition("/")[0]] = None
    options = " ".join(f"--only '{glob}'" for glob in sorted(chosen)) or "none"
    return Touched(options, tuple(sorted(missing)))


def name_of(kernel: Kernel, library: Library) -> str:
    """Return the function's name; with its file where the library has two of that name."""
    same = [each for each in library.kernels if each.name == kernel.name]
    return kernel.name if len(same) == 1 else f"{kernel.file.removeprefix(f'{LIBRARY}/')}:{kernel.name}"


def entry_of(case: Case) -> str:
    """Return `package.module:function` of what a case builds."""
    if isinstance(case.own, OwnKernel):
        return case.own.entry
    said = implementation_of(case, None).entry
    return said if isinstance(said, str) else said(Dims(**dict(case.dims)))
