"""Declares the options of `neuron-sim capture`."""

from __future__ import annotations

from dataclasses import dataclass

import click

from neff_bench.terminal.options import argument, flag, option


@dataclass(frozen=True, kw_only=True)
class CaptureOptions:
    """Holds what is run, on which inputs, and what is kept of it. `inputs`: names and files by turns."""

    neff: str = option("-n", "--neff", default="file.neff", show_default=True, type=click.Path(), help="Compiled NEFF.")
    session: str = option(
        "-s", "--session-file", default="profile.ntff", show_default=True, type=click.Path(), help="Trace to write."
    )
    num_exec: int = option(type=click.IntRange(1), default=1, show_default=True, help="Number of executions.")
    nth: int = option(
        "--profile-nth-exec", type=click.IntRange(0), default=1, show_default=True, help="Trace every n-th; 0: none."
    )
    save_output: bool = flag(help="Write each output as raw bytes into the current directory.")
    save_output_npy: bool = flag(help="Write each output as .npy.")
    save_nth_output: int | None = option(type=click.IntRange(0), help="Save the outputs of this execution alone.")
    ignore_exec_errors: bool = flag(help="Go on after an execution error.")
    disable_profile: bool = flag(help="Run only, write no trace.")
    enable_dge_notifs: bool = flag(help="DMA notifications (the simulator always has them).")
    single_io: bool = flag(help="One buffer for all tensors; outputs are wrong.")
    check_output_determinism: bool = flag(help="Compare the outputs of all executions.")
    write_tensors_per_exec: str | None = option(
        type=click.Choice(["alias"]), help="Write the inputs again before each execution."
    )
    ranks: int | None = option(
        "-r", "--collectives-workers-per-node", type=click.IntRange(1), help="Ranks to run [those of the NEFF]."
    )
    collectives_worker_count: int | None = option(
        type=click.IntRange(1), help="Ranks on all nodes; there is one node here."
    )
    collectives_worker_start_id: int = option(type=click.IntRange(0), default=0, hidden=True)
    traced: str = option(
        "-i", "--collectives-profile-id", default="all", metavar="RANK|all", help="Ranks to trace [all]."
    )
    multi_input: str | None = option(
        "-m", "--multi-input", type=click.Path(), help="File with a line of inputs, NAME FILE ..., for each rank."
    )
    inputs: tuple[str, ...] = argument(default=(), nargs=-1)

    def check(self) -> None:
        """Raise `UsageError` for options that cannot be together."""
        if len(self.inputs) % 2:
            raise click.UsageError(f"inputs come as pairs of NAME FILE; {self.inputs[-1]!r} has no file")
        if self.multi_input and self.inputs:
            raise click.UsageError("--multi-input and inputs on the command line exclude each other")
        everywhere = self.collectives_worker_count
        if (self.ranks and everywhere and self.ranks != everywhere) or self.collectives_worker_start_id:
            raise click.UsageError("more than one node is not modelled: all ranks run here, from rank 0 on")
        if self.traced != "all" and not self.traced.isdecimal():
            raise click.UsageError(f"--collectives-profile-id takes a rank or all, not {self.traced!r}")
