"""`neff-bench explain`: what `neuron-sim explain` is."""

from __future__ import annotations

from neff_bench.simulator.commands.cli import explain_command
from neff_bench.terminal.command import command

_PARAMETERS = [parameter for parameter in explain_command.params if parameter.name != "version"]
explain = command("explain", help=explain_command.help, params=_PARAMETERS)(explain_command.callback)  # type: ignore[arg-type]
