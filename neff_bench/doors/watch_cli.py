"""Declares `neff-bench watch`, which follows a kernel while it is written."""

from __future__ import annotations

from dataclasses import dataclass
from signal import SIGINT
from typing import TYPE_CHECKING

import click

from neff_bench.doors.subject import SubjectOptions
from neff_bench.errors import DONE, WrongCall
from neff_bench.installation import pip_install
from neff_bench.terminal import streams
from neff_bench.terminal.command import command
from neff_bench.terminal.options import argument, option, takes

if TYPE_CHECKING:
    from neff_bench.doors.watch.session import State


@dataclass(frozen=True, kw_only=True)
class WatchOptions(SubjectOptions):
    """Holds what is watched, and how that is told."""

    what: str = argument(required=True, metavar="KERNEL.py:FUNCTION|SHAPES.yaml|SCRIPT.py")
    port: int = option(
        default=0, type=click.IntRange(0, 65535), help="Port of the page, on 127.0.0.1.  [default: a free one]"
    )
    timeout: float = option(default=30.0, type=click.FloatRange(0.1), show_default=True, help="Seconds for one save.")
    form: str = option(
        "--format", default="text", type=click.Choice(["text", "json"]), show_default=True, help="json: one line for each save."
    )  # fmt: skip


@command("watch")
@takes(WatchOptions)
def watch(options: WatchOptions) -> int:
    """Follow a kernel while you write it: a page on this machine, and lines for your editor, after each save.

    A save of the kernel's file, of what it imports, of its reference or of the shapes file gives the simulated total with its range, what
    changed, findings and broken rules at their lines, and, with a reference, whether the outputs are right. Ctrl-C ends it.

    \b
    neff-bench watch my_kernels.py:scale_rows x=512x1024:bfloat16 w=1024:float32
    neff-bench watch my_kernels.py:scale_rows --shapes shapes.yaml
    neff-bench watch shapes.yaml --only '*M512*' --target trn3
    neff-bench watch my_script.py --format json
    """
    from neff_bench.stage1_generate.toolchains.compiler_process import python_environment
    from neff_bench.system.compiled import slow_notice
    from neff_bench.system.warm import WarmParent

    if (slow := slow_notice()) is not None:
        streams.notice(slow)
    subject = options.subject(options.what)
    modules = ["neff_bench.doors.watch.look:warm_up", *(["jax"] if options.implementation == "xla" else [])]
    with WarmParent(modules, python_environment()) as warm:
        warm.fork()  # before the server has threads
        try:
            from neff_bench.doors.watch.serving import serve
        except ModuleNotFoundError as error:
            if (error.name or "").split(".")[0] in ("starlette", "uvicorn", "sse_starlette", "watchfiles"):
                raise WrongCall(f"watch needs a server of pages: {pip_install('watch')}") from None
            raise
        try:
            serve(subject, warm, options.port, options.timeout, streams.status, _Teller(options.form))
        except KeyboardInterrupt as end:
            if getattr(end, "number", SIGINT) != SIGINT:
                raise
    return DONE


class _Teller:
    """Prints each save once, when it is done; as text, also that it has begun."""

    def __init__(self, form: str) -> None:
        self.form, self.said, self.begun = form, 0, 0

    def __call__(self, state: State) -> None:
        from neff_bench.doors.watch.lines import as_json, as_text, begun

        if self.form == "text" and self.begun != state.save:
            self.begun = state.save
            streams.line(begun(state))
        if state.busy or self.said == state.save:
            return
        self.said = state.save
        streams.line(as_json(state) if self.form == "json" else as_text(state))
