"""Provides `nki.compiler`: options of AWS's compiler, and its way from a kernel to a NEFF as test harnesses call it.

`CompileConfig` and `SpecializationConfig` (NKI 0.7) change nothing here. What `frontend` makes is our program, and `ncc_driver` writes it as a simulated NEFF.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

from neff_bench.simulator.nki.jit import body
from neff_bench.simulator.nki.launch import program_of
from neff_bench.simulator.nki.names import missing
from neff_bench.simulator.program import Program


class _Options:
    """Named options; any name is taken, and each has the value None until it is given."""

    def __init__(self, **options: Any) -> None:
        vars(self).update(options)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return None


class CompileConfig(_Options):
    """Options of the compiler: address_rotation, non_ssa_legalization, dead_code_elim, barrier_check."""


class SpecializationConfig(_Options):
    """Options of the specialization: allow_nested_config_override."""


@dataclass(frozen=True)
class Compiled:
    """Holds what a frontend makes of a kernel."""

    program: Program


class NKIFrontend:
    """Makes a program of a kernel and its arguments."""

    def compile(
        self, kernel: Any, inputs: dict[str, Any], target: str, lnc: int = 1, output_names: Any = None, **_: Any
    ) -> Compiled:
        """Return the kernel recorded on `target`. `inputs`: its arguments by name, see `program_of`."""
        return Compiled(program_of(body(kernel), inputs, tuple(output_names or ()), target, int(lnc)))


class ParserFrontend(NKIFrontend):
    """The frontend up to NKI 0.6."""


class TracerFrontend(NKIFrontend):
    """The frontend from NKI 0.7 on."""


@dataclass(frozen=True)
class CompileOptions:
    """Holds where the NEFF goes. Other options choose how AWS's compiler works."""

    target: str = "trn2"
    lnc: int = 1
    output_path: str = "file.neff"
    artifacts_dir: str = ""
    neuronx_cc_args: tuple[str, ...] = ()

    def disable_backend_optimizations(self) -> CompileOptions:
        """Return the options as they are: none of our optimizations is switched."""
        return replace(self)


@dataclass(frozen=True)
class CompiledKernel:
    """A NEFF on disk, simulated."""

    neff_path: str

    @classmethod
    def from_frontend(cls, compiled: Compiled, options: CompileOptions) -> CompiledKernel:
        """Write the NEFF of a program to `options.output_path`."""
        from neff_bench.simulator.files.neff import write_neff

        os.makedirs(os.path.dirname(options.output_path) or ".", exist_ok=True)
        write_neff(compiled.program, options.output_path)
        return cls(options.output_path)


def _module(name: str, *members: Any) -> ModuleType:
    made = ModuleType(f"nki.compiler.{name}")
    vars(made).update({member.__name__: member for member in members})
    return made


frontend = _module("frontend", NKIFrontend, ParserFrontend, TracerFrontend)
ncc_driver = _module("ncc_driver", CompileOptions, CompiledKernel)


def __getattr__(name: str) -> Any:
    raise missing("nki.compiler", name)
