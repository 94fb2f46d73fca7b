"""Gives `neff-bench`: one name for every command. A subcommand is a name, the module that holds it, imported when it is called, and one line of help."""

from __future__ import annotations

import click

from neff_bench.terminal.command import Lazy, LazyGroup, group

COMMANDS = {
    "tutorial": Lazy("doors.tutorial_cli", "Write a first kernel, its reference and shapes."),
    "generate": Lazy("stage1_generate.cli", "Build the NEFFs of a shapes file, on any CPU host."),
    "profile": Lazy("stage2_profile.cli", "Profile built NEFFs and print where the time goes."),
    "inspect": Lazy("parsers.cli", "Show what is in a NEFF, an NTFF, an HLO module or a profile."),
    "view": Lazy("doors.view_cli", "Write the timeline of a trace as a page, a Perfetto trace, JSON, CSV or Parquet."),
    "compare": Lazy("stage2_profile.compare.cli", "Compare two profiled stores or implementations."),
    "explain": Lazy("doors.explain_cli", "Say why a simulated NEFF takes its time, and what would help."),
    "gate": Lazy("stage2_profile.gate.cli", "Judge a change of kernels: worse, better, same."),
    "fsck": Lazy("stage2_profile.upkeep.cli", "Compare every file of a store with its checksum."),
    "gc": Lazy("stage2_profile.upkeep.cli", "Remove old runs from a store."),
    "merge": Lazy("stage2_profile.upkeep.cli", "Put the cases of several stores into one."),
    "probes": Lazy("doors.tutorial_cli", "Write microkernels that show a machine's constants, to calibrate the model."),
    "run": Lazy("doors.run_cli", "Run a script that launches kernels, and say where their time goes."),
    "watch": Lazy("doors.watch_cli", "Follow a kernel while you write it: a page that repaints at each save."),
    "check": Lazy("doors.check_cli", "Say which rules of AWS's compiler a kernel breaks, by release."),
    "migrate": Lazy("doors.migrate_cli", "Name what a kernel of the old NKI dialect has to change."),
    "tune": Lazy("doors.tune_cli", "Estimate many variants of a kernel: JSON lines in and out."),
    "schema": Lazy("doors.schema", "Print the JSON schema of rows."),
    "mcp": Lazy("doors.mcp_cli", "Serve estimate, profile, explain, compare and inspect to agents."),
    "history": Lazy("history.cli", "Keep the rows of every commit: since when is it slower?"),
    "doctor": Lazy("stage1_generate.doctor", "Say what this host can build and profile, and why not."),
    "latency": Lazy("experiments.latency_cli", "Time matmul and MLP on the host: Neuron, CUDA or CPU."),
    "tiling": Lazy("experiments.tiling_cli", "Say from measured times where a size that grows costs one more tile."),
    "buckets": Lazy("experiments.buckets_cli", "Choose the sequence lengths to compile for, by measured latency."),
    "tile": Lazy("experiments.projection_cli", "Time one tile of a matmul."),
    "linear-projection": Lazy("experiments.projection_cli", "The seven projections of a transformer block."),
    "changed-kernels": Lazy("nkilib.coverage_cli", "Choose the cases that judge a change of nki-library."),
    "discover": Lazy("nkilib.coverage_cli", "Write cases of nki-library's kernels from its own tests."),
    "install-benchmarks": Lazy("nkilib.install_cli", "Write a benchmarks/ directory into a checkout of nki-library."),
}
ALIASES = {"generate-neffs": "generate", "profile-neffs": "profile"}


class Table(LazyGroup):
    """The group of `COMMANDS`, which answers to the names of the two stages too."""

    lazy = COMMANDS

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command; None for a name that is not there."""
        return super().get_command(ctx, ALIASES.get(cmd_name, cmd_name))


@group("neff-bench", cls=Table)
def main() -> None:
    """Know where the time goes in a kernel on AWS Trainium and Inferentia.

    \b
    neff-bench generate --shapes shapes.yaml --out neffs.out
    neff-bench profile neffs.out
    """


if __name__ == "__main__":
    main()
