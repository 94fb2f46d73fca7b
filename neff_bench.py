"""`neff-bench`: one name for every command of the project.

The table below is all there is: a subcommand is a name, the module that holds it and one line of help. A module is
imported when its command is called (or when its own help is asked for), never before.
"""

from __future__ import annotations

import importlib
from typing import NamedTuple

import click


class Lazy(NamedTuple):
    module: str
    attribute: str
    help: str


COMMANDS = {
    "generate": Lazy("stage1_generate.cli", "generate", "Build the NEFFs of a shapes file, on any CPU host."),
    "profile": Lazy("stage2_profile.cli", "profile", "Profile built NEFFs and print where the time goes."),
    "inspect": Lazy("parsers.cli", "inspect", "Show what is in a NEFF, an NTFF or a profile JSON."),
    "install-benchmarks": Lazy(
        "install_benchmarks.cli", "install_benchmarks", "Write a benchmarks/ directory into a checkout of nki-library."
    ),
}
ALIASES = {"generate-neffs": "generate", "profile-neffs": "profile"}


class Table(click.Group):
    """A group whose commands come from `COMMANDS`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = COMMANDS.get(ALIASES.get(cmd_name, cmd_name))
        if entry is None:
            return None
        command: click.Command = getattr(importlib.import_module(entry.module), entry.attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help) for name, entry in COMMANDS.items()])


@click.command(cls=Table, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="neff-bench")
def main() -> None:
    """Know where the time goes in a kernel on AWS Trainium and Inferentia.

    \b
    neff-bench generate --shapes shapes.yaml --out neffs.out
    neff-bench profile neffs.out
    """


if __name__ == "__main__":
    main()
