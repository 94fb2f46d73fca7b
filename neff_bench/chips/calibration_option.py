"""Declares the option `--calibration FILE` of every command that runs the simulator or reads its times."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from neff_bench.chips import ENVIRONMENT

if TYPE_CHECKING:
    import click

Function = TypeVar("Function", bound=Callable[..., Any])


def calibration_option(function: Function) -> Function:
    """Put the calibration in force, before the command begins, for it and for the programs that it starts."""
    import click  # the version is said without it

    return click.option(
        "--calibration",
        metavar="FILE",
        type=click.Path(path_type=Path),
        expose_value=False,
        callback=_put_in_force,
        help=f"Constants that neuron-sim calibrate fitted to your traces, for simulated times.  [default: ${ENVIRONMENT}]",
    )(function)


def _put_in_force(context: click.Context, _: click.Parameter, given: Path | None) -> None:
    from neff_bench.chips.calibration import put_in_force  # which imports the chips

    named = os.environ.get(ENVIRONMENT)
    path = given or (Path(named) if named else None)
    if path is None or context.resilient_parsing:
        return
    context.call_on_close(
        lambda: os.environ.pop(ENVIRONMENT) if named is None else os.environ.update({ENVIRONMENT: named})
    )
    put_in_force(path)
