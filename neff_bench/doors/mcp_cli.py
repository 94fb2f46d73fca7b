"""Declares `neff-bench mcp`, which serves agents."""

from __future__ import annotations

from pathlib import Path

import click

from neff_bench.errors import WrongCall
from neff_bench.installation import pip_install
from neff_bench.terminal.command import command


@command("mcp")
@click.option(
    "--root", type=click.Path(exists=True, file_okay=False, path_type=Path), default=Path(),
    help="Kernels and files lie below this directory; nothing else may be named.  [default: the current directory]",
)  # fmt: skip
@click.option(
    "--timeout",
    type=click.FloatRange(0.1),
    default=25.0,
    show_default=True,
    help="Seconds for one call; ending it takes up to three more.",
)
@click.option(
    "--memory",
    type=click.IntRange(512),
    default=4096,
    show_default=True,
    help="MiB that one process of a call may allocate.",
)
def mcp(root: Path, timeout: float, memory: int) -> None:
    """Serve estimate, profile, explain, compare and inspect to agents (Model Context Protocol, standard input and output).

    An agent can run the kernels below --root, with your rights. It can name nothing else.

    \b
    pip install 'mcp>=2.0'
    neff-bench mcp --root my-kernels     # the command that an agent's configuration names
    """
    try:
        from neff_bench.doors.mcp_calls import Limits
        from neff_bench.doors.mcp_server import server_of
    except ModuleNotFoundError as error:
        if error.name not in ("mcp", "pydantic"):
            raise
        raise WrongCall(f"mcp is not installed: {pip_install('mcp')}") from None
    server_of(Limits(root.resolve(), timeout, memory << 20)).run()
