"""Declares commands that all behave in one way: `-h`, `--version`, one line for each mistake, exit codes, signals.

    @command("inspect", help=HELP)
    @click.argument(...)
    def inspect(...) -> int | None: ...

A command returns its exit code, or None for 0, and raises `NeffBenchError` for what a user must read.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import click

from neff_bench.errors import DONE, FAILED, WRONG, NeffBenchError, exit_code, meant
from neff_bench.installation import PACKAGE, VERSION
from neff_bench.system import signals
from neff_bench.terminal import streams

WIDTH = 100
"""Columns of a help text at most."""

VERSION_NAMES = ("--version",)
TRACEBACK = "NEFF_BENCH_TRACEBACK"
"""Environment variable: when it is set, an internal error shows where it comes from."""
_COLLECT_AFTER = 400_000
"""New objects after which the garbage collector of a command runs; Python's default is 700."""


Function = Callable[..., Any]
T = TypeVar("T", bound=click.Command)


class Command(click.Command):
    """A command, which ends the process with the exit code that belongs to what happened."""

    def main(self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any) -> Any:  # type: ignore[override]
        """Run the command, and end the process."""
        if not extra.pop("standalone_mode", True):
            return super().main(args, prog_name, standalone_mode=False, **extra)
        streams.prepare()
        # The collector walks all that was imported, several times and once more at the end. That is a tenth of a short command's time.
        atexit.register(gc.freeze)
        usual = gc.get_threshold()
        gc.set_threshold(_COLLECT_AFTER)
        gc.enable()
        code = _answered(lambda: super(Command, self).main(args, prog_name, standalone_mode=False, **extra))
        gc.set_threshold(*usual)
        sys.exit(code)

    def get_help(self, ctx: click.Context) -> str:
        """Return the text of `--help`, as wide as click makes it."""
        ctx.terminal_width = max(min(streams.width(80), WIDTH) - 2, 50)
        return super().get_help(ctx)


class Group(Command, click.Group):
    """A command with commands of its own."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Return the command that the first word names. An unknown one is told with the nearest that there is."""
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            ctx.fail(f"No such command {args[0]!r}{meant(args[0], self.list_commands(ctx))}")
        return super().resolve_command(ctx, args)


class Lazy(NamedTuple):
    """A command that is imported when it is called: the module that holds it under its name, below this package, and its line of help."""

    module: str
    help: str

    @property
    def is_there(self) -> bool:
        """Whether its module is there: a copy of the project may leave some out."""
        return PACKAGE.joinpath(*self.module.split(".")).with_suffix(".py").is_file()


class LazyGroup(Group):
    """A group with commands of modules of their own, `lazy`, beside those that are added to it."""

    lazy: Mapping[str, Lazy]

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of the commands, in the order of the help text."""
        return [*(name for name, entry in self.lazy.items() if entry.is_there), *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command; None for a name that is not there."""
        entry = self.lazy.get(cmd_name)
        if entry is None or not entry.is_there:
            return super().get_command(ctx, cmd_name)
        module = importlib.import_module(f"{PACKAGE.name}.{entry.module}")
        found: click.Command = getattr(module, cmd_name.replace("-", "_"))
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands, without importing any."""
        said = {name: self.lazy[name].help if name in self.lazy else "" for name in self.list_commands(ctx)}
        added = {name: self.commands[name].get_short_help_str(90) for name in said if name in self.commands}
        with formatter.section("Commands"):
            formatter.write_dl(list((said | added).items()))


def command(name: str, version: Callable[[], str] | None = None, **attributes: Any) -> Callable[[Function], Command]:
    """Return a decorator that makes a function a command. `version`: gives the text of `--version`, by default the project's."""
    return _decorator(Command, name, version, VERSION_NAMES, attributes)


def group(
    name: str,
    cls: type[Group] = Group,
    version: Callable[[], str] | None = None,
    version_names: Sequence[str] = VERSION_NAMES,
    **attributes: Any,
) -> Callable[[Function], Group]:
    """Return the same for a command that has commands of its own."""
    return _decorator(cls, name, version, version_names, attributes)


def _decorator(
    cls: type[T],
    name: str,
    version: Callable[[], str] | None,
    version_names: Sequence[str],
    attributes: dict[str, Any],
) -> Callable[[Function], T]:
    def decorate(function: Function) -> T:
        settings = {"help_option_names": ["-h", "--help"], "max_content_width": WIDTH}
        settings |= attributes.pop("context_settings", {})
        made = click.command(name, cls=cls, context_settings=settings, **attributes)(function)
        made.params.append(_version_option(version or (lambda: VERSION), version_names))
        return made

    return decorate


def _version_option(version: Callable[[], str], names: Sequence[str]) -> click.Option:
    def show(context: click.Context, _: click.Parameter, wanted: bool) -> None:
        if wanted and not context.resilient_parsing:
            streams.line(version())
            context.exit()

    text = "Show the version and exit."
    return click.Option(list(names), is_flag=True, is_eager=True, expose_value=False, callback=show, help=text)


def _answered(call: Callable[[], Any]) -> int:
    """Call and say what went wrong; returns the exit code."""
    try:
        with signals.ending_raises():
            code = _code(call)
            streams.finish()
            return code
    except (BrokenPipeError, signals.Ended, KeyboardInterrupt, Exception) as error:
        code = _told(error)
        try:
            streams.finish()
        except (NeffBenchError, BrokenPipeError):
            pass
        return code


def _code(call: Callable[[], Any]) -> int:
    try:
        result = call()
    except SystemExit as end:
        result = end.code
    if isinstance(result, str):
        streams.error(result)
        return FAILED
    return result if isinstance(result, int) else DONE


def _told(error: BaseException) -> int:
    """Say in one line what happened; returns the exit code."""
    if isinstance(error, NeffBenchError):
        streams.error(str(error))
        return exit_code(error)
    if isinstance(error, getattr(click.exceptions, "NoArgsIsHelpError", ())):
        click.echo(str(error), err=True)  # the help; click before 8.2 prints it itself
        return WRONG
    if isinstance(error, click.UsageError):
        streams.error(_usage(error))
        return WRONG
    if isinstance(error, click.ClickException):
        streams.error(error.format_message())
        return FAILED
    if isinstance(error, (KeyboardInterrupt, click.Abort)):
        number = next((end.number for end in _causes(error) if isinstance(end, signals.Ended)), 2)
        streams.error("interrupted")
        return 128 + number
    if isinstance(error, BrokenPipeError):
        return FAILED  # nobody reads the answer
    if isinstance(error, OSError):
        streams.error(f"{error.filename or 'standard output'}: {error.strerror or error}")
        return FAILED
    if isinstance(error, MemoryError):
        streams.error("out of memory")
        return FAILED
    if os.environ.get(TRACEBACK):
        import traceback

        traceback.print_exception(error)
    streams.error(f"internal error, please report it ({_place(error)}): {error!r}")
    return FAILED


def _usage(error: click.UsageError) -> str:
    """Return Click's message on one line, led by the option it is about."""
    text = error.format_message().rstrip(".")
    command = f" (see {error.ctx.command_path} --help)" if error.ctx is not None else ""
    return f"{' '.join(text.split())}{command}"


def _causes(error: BaseException) -> list[BaseException]:
    found: list[BaseException] = []
    one: BaseException | None = error
    while one is not None and one not in found:
        found.append(one)
        one = one.__cause__ or one.__context__
    return found


def _place(error: BaseException) -> str:
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    return f"{os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else "no place"
