"""`neff-bench mcp`."""

from __future__ import annotations

from neff_bench.errors import WrongCall
from neff_bench.terminal.command import command


@command("mcp")
def mcp() -> None:
    """Serve estimate, profile, explain, compare and inspect to agents (Model Context Protocol, standard input and output).

    \b
    pip install 'neff-bench[mcp]'
    neff-bench mcp                       # the command that an agent's configuration names
    """
    try:
        from neff_bench.doors.mcp_server import server
    except ModuleNotFoundError as error:
        if error.name not in ("mcp", "pydantic"):
            raise
        raise WrongCall("mcp is not installed: pip install 'neff-bench[mcp]'") from None
    server.run()
