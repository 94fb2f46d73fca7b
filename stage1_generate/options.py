"""Declares the options of `generate-neffs`."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import click

from neff_bench.chips import LISTED
from neff_bench.errors import WrongCall
from neff_bench.neffs import DEFAULT_STORE, STORE_HELP
from neff_bench.terminal.options import PATH, CaseOptions, ClusterOptions, argument, flag, option


@dataclass(frozen=True, kw_only=True)
class Options(CaseOptions, ClusterOptions):
    """Holds what is asked of `generate-neffs`. Every worker gets all of it, on this host and on others."""

    shapes: Path | None = option(type=PATH, help="YAML file with the cases.")
    preset: str | None = option(
        help="A named list of matmul shapes instead of a file: llm, tiling, sweep, boundary, ..."
    )
    out: Path = option(
        default=Path(DEFAULT_STORE),
        show_default=True,
        type=PATH,
        help=STORE_HELP,
    )
    toolchain: Literal["auto", "neuron", "sim"] = option(
        default="auto",
        type=click.Choice(["auto", "neuron", "sim"]),
        show_default=True,
        help="AWS Neuron SDK or the embedded one; auto takes the SDK where it is installed.",
    )
    target: str | None = option(help=f"Chip, in place of what the file says: {LISTED}.")
    lnc: int | None = option(
        type=int, help="Physical cores in a logical core (1 or 2), in place of what the file says."
    )
    nkilib: Path | None = option(type=PATH, help="Checkout of nki-library (else $NKILIB_PATH).")
    jobs: int | None = option(
        type=click.IntRange(min=1), help="Cases built at the same time.  [default: number of cores]"
    )
    timeout_s: float = option(
        "--timeout",
        default=1800,
        type=click.FloatRange(min=0, min_open=True),
        show_default=True,
        help="Seconds for a case.",
    )
    memory_gib: float | None = option(
        "--memory",
        type=click.FloatRange(min=0, min_open=True),
        help="GiB of address space for a case.  [default: 90% of the memory with sim, no limit with neuron]",
    )
    only_list: bool = flag("--list", help="Print the names of the cases and build nothing.")
    dry_run: bool = flag(help="Print what would be built, and why, and build nothing.")
    force: bool = flag(help="Build also what is up to date.")
    fail_fast: bool = flag(help="End the run with the first case that fails.")
    script: Path | None = option(
        "--capture-framework-neff",
        metavar="SCRIPT",
        type=PATH,
        help="Run your own Python script instead (its arguments after --) and make bundles of the NEFFs that it compiles.",
    )
    cold: bool = flag(help="Start each worker and compiler as a program of its own; slower, and the same files.")
    disable_dge: bool = flag(help="Compile without descriptor generation on the device.")
    debug_info: bool = flag(
        help="Compile source lines in, for profile-neffs --hot (the SDK's toolchain; sim always does)."
    )
    verbose: bool = flag("-v", "--verbose", help="Raise the compiler's own log level; it goes to compile.log.")
    script_arguments: tuple[str, ...] = argument(default=(), nargs=-1, metavar="[-- SCRIPT_ARGUMENT]...")

    def check(self) -> None:
        """Check the options. Raises `WrongCall` for those that cannot be together."""
        if self.shared_store and self.ray is None:
            raise WrongCall("--shared-store says how --ray works; give --ray ADDRESS too")
        if self.script is not None:
            if self.ray is not None:
                raise WrongCall("--capture-framework-neff runs your script on this host; leave --ray out")
            if not self.script.is_file():
                raise WrongCall(f"--capture-framework-neff: {self.script}: no such file")
        elif self.script_arguments:
            word = self.script_arguments[0]
            hint = f"; for a shapes file say --shapes {word}" if self.shapes is None else ""
            raise WrongCall(f"{word}: unexpected argument{hint} (see --help)")

    def memory_bytes(self, toolchain: str) -> int | None:
        """Return the limit of a worker's address space on this host; unless told otherwise 90 % of its memory, and none for the SDK."""
        if self.memory_gib is not None:
            return int(self.memory_gib * 2**30)
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * 9 // 10 if toolchain == "sim" else None
