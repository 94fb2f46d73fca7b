"""`--ray ADDRESS`: the work is done by the hosts of a Ray cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

Function = TypeVar("Function", bound=Callable[..., Any])


def cluster_options(function: Function) -> Function:
    """Adds `--ray` and `--shared-store`."""
    ray = click.option(
        "--ray",
        metavar="ADDRESS",
        help="Work on the hosts of a Ray cluster: HOST:PORT, or auto for the one that this host belongs to.",
    )
    shared = click.option(
        "--shared-store", is_flag=True, help="With --ray: the hosts see the store under the same path and write to it."
    )
    return ray(shared(function))
