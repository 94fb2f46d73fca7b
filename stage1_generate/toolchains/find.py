"""Says which toolchain builds, and where the things are that it builds from. Looks only; imports none of them."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from neff_bench.installation import IMPORT_ROOT, pip_install
from neff_bench.sdk.installed import module_folder
from neff_bench.stage1_generate.errors import ToolchainError

Name = Literal["sim", "neuron"]


@dataclass(frozen=True)
class Toolchain:
    """Holds what a build may use. `nkilib`: the folder that holds `nkilib_src`, None when there is none.

    `has_nki`, `has_neuronx_cc`, `has_neuronxcc`, `has_torch_neuronx`: the SDK's NKI compiler, its command, its Python
    package and its torch package.
    """

    name: Name
    nkilib: Path | None
    has_nki: bool
    has_neuronx_cc: bool
    has_neuronxcc: bool
    has_torch_neuronx: bool
    has_jax: bool

    def lacks(self, needs: tuple[str, ...], route: str) -> str | None:
        """Return one line for the first thing that is needed and absent, None when all is here; see `kernel.Implementation`."""
        neuron = self.name == "neuron"
        if "neuronxcc" in needs and not (neuron and self.has_neuronxcc and self.has_torch_neuronx):
            return "needs the AWS Neuron SDK with torch-neuronx (closed kernel of neuronx-cc)"
        if "nkilib" in needs and self.nkilib is None:
            return "needs nki-library: give --nkilib PATH or set NKILIB_PATH to a checkout of aws-neuron/nki-library"
        if route == "xla" and not self.has_jax and not (neuron and self.has_torch_neuronx):
            return f"needs jax to trace the kernel: {pip_install('xla')}"
        if route == "xla" and neuron and not (self.has_neuronx_cc or self.has_torch_neuronx):
            return "needs the command neuronx-cc of the AWS Neuron SDK"
        if route == "nki" and neuron and not self.has_nki:
            return "needs the nki package of the AWS Neuron SDK; what is installed under that name has no nki.isa"
        return None


def choose(wanted: Literal["auto", "sim", "neuron"], nkilib: Path | None) -> Toolchain:
    """Return the toolchain to use. Raises `ToolchainError` when `neuron` is wanted and the SDK is not here, or `nkilib` is wrong."""
    has_nki = module_folder("nki", "isa") is not None
    has_command = shutil.which("neuronx-cc") is not None
    if wanted == "neuron" and not (has_nki or has_command):
        raise ToolchainError(
            "--toolchain neuron: found neither nki (a package with nki.isa) nor the command neuronx-cc; "
            "activate the Neuron SDK's environment, or use --toolchain sim"
        )
    name: Name = "neuron" if wanted != "sim" and (has_nki or has_command) else "sim"
    return Toolchain(
        name=name,
        nkilib=find_nkilib(nkilib, os.environ),
        has_nki=has_nki,
        has_neuronx_cc=has_command,
        has_neuronxcc=module_folder("neuronxcc", "nki") is not None,
        has_torch_neuronx=module_folder("torch_neuronx", "xla_impl") is not None,
        has_jax=find_spec("jax") is not None,
    )


def find_nkilib(given: Path | None, environment: Mapping[str, str]) -> Path | None:
    """Return the folder to put on `sys.path` so that `nkilib_src` can be imported: `given`, `NKILIB_PATH`, the checkout that this project lies in,
    or an installed package. Raises `ToolchainError` when a place that was named does not have it."""
    named = given or (Path(environment["NKILIB_PATH"]) if environment.get("NKILIB_PATH") else None)
    if named is not None:
        for folder in (named / "src", named, named.parent):
            if (folder / "nkilib_src" / "nkilib").is_dir():
                return folder.resolve()
        raise ToolchainError(
            f"{'--nkilib' if given else 'NKILIB_PATH'}: {named} is no checkout of nki-library (no src/nkilib_src/nkilib in it)"
        )
    beside = IMPORT_ROOT.parent / "src"
    if (beside / "nkilib_src" / "nkilib").is_dir():
        return beside
    installed = module_folder("nkilib_src", "nkilib")
    return installed.parent if installed else None


def nkilib_version(folder: Path) -> str | None:
    """Return the git commit of the checkout that holds `folder`, else the version that the library says."""
    for checkout in (folder, folder.parent):
        commit = _head(checkout / ".git")
        if commit is not None:
            return commit
    said = folder / "nkilib_src" / "nkilib" / "version" / "__init__.py"
    if said.is_file():
        found = re.search(r"__version__\s*=\s*['\"]([^'\"]+)", said.read_text(errors="replace", encoding="utf-8"))
        if found is not None:
            return found.group(1)
    return None


def _head(git: Path) -> str | None:
    """Return the commit that a git directory (or the file that a work tree has in its place) is at."""
    try:
        if git.is_file():
            git = git.parent / git.read_text(encoding="utf-8").removeprefix("gitdir:").strip()
        head = (git / "HEAD").read_text(encoding="utf-8").strip()
        if not head.startswith("ref: "):
            return head
        name = head.removeprefix("ref: ")
        common = git / (git / "commondir").read_text(encoding="utf-8").strip() if (git / "commondir").is_file() else git
        if (common / name).is_file():
            return (common / name).read_text(encoding="utf-8").strip()
        packed = (common / "packed-refs").read_text(encoding="utf-8").splitlines()
        return next((line.split()[0] for line in packed if line.endswith(f" {name}")), None)
    except (OSError, UnicodeDecodeError):
        return None
