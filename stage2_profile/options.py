"""The options of `profile-neffs`, and what they mean together."""

from __future__ import annotations

import os
import re
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from neff_bench.errors import WrongCall
from neff_bench.stage2_profile.capture import nrtpy
from neff_bench.stage2_profile.capture.cores import LOCK_TIMEOUT_S
from neff_bench.stage2_profile.capture.device_step import Settings
from neff_bench.stage2_profile.captures import MOST
from neff_bench.stage2_profile.pipeline import Steps
from neff_bench.system.shard import Shard

Toolchain = Literal["auto", "neuron", "sim"]
CaptureTool = Literal["profiler", "nrtpy"]


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of `profile-neffs` under their own names."""

    toolchain: Toolchain = "auto"
    tool: CaptureTool = "profiler"
    num_exec: int | None = None
    profile_nth_exec: int | None = None
    warmup: int | None = None
    captures: int | None = None
    until: str | None = None
    timeout: float = 600.0
    capture_only: bool = False
    view_only: bool = False
    parse_only: bool = False
    inputs: Path | None = None
    cores: str | None = None
    force_cores: bool = False
    share_hbm: bool = False
    lock_timeout: float = LOCK_TIMEOUT_S
    enable_dge_notifs: bool = False
    force: bool = False
    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    shard: Shard | None = None
    ray: str | None = None
    shared_store: bool = False
    jobs: int | None = None
    cold: bool = False
    show_commands: bool = False
    hot: int | None = None
    search: str | None = None
    format: str = "table"
    output: Path | None = None
    page: Path | None = None


def settings_of(options: Options, threads: int, stop: threading.Event | None) -> Settings:
    """`threads`: of the matrix products of one simulated capture. Captures share the CPUs: products of two processes with
    two threads each are ten times slower."""
    num_exec, nth, warmup = executions(options)
    return Settings(
        environ={"OPENBLAS_NUM_THREADS": str(threads), **os.environ},
        num_exec=num_exec,
        profile_nth_exec=nth,
        warmup=warmup,
        captures=options.captures or (MOST if options.until else 1),
        until_percent=until_percent(options),
        timeout_s=options.timeout,
        enable_dge_notifs=options.enable_dge_notifs,
        lock_timeout_s=options.lock_timeout,
        stop=stop or threading.Event(),
    )


def executions(options: Options) -> tuple[int, int, int]:
    """How many executions, every how many of them one counts, and how many before the first that counts. nrtpy counts each after
    its warm-up; the profiler leaves out the first, cold one. Raises `WrongCall` where none is left."""
    if options.tool == nrtpy.NAME:
        if options.profile_nth_exec is not None:
            raise WrongCall("--profile-nth-exec is of the profiler; nrtpy times every execution after --warmup")
        warmup = nrtpy.WARMUP if options.warmup is None else options.warmup
        num_exec, nth = options.num_exec or max(nrtpy.EXECUTIONS, warmup + 1), 1
    else:
        warmup, num_exec = options.warmup or 0, options.num_exec or 2 + (options.warmup or 0)
        nth = options.profile_nth_exec or min(2, num_exec)
    if num_exec // nth * nth <= warmup:
        raise WrongCall(
            f"--num-exec {num_exec} with --profile-nth-exec {nth} and --warmup {warmup}: no execution would be profiled; "
            "raise --num-exec"
        )
    return num_exec, nth, warmup


def until_percent(options: Options) -> float | None:
    """`--until 1%` as a number. Raises `WrongCall`."""
    if options.until is None:
        return None
    match = re.fullmatch(r"(\d+(?:\.\d+)?)%?", options.until)
    if match is None or not 0 < float(match[1]) < 100:
        raise WrongCall(f"--until {options.until!r}: expected a percentage of the median time, such as 1%")
    return float(match[1])


def chosen_steps(options: Options) -> Steps:
    """Which part of the work; at most one may be asked for. Raises `WrongCall`."""
    asked: list[Steps] = []
    if options.capture_only:
        asked.append("capture")
    if options.view_only:
        asked.append("view")
    if options.parse_only:
        asked.append("parse")
    if len(asked) > 1:
        raise WrongCall("--capture-only, --view-only and --parse-only exclude each other")
    if options.force and asked and asked != ["capture"]:
        raise WrongCall(f"--force captures again, --{asked[0]}-only captures nothing")
    if asked and (options.captures or options.until):
        raise WrongCall(f"--captures and --until capture and view by turns, --{asked[0]}-only does not")
    if options.tool == nrtpy.NAME and options.view_only:
        raise WrongCall("--tool nrtpy leaves no trace, so there is nothing to view")
    return asked[0] if asked else "all"


def check_ray(options: Options) -> None:
    """Raises `WrongCall` for what a cluster cannot be asked for."""
    if options.ray is None:
        if options.shared_store:
            raise WrongCall("--shared-store says how --ray works; give --ray ADDRESS too")
        return
    if options.cores is not None:
        raise WrongCall("--cores: with --ray each capture runs on the core that Ray grants; leave it out")
    if options.view_only or options.parse_only:
        raise WrongCall("--ray captures; --view-only and --parse-only need no device and run on this host, without it")
