"""Declares the options of a command, each declared once: as a field of a dataclass, with its type, default and help.

    @dataclass(frozen=True, kw_only=True)
    class Options(OutputOptions):
        num_exec: int | None = option(type=click.IntRange(1), help="Executions in each capture.")

    @command("profile-neffs")
    @takes(Options)
    def profile(options: Options) -> int: ...

The dataclass is also what the command hands on: to its steps, to its workers, to other hosts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import Field, dataclass, field
from functools import update_wrapper
from pathlib import Path
from typing import Any, TypeVar

import click

from neff_bench.system.shard import SHARD, Shard
from neff_bench.terminal.formats import FORMATS, chosen

T = TypeVar("T")
Function = Callable[..., Any]
PATH = click.Path(path_type=Path)
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


def option(*names: str, default: Any = None, **how: Any) -> Any:
    """Return a field that is an option. `names`: how it is written, by default the field's name. `how`: the rest, as click takes it."""
    return field(default=default, metadata={"parameter": (click.Option, names, {"default": default, **how})})


def flag(*names: str, help: str) -> Any:
    """Return a field that is an option without a value: true where it is given."""
    return option(*names, default=False, is_flag=True, help=help)


def globs(help: str) -> Any:
    """Return a field that is an option with a pattern, which may be given several times."""
    return option(default=(), multiple=True, metavar="GLOB", help=help)


def argument(*, default: Any = None, required: bool = False, **how: Any) -> Any:
    """Return a field that is an operand of the command. `required`: it must be given, so its default counts in Python alone."""
    given = {"required": True} if required else {"required": False, "default": default}
    return field(default=default, metadata={"parameter": (click.Argument, (), {**given, **how})})


def takes(options: type[T]) -> Callable[[Callable[[T], Any]], Function]:
    """Return a decorator: the command's function gets one object of this dataclass."""

    def decorate(function: Callable[[T], Any]) -> Function:
        def call(**values: Any) -> Any:
            return function(options(**values))

        made: Function = update_wrapper(call, function)
        for one in reversed(list(_declared(options))):
            kind, names, how = one.metadata["parameter"]
            written = [one.name, *(names or ([f"--{one.name.replace('_', '-')}"] if kind is click.Option else []))]
            add = click.option if kind is click.Option else click.argument
            made = add(*written, **how)(made)
        return made

    return decorate


def _declared(options: type[Any]) -> Iterator[Field[Any]]:
    """Yield a command's own options, then those that it shares with others."""
    fields = options.__dataclass_fields__
    for cls in options.__mro__:
        yield from (fields[name] for name in vars(cls).get("__annotations__", ()) if fields[name].metadata)


@dataclass(frozen=True, kw_only=True)
class CaseOptions:
    """Holds which cases are meant."""

    only: tuple[str, ...] = globs("Only the cases whose name matches (repeatable).")
    skip: tuple[str, ...] = globs("Not the cases whose name matches (repeatable).")
    shard: Shard | None = option(
        type=SHARD, help="Only part I of N of the cases; `neff-bench merge` puts stores together."
    )


@dataclass(frozen=True, kw_only=True)
class ClusterOptions:
    """Says whether the hosts of a Ray cluster do the work."""

    ray: str | None = option(
        metavar="ADDRESS",
        help="Work on the hosts of a Ray cluster: HOST:PORT, or auto for the one that this host belongs to.",
    )
    shared_store: bool = flag(help="With --ray: the hosts see the store under the same path and write to it.")


def _remember(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    context.meta[f"{__name__}.{parameter.name}"] = value


def remembered(option: str) -> Any:
    """Return the value of an option that the layout of an answer needs, and nothing between; None outside a command."""
    context = click.get_current_context(silent=True)
    return context.meta.get(f"{__name__}.{option}") if context else None


_FOR_THE_LAYOUT: dict[str, Any] = {"expose_value": False, "callback": _remember}


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """The answer of a command: in which format, and where to."""

    format_: str | None = option(
        "--format", type=click.Choice(FORMATS), help="Default: by the suffix of --output, else table."
    )
    output: Path | None = option(type=PATH, metavar="FILE", help="Write the answer there, not to stdout.")
    columns: str | None = option(
        metavar="NAME,...", help="These columns in this order, by head or by key in JSON.", **_FOR_THE_LAYOUT
    )
    wide: bool = option(default=False, is_flag=True, help="All columns, each row on one line.", **_FOR_THE_LAYOUT)

    @property
    def format(self) -> str:
        """The format that is meant. Raises `WrongCall` for a suffix that names none."""
        return chosen(self.format_, self.output)
