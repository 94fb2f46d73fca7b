"""What `profile-neffs` does once its options are known."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

import click

from neffs.bundle import MANIFEST, Bundle, read_bundle
from neffs.errors import BundleError, StoreError
from neffs.store import Store
from stage2_profile.capture import Settings
from stage2_profile.cores import CorePool
from stage2_profile.errors import ProfileError, ToolMissing, WrongCall
from stage2_profile.pipeline import Pipeline, profile_all
from stage2_profile.progress import progress
from stage2_profile.report import render
from stage2_profile.rows import Row
from stage2_profile.runs import write_file
from stage2_profile.tools import Kind, Tool, find_neuron_tool, find_simulator

Toolchain = Literal["auto", "neuron", "sim"]


def profile_directory(
    directory: Path,
    *,
    toolchain: Toolchain,
    num_exec: int,
    profile_nth_exec: int,
    timeout: float,
    parse_only: bool,
    force: bool,
    only: Sequence[str],
    skip: Sequence[str],
    jobs: int | None,
    format_: str,
    output: Path | None,
) -> int:
    """Profile a store and print its rows; returns the exit code. Raises `WrongCall` and `ProfileError`."""
    found = selected(find_bundles(directory), only, skip)
    if not found:
        raise WrongCall(
            f"{directory}: no bundle"
            + (" that --only and --skip leave" if only or skip else "; generate-neffs makes them")
        )
    settings = Settings(num_exec=num_exec, profile_nth_exec=profile_nth_exec, timeout_s=timeout)
    kinds = {
        entry.manifest.toolchain for entry in found if isinstance(entry, Bundle) and entry.manifest.status == "built"
    }
    tools = {} if parse_only else choose_tools(toolchain, kinds, settings)
    pipeline = Pipeline(
        tools=tools,
        pool=CorePool(()),
        settings=settings,
        steps="parse" if parse_only else "all",
        force=force,
        say=notice,
    )
    workers = jobs or os.cpu_count() or 1
    with progress(len(found)) as done:
        rows = profile_all(pipeline, found, workers, done)
    write_rows(rows, format_, output)
    failed = sum(row.failed for row in rows)
    if failed:
        notice(f"{failed} of {len(rows)} failed")
    return 130 if settings.stop.is_set() else 1 if failed else 0


def find_bundles(directory: Path) -> list[Bundle | BundleError]:
    """The bundles of a store, or the one bundle that `directory` is. Raises `WrongCall`."""
    if (directory / MANIFEST).is_file():
        try:
            return [read_bundle(directory)]
        except BundleError as error:
            return [error]
    try:
        return list(Store(directory).bundles())
    except StoreError as error:
        raise WrongCall(str(error)) from None


def selected(
    found: Iterable[Bundle | BundleError], only: Sequence[str], skip: Sequence[str]
) -> list[Bundle | BundleError]:
    """Those whose name matches a glob of `only` (or there is none) and no glob of `skip`."""
    return [
        entry
        for entry in found
        if (not only or any(fnmatchcase(entry.name, glob) for glob in only))
        and not any(fnmatchcase(entry.name, glob) for glob in skip)
    ]


def choose_tools(toolchain: Toolchain, kinds: Iterable[str], settings: Settings) -> dict[Kind, Tool | str]:
    """The tool for each kind of NEFF, or why these NEFFs cannot be profiled; says on stderr which tools were chosen."""
    tools: dict[Kind, Tool | str] = {
        "sim": "the NEFF was built by the simulator, which no Neuron device runs; use --toolchain sim or auto",
        "neuron": "the NEFF was built by the Neuron SDK, which neuron-sim cannot run; use --toolchain neuron or auto",
    }
    needed = set(kinds)
    if toolchain != "sim" and ("neuron" in needed or toolchain == "neuron"):
        tools["neuron"] = _found(find_neuron_tool, settings)
    if toolchain != "neuron" and ("sim" in needed or toolchain == "sim"):
        tools["sim"] = _found(find_simulator, settings)
    for tool in tools.values():
        if isinstance(tool, Tool):
            notice(f"profiling with {tool}")
    return tools


def _found(find, settings: Settings) -> Tool | str:
    try:
        return find(settings.environ)
    except ToolMissing as error:
        return str(error)


def write_rows(rows: Sequence[Row], format_: str, output: Path | None) -> None:
    """To a file, whole or not at all, or to standard output. Raises `ProfileError` when the file cannot be written."""
    if output is not None:
        try:
            write_file(output, render(rows, format_).encode())
        except OSError as error:
            raise ProfileError(f"{output}: cannot write it: {error.strerror}") from None
        return
    terminal = sys.stdout.isatty()

    color = terminal and not os.environ.get("NO_COLOR")
    click.echo(render(rows, format_, color=color), nl=False)


def notice(text: str) -> None:
    click.echo(f"profile-neffs: {text}", err=True)
