"""Gives `neff-bench`: one name for every command. A subcommand is a name, the module that holds it, imported when it is called, and one line of help."""

from __future__ import annotations

import importlib
from typing import NamedTuple

import click

from neff_bench.installation import PACKAGE
from neff_bench.terminal.command import Group, group


class Lazy(NamedTuple):
    """A command by the module and attribute that hold it, and its line of help."""

    module: str
    attribute: str
    help: str


COMMANDS = {
    "tutorial": Lazy("neff_bench.doors.tutorial_cli", "tutorial", "Write a first kernel, its reference and shapes."),
    "generate": Lazy(
        "neff_bench.stage1_generate.cli", "generate", "Build the NEFFs of a shapes file, on any CPU host."
    ),
    "profile": Lazy("neff_bench.stage2_profile.cli", "profile", "Profile built NEFFs and print where the time goes."),
    "inspect": Lazy(
        "neff_bench.parsers.cli", "inspect", "Show what is in a NEFF, an NTFF, an HLO module or a profile."
    ),
    "view": Lazy(
        "neff_bench.doors.view_cli",
        "view",
        "Write the timeline of a trace as a page, a Perfetto trace, JSON, CSV or Parquet.",
    ),
    "compare": Lazy(
        "neff_bench.stage2_profile.compare.cli", "compare", "Compare two profiled stores or implementations."
    ),
    "explain": Lazy(
        "neff_bench.doors.explain_cli",
        "explain",
        "Say why a simulated NEFF takes its time, and what would help.",
    ),
    "gate": Lazy("neff_bench.stage2_profile.gate.cli", "gate", "Judge a change of kernels: worse, better, same."),
    "fsck": Lazy("neff_bench.stage2_profile.upkeep.cli", "fsck", "Compare every file of a store with its checksum."),
    "gc": Lazy("neff_bench.stage2_profile.upkeep.cli", "gc", "Remove old runs from a store."),
    "merge": Lazy("neff_bench.stage2_profile.upkeep.cli", "merge", "Put the cases of several stores into one."),
    "probes": Lazy(
        "neff_bench.doors.probes_cli",
        "probes",
        "Write microkernels that show a machine's constants, to calibrate the model.",
    ),
    "run": Lazy(
        "neff_bench.doors.run_cli", "run", "Run a script that launches kernels, and say where their time goes."
    ),
    "watch": Lazy(
        "neff_bench.doors.watch_cli", "watch", "Follow a kernel while you write it: a page that repaints at each save."
    ),
    "check": Lazy(
        "neff_bench.doors.check_cli", "check", "Say which rules of AWS's compiler a kernel breaks, by release."
    ),
    "migrate": Lazy(
        "neff_bench.doors.migrate_cli", "migrate", "Name what a kernel of the old NKI dialect has to change."
    ),
    "tune": Lazy("neff_bench.doors.tune_cli", "tune", "Estimate many variants of a kernel: JSON lines in and out."),
    "schema": Lazy("neff_bench.doors.schema", "schema", "Print the JSON schema of rows."),
    "mcp": Lazy("neff_bench.doors.mcp_cli", "mcp", "Serve estimate, profile, explain, compare and inspect to agents."),
    "history": Lazy("neff_bench.history.cli", "history", "Keep the rows of every commit: since when is it slower?"),
    "doctor": Lazy(
        "neff_bench.stage1_generate.doctor", "doctor", "Say what this host can build and profile, and why not."
    ),
    "latency": Lazy(
        "neff_bench.experiments.latency_cli", "latency", "Time matmul and MLP on the host: Neuron, CUDA or CPU."
    ),
    "tiling": Lazy(
        "neff_bench.experiments.tiling_cli",
        "tiling",
        "Say from measured times where a size that grows costs one more tile.",
    ),
    "buckets": Lazy(
        "neff_bench.experiments.buckets_cli",
        "buckets",
        "Choose the sequence lengths to compile for, by measured latency.",
    ),
    "tile": Lazy("neff_bench.experiments.projection_cli", "tile", "Time one tile of a matmul."),
    "linear-projection": Lazy(
        "neff_bench.experiments.projection_cli", "linear_projection", "The seven projections of a transformer block."
    ),
    "changed-kernels": Lazy(
        "neff_bench.nkilib.coverage_cli", "changed_kernels", "Choose the cases that judge a change of nki-library."
    ),
    "discover": Lazy(
        "neff_bench.nkilib.coverage_cli", "discover_cases", "Write cases of nki-library's kernels from its own tests."
    ),
    "install-benchmarks": Lazy(
        "neff_bench.nkilib.install_cli",
        "install_benchmarks",
        "Write a benchmarks/ directory into a checkout of nki-library.",
    ),
}
ALIASES = {"generate-neffs": "generate", "profile-neffs": "profile"}


class Table(Group):
    """A group whose commands come from `COMMANDS`: those whose module is there (a copy of the project may leave some out)."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of the commands, in the order of the help text."""
        return [name for name, entry in COMMANDS.items() if _is_there(entry)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command; None for a name that is not there."""
        entry = COMMANDS.get(ALIASES.get(cmd_name, cmd_name))
        if entry is None or not _is_there(entry):
            return None
        command: click.Command = getattr(importlib.import_module(entry.module), entry.attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands, without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name].help) for name in self.list_commands(ctx)])


def _is_there(entry: Lazy) -> bool:
    return PACKAGE.joinpath(*entry.module.split(".")[1:]).with_suffix(".py").is_file()


@group("neff-bench", cls=Table)
def main() -> None:
    """Know where the time goes in a kernel on AWS Trainium and Inferentia.

    \b
    neff-bench generate --shapes shapes.yaml --out neffs.out
    neff-bench profile neffs.out
    """


if __name__ == "__main__":
    main()
