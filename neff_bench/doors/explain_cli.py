"""`neff-bench explain`: what `neuron-sim explain` is, and what a metric means."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from neff_bench.errors import WrongCall, meant
from neff_bench.simulator.commands.cli import ExplainOptions, explain_command
from neff_bench.terminal.command import command

_PARAMETERS = [parameter for parameter in explain_command.params if parameter.name != "version"]
HELP = f"""{explain_command.help}
    In place of a NEFF, the name of a metric or the head of its column: what it means.

    \b
      neff-bench explain tensor_active_us
      neff-bench explain "active us"
"""


def _explain(**given: Any) -> Any:
    name = given["neff"]
    if name is None or Path(name).exists() or "/" in name or name.endswith(".neff"):
        return explain_command.callback(**given)  # type: ignore[misc]
    from neff_bench.stage2_profile.compare.report import metrics_answer
    from neff_bench.stage2_profile.metrics.rows import METRICS
    from neff_bench.terminal.output import write_answer

    found = [each for each in METRICS.values() if name.lower() in (each.name, each.head.lower())]
    if not found:
        raise WrongCall(
            f"{name} is neither a file nor a metric{meant(name, METRICS)}; neff-bench compare --list-metrics names them"
        )
    options = ExplainOptions(**{key: value for key, value in given.items() if key != "calibration"})
    write_answer(metrics_answer(found), options.format, options.output)
    return None


explain = command("explain", help=HELP, params=_PARAMETERS)(_explain)
