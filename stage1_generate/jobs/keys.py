"""Says what the result of a build depends on: the same key, the same NEFF."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from neff_bench.installation import IMPORT_ROOT, PACKAGE
from neff_bench.neffs.aids import Aid
from neff_bench.neffs.case import Case, content_key
from neff_bench.neffs.own import OwnKernel
from neff_bench.sdk.environment import of_role
from neff_bench.sdk.installed import version_of
from neff_bench.stage1_generate import kernels
from neff_bench.stage1_generate.entries import place
from neff_bench.stage1_generate.jobs.closure import Closures, search_path
from neff_bench.stage1_generate.kernel import Dims, Implementation
from neff_bench.stage1_generate.own_kernel import implementation_of, search_folders
from neff_bench.stage1_generate.toolchains.find import Toolchain

_STAGE = PACKAGE / "stage1_generate"
_SDK = ("neuronx-cc", "nki", "torch-neuronx")

JAX_ENVIRONMENT = (
    "JAX_DEFAULT_DTYPE_BITS",
    "JAX_DEFAULT_MATMUL_PRECISION",
    "JAX_DEFAULT_PRNG_IMPL",
    "JAX_ENABLE_X64",
    "JAX_NUMPY_DTYPE_PROMOTION",
)
"""Variables that change the graph that jax traces (jax, configuration options)."""

_COMPILE = "neff_bench.simulator.commands.compile"
_XLA_ONLY = ("neff_bench.simulator.hlo.lower",)
"""What `neuron-sim compile` imports for an HLO module only. (What it imports for NKI serves both.)"""

_FACES = ("neff_bench", "neff_bench.stage1_generate.kernels")
"""Packages on the way to our own kernels whose functions load everything else; compiling a kernel calls none of them."""


@dataclass
class Keys:
    """Keys of cases under one toolchain; each source is hashed once."""

    toolchain: Toolchain
    folder: str | None = None
    """What the files of cases of the user's own are relative to."""
    known: Aid[list[str]] | None = None
    """What earlier calls found that files import."""
    _depends: dict[tuple[Any, ...], dict[str, str]] = field(default_factory=dict)
    _readers: dict[tuple[str, ...], Closures] = field(default_factory=dict)

    def key(self, case: Case) -> str:
        """Return the content key of the case with this toolchain."""
        return content_key(case, self.depends_on(case))

    def depends_on(self, case: Case) -> dict[str, str]:
        """Return, by name, the hash, version or value of everything that shapes the bundle of this case."""
        implementation = implementation_of(case, self.folder)
        roots = _roots(implementation, Dims(**dict(case.dims)))
        helpers = _helpers(case.own) if isinstance(case.own, OwnKernel) else case.own
        about = (case.kernel, case.implementation, helpers, *roots)
        if about not in self._depends:
            self._depends[about] = self._depends_on(case, implementation, roots)
        return self._depends[about]

    def _depends_on(self, case: Case, implementation: Implementation, roots: tuple[str, ...]) -> dict[str, str]:
        route, sim = implementation.route, self.toolchain.name == "sim"
        closures = self._closures(tuple(search_folders(case, self.folder, None)[:-1]))
        depends = {
            "toolchain": self.toolchain.name,
            "declaration": self._declaration(case, closures),
            "kernel": closures.digest(*self._twins(roots, route), without=_FACES),
            "bundle": _files(
                _STAGE / "jobs" / "tensors.py",
                _STAGE / "jobs" / "worker.py",
                *sorted((_STAGE / "toolchains" / self.toolchain.name).glob("*.py")),
            ),
        }
        if route == "xla":
            depends |= {"jax": version_of("jax") or "absent"} | _set(JAX_ENVIRONMENT)
            depends["trace"] = _files(_STAGE / "toolchains" / "hlo.py", _STAGE / "toolchains" / "xla.py")
        if sim:
            depends["simulator"] = self._closures(()).digest(_COMPILE, without=_not_for(route))
        else:
            depends |= {name: version_of(name) or "absent" for name in _SDK} | _set(of_role("neff"))
        return depends

    def _declaration(self, case: Case, closures: Closures) -> str:
        """Return the source that says which tensors there are and what is right."""
        if case.own is None:
            return closures.digest(f"{kernels.__name__}.{case.kernel}", without=_FACES)
        here = Path(self.folder or ".")
        if isinstance(case.own, str):
            return closures.digest((here / case.own).resolve())
        return closures.digest(*(place(entry, here).root for entry in _helpers(case.own)))

    def _twins(self, roots: tuple[str, ...], route: str) -> Iterator[str | Path]:
        """Yield the modules that are compiled; torch_neuronx takes the torch twin of a jax function."""
        for root in roots:
            yield Path(root) if root.endswith(".py") else root
            if route == "xla" and root.endswith("_xla") and not self.toolchain.has_jax:
                yield f"{root.removesuffix('_xla')}_torch"

    def _closures(self, own: tuple[str, ...]) -> Closures:
        if own not in self._readers:
            nkilib = [self.toolchain.nkilib] if self.toolchain.nkilib else []
            folders = (*map(Path, own), *nkilib, IMPORT_ROOT, *search_path())
            self._readers[own] = Closures(folders, self.known)
        return self._readers[own]


def _not_for(route: str) -> tuple[str, ...]:
    """Return the modules whose imports do not count: nothing of them runs when a case of this route is compiled."""
    return _FACES if route == "xla" else (*_FACES, *_XLA_ONLY)


def _roots(implementation: Implementation, dims: Dims) -> tuple[str, ...]:
    """Return the modules that hold the kernel and the objects among its arguments."""
    entry = implementation.entry if isinstance(implementation.entry, str) else implementation.entry(dims)
    return tuple(sorted({name.rpartition(":")[0] for name in (entry, *_references(implementation.arguments(dims)))}))


def _helpers(own: OwnKernel) -> tuple[str, ...]:
    """Return the entries of the functions that make references and inputs."""
    made = tuple(tensor.values for tensor in own.inputs if ":" in tensor.values)
    return (*made, own.reference) if own.reference else made


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict) and set(value) in ({"ref"}, {"ref", "args"}):
        yield value["ref"]
        yield from _references(value.get("args"))
    elif isinstance(value, dict):
        for item in value.values():
            yield from _references(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _references(item)


def _set(names: tuple[str, ...]) -> dict[str, str]:
    return {name: os.environ[name] for name in names if name in os.environ}


@cache
def _files(*paths: Path) -> str:
    digest = hashlib.sha256()
    for path in paths:
        data = path.read_bytes()
        digest.update(f"{path.name} {len(data)}\n".encode() + data)
    return digest.hexdigest()
