"""Declares a case: everything that says what is to be built, and the key of what the result depends on."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import orjson

from neff_bench.chips import CHIPS
from neff_bench.errors import WrongCall, meant
from neff_bench.neffs.errors import CaseError
from neff_bench.neffs.own import OwnKernel

IMPLEMENTATIONS = ("nkilib", "neuronxcc", "nki", "xla", "framework")
DEFAULT_SEED = 42
WITH_RANKS = ("nki", "nkilib", "framework")
"""Implementations whose kernels may run on several ranks; of NEFFs from elsewhere it is not asked."""

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+-]{0,199}")


def check_name(name: str) -> str:
    """Return the name itself when it is safe as a directory name and as a word on a command line, else `CaseError`."""
    if not _NAME.fullmatch(name):
        raise CaseError(
            f"{name!r} cannot be the name of a bundle: at most 200 letters, digits and ._+- , and a letter, digit or _ first"
        )
    return name


@dataclass(frozen=True)
class Case:
    """Holds what is to be built.

    `dims`: dimension names and sizes in the kernel's order. `dtype`: canonical element type of the kernel's data.
    `target`: the name of a chip. `lnc`: physical cores in the logical core. `flags`: extra compiler flags.
    `seed`: of the random inputs. `ranks`: logical cores that run the NEFF together, each on inputs of its own. `own`: None for a built-in kernel; for one of the user's own its description, or the Python
    file that declares it, relative to a folder that is known beside this. `variant`: what tells the case apart where its dimensions
    have no names: `128x512`. Raises `CaseError` when target, LNC and ranks do not fit
    or the name would be unsafe.
    """

    kernel: str
    implementation: str
    dims: tuple[tuple[str, int], ...]
    dtype: str
    target: str
    lnc: int
    flags: tuple[str, ...] = ()
    seed: int = DEFAULT_SEED
    own: OwnKernel | str | None = None
    ranks: int = 1
    variant: str = ""

    def __post_init__(self) -> None:
        if self.target not in CHIPS:
            raise CaseError(f"unknown target {self.target!r} (known: {', '.join(CHIPS)})")
        if self.lnc not in CHIPS[self.target].lncs:
            allowed = " or ".join(map(str, CHIPS[self.target].lncs))
            raise CaseError(f"lnc {self.lnc} does not exist on {self.target} (allowed: {allowed})")
        most = CHIPS[self.target].cores_of_server // self.lnc
        if not 1 <= self.ranks <= most:
            raise CaseError(
                f"{self.ranks} ranks at lnc {self.lnc} do not fit on a server of {self.target} (1 to {most})"
            )
        if self.ranks > 1 and self.implementation not in WITH_RANKS:
            allowed = " or ".join(WITH_RANKS)
            raise CaseError(f"ranks {self.ranks} with {self.implementation}: only {allowed} kernels communicate here")
        check_name(self.name)

    @property
    def name(self) -> str:
        """Directory name: every field that tells two cases apart, so that no two cases share a bundle.

        Flags appear as a short hash, ranks where there are several and the seed only when it is not the default, so the usual name stays readable:
        `mlp_nkilib_b1_s128_h1024_i512_bfloat16_trn2_lnc2`.
        """
        parts = [self.kernel, self.implementation, *(f"{name}{size}" for name, size in self.dims)]
        parts += [self.variant] if self.variant else []
        parts += [self.dtype, self.target, f"lnc{self.lnc}"]
        if self.ranks > 1:
            parts.append(f"ranks{self.ranks}")
        if self.flags:
            parts.append("flags" + hashlib.sha256("\0".join(self.flags).encode()).hexdigest()[:8])
        if self.seed != DEFAULT_SEED:
            parts.append(f"seed{self.seed}")
        return "_".join(parts)

    def dim(self, name: str) -> int:
        """Return the size of the dimension. Raises `KeyError` for a name that the kernel does not have."""
        return dict(self.dims)[name]


def matches(names: Iterable[str], globs: Sequence[str]) -> bool:
    """Return whether a glob of `--only` or `--skip` is for a case: one of its names, which are its own and its kernel's, matches."""
    return any(fnmatchcase(name, glob) for name in names for glob in globs)


def check_only(globs: Sequence[str], names: Sequence[Sequence[str]], there: str) -> None:
    """Raise `WrongCall` for a glob of `--only` that matches no case. `names`: those of each case. `there`: the cases in words."""
    for glob in globs:
        if not any(matches(of, [glob]) for of in names):
            near = meant(glob, (name for of in names for name in of))
            raise WrongCall(f"--only {glob}: matches none of the cases{near}; there is {there}")


def content_key(case: Case, depends_on: Mapping[str, str]) -> str:
    """Return the sha256 in hex over the case and over what its result depends on (source hashes, toolchain, versions)."""
    payload = {"case": case, "depends_on": dict(depends_on)}
    return hashlib.sha256(orjson.dumps(payload, option=orjson.OPT_SORT_KEYS)).hexdigest()
