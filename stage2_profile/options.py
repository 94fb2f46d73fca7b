"""Declares the options of `profile-neffs`, and what they mean together."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import click

from neff_bench.errors import WrongCall
from neff_bench.neffs import DEFAULT_STORE
from neff_bench.sdk.installed import OPTION, judged_by
from neff_bench.terminal.options import PATH, CaseOptions, ClusterOptions, OutputOptions, argument, flag, option
from neff_bench.terminal.output import is_page

if TYPE_CHECKING:
    from neff_bench.system.warm import WarmParent

Toolchain = Literal["auto", "neuron", "sim"]
CaptureTool = Literal["profiler", "nrtpy"]
Steps = Literal["all", "capture", "view", "parse"]
NRTPY_WARMUP, NRTPY_EXECUTIONS = 5, 25
"""Unless told otherwise: nrtpy's own warm-up, and twenty executions that count."""
MOST_CAPTURES = 30
"""Captures of a case with --until and without --captures."""
_OF_THIS_PROCESS = ("environ", "stop", "warm")


class Executions(NamedTuple):
    """Holds how many executions, every how many of them one is profiled, and how many before the first that counts."""

    number: int
    nth: int
    warmup: int


@dataclass(frozen=True, kw_only=True)
class Options(CaseOptions, ClusterOptions, OutputOptions):
    """Holds what is asked of `profile-neffs`, and what of this process the work needs."""

    directory: Path = argument(default=Path(DEFAULT_STORE), metavar="[STORE]", type=PATH)
    toolchain: Toolchain = option(
        default="auto",
        type=click.Choice(["auto", "neuron", "sim"]),
        show_default=True,
        help="neuron: neuron-explorer, else neuron-profile. sim: neuron-sim. auto: for each NEFF the one that can run it.",
    )
    tool: CaptureTool = option(
        default="profiler",
        type=click.Choice(["profiler", "nrtpy"]),
        show_default=True,
        help="For measured NEFFs. nrtpy (SDK 2.32): times and outputs without a trace; NEFF_BENCH_NRTPY_PYTHON names its "
        "Python.",
    )
    num_exec: int | None = option(
        type=click.IntRange(1, 100_000),
        help="Executions in each capture, warm-up included.  [default: 2 and the warm-up; 25 with --tool nrtpy]",
    )
    warmup: int | None = option(
        type=click.IntRange(0, 100_000),
        metavar="N",
        help="Executions before the first that counts.  [default: 0; 5 with --tool nrtpy]",
    )
    profile_nth_exec: int | None = option(
        type=click.IntRange(1, 100_000),
        help="Profile every Nth of them. Several profiled ones give a median and an IQR.  [default: 2, which leaves out the "
        "first and cold one]",
    )
    captures: int | None = option(
        type=click.IntRange(1, 1000),
        metavar="N",
        help="Captures of each measured case; their medians give a confidence interval from 6 on.  [default: 1, 30 with --until]",
    )
    until: str | None = option(
        metavar="PCT%", help="Capture until half that interval is narrower, at most --captures times."
    )
    timeout_s: float = option(
        "--timeout",
        default=600.0,
        type=click.FloatRange(min=0.1),
        show_default=True,
        metavar="S",
        help="Seconds that one call of the profiler may take.",
    )
    capture_only: bool = flag(help="The device step alone; --view-only does the rest on any host.")
    view_only: bool = flag(help="View what was captured; needs the tool but no device.")
    parse_only: bool = flag(help="Read the profiles that are there; needs no tool and no device.")
    inputs: Path | None = option(
        type=PATH,
        metavar="DIR",
        help="Raw input files, inp-<tensor>-000.bin, for NEFFs that come without a bundle.  [default: drawn with a fixed seed]",
    )
    cores: str | None = option(
        metavar="LIST",
        help="Physical cores to capture on in parallel, such as 0-7; each is locked for all users of the host, and none is used "
        "while another process uses its device.  [default: those of NEURON_RT_VISIBLE_CORES, else one at a time that is free; "
        "none for neuron-sim]",
    )
    force_cores: bool = flag(help="Take the cores of --cores though NEURON_RT_VISIBLE_CORES does not grant them.")
    share_hbm: bool = flag(
        help="Capture on both cores of a bank of HBM at once; they slow each other down.  [default: one capture a bank]"
    )
    lock_timeout_s: float = option(
        "--lock-timeout",
        default=3600.0,
        type=click.FloatRange(min=0.1),
        show_default=True,
        metavar="S",
        help="Seconds to wait for cores, or for a bundle, that other processes hold.",
    )
    enable_dge_notifs: bool = flag(help="Trace dynamic DMAs; may overflow the notification queue.")
    system_trace: bool = flag(
        help="Trace the runtime too, over 20 further executions (-t systrace, SDK 2.32): rows get gap_us, the time between two."
    )
    force: bool = flag(help="Profile again what has a good profile.")
    jobs: int | None = option(type=click.IntRange(1, 256), help="Bundles at a time.  [default: number of CPUs]")
    cold: bool = flag(help="Start each call of neuron-sim as a program of its own; slower, and the same rows.")
    show_commands: bool = flag(help="Print, for each row, the shell lines that repeat its profile.")
    clock: Literal["profile", "execution"] = option(
        default="profile",
        type=click.Choice(["profile", "execution"]),
        show_default=True,
        help="Which time the table shows. profile: from the first to the last event of a trace. execution: the device latency of "
        "one launch, as the runtime tells it.",
    )
    sdk: str | None = option(metavar="RELEASE", help=OPTION)
    hot: int | None = option(
        type=click.IntRange(1, 10_000),
        metavar="N",
        help="Answer with the N slowest source lines and instructions of each engine.",
    )
    search: str | None = option(
        metavar="TEXT",
        help="Name only what holds TEXT or matches /REGEX/; /./ stands for all that has a source line. Implies --hot 10.",
    )

    detail: bool = False
    """Make the whole profile too."""
    backoff_s: float = 0.5
    """First wait for a busy core, doubled with each try."""
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    stop: threading.Event = field(default_factory=threading.Event)
    """An event: when it is set, tools are ended and what is not done yet becomes rows that say so."""
    warm: WarmParent | None = None
    """The parent to fork our own tools from, None to start each cold."""

    def __reduce__(self) -> Any:
        """Send another host what was asked; what belongs to a process is made anew there."""
        asked = {name: value for name, value in vars(self).items() if name not in _OF_THIS_PROCESS}
        return partial(Options, **asked), ()

    def check(self) -> None:
        """Check the options. Raises `WrongCall` for those that cannot be together."""
        self.check_ray()
        _ = self.executions, self.until_percent, self.steps, judged_by(self.sdk)  # each raises for what it cannot be

    @property
    def page(self) -> Path | None:
        """The page that is asked for."""
        return self.output if self.format_ is None and is_page(self.output) else None

    @property
    def format(self) -> str:
        """The format of the table. Raises `WrongCall`."""
        return "table" if self.page else super().format

    @property
    def nrtpy(self) -> bool:
        """Whether the tool leaves times and no trace."""
        return self.tool == "nrtpy"

    @property
    def wants_hot(self) -> bool:
        """Whether the answer is the slowest lines."""
        return self.hot is not None or self.search is not None

    @property
    def executions(self) -> Executions:
        """The executions of one capture. nrtpy counts each after its warm-up; the profiler leaves out the first, cold one. Raises
        `WrongCall` where none is left."""
        if self.nrtpy:
            if self.profile_nth_exec is not None:
                raise WrongCall("--profile-nth-exec is of the profiler; nrtpy times every execution after --warmup")
            warmup = NRTPY_WARMUP if self.warmup is None else self.warmup
            count, nth = self.num_exec or max(NRTPY_EXECUTIONS, warmup + 1), 1
        else:
            warmup, count = self.warmup or 0, self.num_exec or 2 + (self.warmup or 0)
            nth = self.profile_nth_exec or min(2, count)
        if count // nth * nth <= warmup:
            raise WrongCall(
                f"--num-exec {count} with --profile-nth-exec {nth} and --warmup {warmup}: no execution would be profiled; raise "
                "--num-exec"
            )
        return Executions(count, nth, warmup)

    @property
    def most_captures(self) -> int:
        """How often each case is captured on a device, at most."""
        return self.captures or (MOST_CAPTURES if self.until else 1)

    @property
    def until_percent(self) -> float | None:
        """`--until 1%` as a number. Raises `WrongCall`."""
        if self.until is None:
            return None
        match = re.fullmatch(r"(\d+(?:\.\d+)?)%?", self.until)
        if match is None or not 0 < float(match[1]) < 100:
            raise WrongCall(f"--until {self.until!r}: expected a percentage of the median time, such as 1%")
        return float(match[1])

    @property
    def steps(self) -> Steps:
        """Which part of the work; at most one may be asked for. Raises `WrongCall`."""
        said: tuple[tuple[Steps, bool], ...] = (
            *(("capture", self.capture_only), ("view", self.view_only), ("parse", self.parse_only)),
        )
        asked = [step for step, is_asked in said if is_asked]
        if len(asked) > 1:
            raise WrongCall("--capture-only, --view-only and --parse-only exclude each other")
        if self.force and asked and asked != ["capture"]:
            raise WrongCall(f"--force captures again, --{asked[0]}-only captures nothing")
        if asked and (self.captures or self.until):
            raise WrongCall(f"--captures and --until capture and view by turns, --{asked[0]}-only does not")
        if self.nrtpy and self.system_trace:
            raise WrongCall(
                "--system-trace is of the profiler; --tool nrtpy takes its times from such a trace as it is"
            )
        if self.nrtpy and self.view_only:
            raise WrongCall("--tool nrtpy leaves no trace, so there is nothing to view")
        return asked[0] if asked else "all"

    def check_ray(self) -> None:
        """Check options for a cluster. Raises `WrongCall` for what it cannot be asked for."""
        if self.ray is None:
            if self.shared_store:
                raise WrongCall("--shared-store says how --ray works; give --ray ADDRESS too")
            return
        if self.cores is not None:
            raise WrongCall("--cores: with --ray each capture runs on the core that Ray grants; leave it out")
        if self.view_only or self.parse_only:
            raise WrongCall(
                "--ray captures; --view-only and --parse-only need no device and run on this host, without it"
            )

    def with_threads(self, threads: int) -> Options:
        """Return the same with so many threads for the matrix products of one simulated capture. Captures share the CPUs: products of two
        processes with two threads each are ten times slower."""
        return replace(self, environ={"OPENBLAS_NUM_THREADS": str(threads), **self.environ})
