"""Finds the profiler programs: which one is on this host, and which version.

Order: `neuron-explorer`, then `neuron-profile` (deprecated since SDK 2.30), each on PATH and then in /opt/aws/neuron/bin; for simulated NEFFs `neuron-sim`.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from neff_bench.sdk.identify import identify, newest_published
from neff_bench.sdk.release import Command, Release, load, names
from neff_bench.stage2_profile.capture import nrtpy
from neff_bench.stage2_profile.capture.environment import tool_environment
from neff_bench.stage2_profile.capture.process import Limits, run
from neff_bench.stage2_profile.errors import ToolMissing
from neff_bench.stage2_profile.options import Options
from neff_bench.system.warm import WarmParent

Kind = Literal["neuron", "sim"]
NEURON_TOOLS = ("neuron-explorer", "neuron-profile")
NEURON_BIN = Path("/opt/aws/neuron/bin")
VERSION_TIMEOUT_S = 60


@dataclass(frozen=True)
class Tool:
    """A profiler program. `argv`: how it is started; `name`: how it is called in records and messages."""

    name: str
    argv: tuple[str, ...]
    version: str
    kind: Kind

    @property
    def release(self) -> Release:
        """The contract of the SDK that the tool is of, or of the nearest that knows it. `neuron-sim` takes what the newest
        published explorer takes."""
        if self.kind == "sim":
            return newest_published()
        release = identify("tools", self.version).release
        known = [name for name in names() if self.name in load(name).tools]
        return release if self.name in release.tools or not known else load(known[-1])

    def command(self, name: str) -> Command:
        """Return what the contract says about a subcommand."""
        return self.release.tools["neuron-explorer" if self.kind == "sim" else self.name].commands[name]

    def __str__(self) -> str:
        return f"{self.name} {self.version}" + (" (simulated)" if self.kind == "sim" else "")


def choose_tools(kinds: Iterable[str], options: Options, find: Callable[[Kind], Tool | str]) -> dict[Kind, Tool | str]:
    """Return the tool for each kind of NEFF, or why these NEFFs cannot be profiled. `find`: gives a tool that is needed."""
    tools: dict[Kind, Tool | str] = {
        "neuron": "the NEFF was built by the Neuron SDK, which neuron-sim cannot run; use --toolchain neuron or auto",
        "sim": "the NEFF was built by the simulator, which no Neuron device runs; use --toolchain sim or auto",
    }
    if options.nrtpy:
        tools["sim"] = "the NEFF was built by the simulator, which nrtpy cannot run; leave out --tool nrtpy"
    for kind in tools:
        is_needed = kind in {*kinds, options.toolchain} and options.toolchain in ("auto", kind)
        if is_needed and not (kind == "sim" and options.nrtpy):
            tools[kind] = find(kind)
    return tools


def find_tool(kind: Kind, options: Options, warm: WarmParent | None = None) -> Tool:
    """Return the tool of this host for a kind of NEFF. `warm`: see `find_simulator`. Raises `ToolMissing`."""
    if kind == "sim":
        return find_simulator(options.environ, warm)
    return find_nrtpy(options.environ) if options.nrtpy else find_neuron_tool(options.environ)


def find_neuron_tool(environ: Mapping[str, str], neuron_bin: Path = NEURON_BIN) -> Tool:
    """Return the first AWS profiler on this host. Raises `ToolMissing`."""
    for name in NEURON_TOOLS:
        for where in (environ.get("PATH", ""), str(neuron_bin)):
            path = shutil.which(name, path=where) if where else None
            if path:
                return Tool(name, (path,), read_version((path,), environ), "neuron")
    raise ToolMissing(
        f"no Neuron profiler: neither neuron-explorer nor neuron-profile on PATH or in {neuron_bin}; "
        "install aws-neuronx-tools (`--toolchain sim` profiles simulated NEFFs without it)"
    )


def find_simulator(environ: Mapping[str, str], warm: WarmParent | None = None) -> Tool:
    """Return `neuron-sim` of this installation, started by the Python that runs us. `warm`: the parent that tells its version, where it will be
    needed anyway. Raises `ToolMissing`."""
    argv = (sys.executable, "-m", "neff_bench.simulator")
    environment = tool_environment(environ, Path.cwd())
    if warm is None:
        return Tool("neuron-sim", argv, read_version(argv, environment), "sim")
    done = run([*argv, "--version"], Path.cwd(), environment, Limits(VERSION_TIMEOUT_S), warm=warm)
    return Tool("neuron-sim", argv, parse_version(done.log), "sim")


def find_nrtpy(environ: Mapping[str, str]) -> Tool:
    """Return nrtpy in the Python that NEFF_BENCH_NRTPY_PYTHON names, else in ours. Raises `ToolMissing`."""
    argv = (environ.get(nrtpy.PYTHON_VARIABLE) or sys.executable, str(nrtpy.PROGRAM))
    try:
        done = _asked(argv, nrtpy.environment(tool_environment(environ, Path.cwd())))
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolMissing(f"{argv[0]} cannot be asked for nrtpy: {error}") from None
    if done.returncode != 0:
        said = (done.stderr.strip().splitlines() or ["it printed nothing"])[-1]
        raise ToolMissing(
            f"{said}; it comes with SDK 2.32, needs an environment without nki, and {nrtpy.PYTHON_VARIABLE} names its Python"
        )
    return Tool(nrtpy.NAME, argv, parse_version(done.stdout), "neuron")


def _asked(argv: tuple[str, ...], environ: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*argv, "--version"],
        env=dict(environ),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=VERSION_TIMEOUT_S,
        encoding="utf-8",
        errors="replace",
    )


def read_version(argv: tuple[str, ...], environ: Mapping[str, str]) -> str:
    """Return the version that `TOOL --version` prints, "unknown" where it prints none. Raises `ToolMissing` if it cannot start."""
    try:
        done = _asked(argv, environ)
    except subprocess.TimeoutExpired as error:
        raise ToolMissing(f"{' '.join(argv)} --version gave no answer in {VERSION_TIMEOUT_S} s") from error
    except OSError as error:
        raise ToolMissing(f"{argv[0]} cannot be started: {error.strerror}") from error
    text = f"{done.stdout}\n{done.stderr}"
    if done.returncode != 0 and "No module named" in text:
        raise ToolMissing(f"{' '.join(argv)} cannot be started: {text.strip().splitlines()[-1]}")
    return parse_version(text)


def parse_version(text: str) -> str:
    """Return the version in what a tool printed: `neuron-profile 2.29.22.0%kaena-tools/2.29@b486b0a built on ...`."""
    match = re.search(r"\b(\d+\.\d+[^\s,]*)", text)
    return match.group(1)[:100] if match else "unknown"
