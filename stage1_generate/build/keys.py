"""What the result of a build depends on: the same key, the same NEFF."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from neff_bench.installation import PACKAGE
from neff_bench.neffs.case import Case, content_key
from neff_bench.stage1_generate import kernels
from neff_bench.stage1_generate.kernel import Implementation
from neff_bench.stage1_generate.toolchains.find import Toolchain, version_of

_STAGE = PACKAGE / "stage1_generate"
_SDK = ("neuronx-cc", "nki", "torch-neuronx")


@dataclass
class Keys:
    """Keys of cases under one toolchain; each source is hashed once."""

    toolchain: Toolchain
    _versions: dict[str, str] = field(default_factory=dict)

    def key(self, case: Case) -> str:
        """Content key of the case with this toolchain."""
        return content_key(case, self.depends_on(case))

    def depends_on(self, case: Case) -> dict[str, str]:
        """Name -> hash or version of everything that shapes the bundle of this case."""
        implementation = kernels.load(case.kernel).implementations[case.implementation]
        depends = {
            "declaration": _files(
                kernels.FOLDER / f"{case.kernel}.py",
                _STAGE / "kernel.py",
                _STAGE / "build" / "tensors.py",
                _STAGE / "build" / "worker.py",
            ),
            "kernel": self._kernel(implementation),
            "toolchain": self.toolchain.name,
        }
        if implementation.route == "xla":
            depends["jax"] = self._version("jax")
        if self.toolchain.name == "sim":
            depends["simulator"] = tree_digest(PACKAGE / "simulator")
        else:
            depends |= {name: self._version(name) for name in _SDK}
            depends["NEURON_CC_FLAGS"] = os.environ.get("NEURON_CC_FLAGS", "")  # neuronx-cc reads it by itself
        return depends

    def _kernel(self, implementation: Implementation) -> str:
        if "nkilib" in implementation.needs:
            ours = _files(*sorted(kernels.FOLDER.glob("*_nkilib.py")))
            return ours + (tree_digest(self.toolchain.nkilib / "nkilib_src") if self.toolchain.nkilib else "absent")
        if implementation.route == "nki":
            return _files(*sorted(kernels.FOLDER.glob("*_nki.py")))
        if implementation.route == "xla":
            sources = [path for kind in ("xla", "torch") for path in sorted(kernels.FOLDER.glob(f"*_{kind}.py"))]
            return _files(*sources, _STAGE / "toolchains" / "xla.py")
        return self._version("neuronx-cc")

    def _version(self, distribution: str) -> str:
        if distribution not in self._versions:
            self._versions[distribution] = version_of(distribution) or "absent"
        return self._versions[distribution]


@cache
def _files(*paths: Path) -> str:
    digest = hashlib.sha256()
    for path in paths:
        data = path.read_bytes()
        digest.update(f"{path.name} {len(data)}\n".encode() + data)
    return digest.hexdigest()


@cache
def tree_digest(folder: Path) -> str:
    """Hex sha256 over the names and contents of all Python files below `folder`."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        data = path.read_bytes()
        digest.update(f"{path.relative_to(folder)} {len(data)}\n".encode() + data)
    return digest.hexdigest()
