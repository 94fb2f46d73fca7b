"""Says what is on this machine: packages, tools, devices, disk. Looks only; imports no package of the SDK, opens no device."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from neff_bench.parsers.neuron_host import driver_version, first_line, runtime_file
from neff_bench.sdk.installed import module_folder, version_of
from neff_bench.sdk.release import load
from neff_bench.sdk.release import names as sdk_names
from neff_bench.stage1_generate import sdk_parts
from neff_bench.stage1_generate.sdk_parts import Sdk

if TYPE_CHECKING:
    from neff_bench.parsers.neuron_ls import Topology

OTHERS = {
    "nki-library": ("nkilib_src", "nkilib"),
    "jax": ("jax", "numpy"),
    "numpy": ("numpy", "linalg"),
    "ml_dtypes": ("ml_dtypes", "_ml_dtypes_ext"),
}
"""Distribution -> package and a part of it, of those that are not the SDK's."""

AWS_INDEX = "https://pip.repos.neuron.amazonaws.com"
TOOLS = ("neuronx-cc", "neuron-explorer", "neuron-profile", "neuron-ls", "neuron-sim")
TOOL_FOLDER = Path("/opt/aws/neuron/bin")
_TOOL_TIMEOUT_S = 20


@dataclass(frozen=True)
class Package:
    """`state`: `ok`, `placeholder` or `absent`."""

    name: str
    state: str
    version: str | None


@dataclass(frozen=True)
class Tool:
    """`path` is None for a tool that is not installed, `version` None for one that does not say."""

    name: str
    path: str | None
    version: str | None


@dataclass(frozen=True)
class Holder:
    """A process that has a Neuron device open."""

    pid: int
    command: str
    devices: tuple[str, ...]


@dataclass(frozen=True)
class Devices:
    """Neuron devices of this host. `cores`: physical cores by `neuron-ls`, `logical_cores` of `lnc` each, None where it does not
    say; `busy`: numbers of devices that a process uses. `driver`: version of the kernel module, None when it is not loaded.
    `runtime`: file of libnrt, None when it is not installed. `holders`: processes that use them, as far as this user may see."""

    devices: tuple[str, ...]
    cores: int | None
    logical_cores: int | None
    lnc: int | None
    busy: tuple[int, ...]
    driver: str | None
    runtime: str | None
    instance: str | None
    holders: tuple[Holder, ...]


def packages(names: Sequence[str] | None = None) -> tuple[Package, ...]:
    """Return the state of the SDK's packages and of `OTHERS`. PyPI holds empty placeholders under the names of the SDK's; the contract
    says which part each lacks."""
    found = load(sdk_names()[-1]).packages.items()
    known = {name: (package.module, package.part) for name, package in found} | OTHERS
    return tuple(_package(name, *known[name]) for name in names or known)


def _package(name: str, module: str, part: str) -> Package:
    version = version_of(name)
    if module_folder(module, part) is not None:
        return Package(name, "ok", version)
    return Package(name, "absent" if version is None else "placeholder", version)


def sdk(packages: Sequence[Package], tools: Sequence[Tool], devices: Devices) -> Sdk:
    """Return the release of the SDK that is here, and what works with it."""
    versions = {package.name: package.version or "" for package in packages if package.state == "ok"}
    versions |= {tool.name: tool.version or "" for tool in tools if tool.path is not None}
    placeholders = {
        package.name: f"{package.name} {package.version} is the empty placeholder from PyPI"
        for package in packages
        if package.state == "placeholder"
    }
    others = {
        "nrtpy": version_of("nrtpy"),
        "driver": devices.driver,
        "runtime": devices.runtime and devices.runtime.rpartition(".so.")[2],
        "device": "" if devices.devices else None,
    }
    versions |= {name: version for name, version in others.items() if version is not None}
    absent = {**placeholders, "driver": "the driver is not loaded (aws-neuronx-dkms)", "device": "no Neuron device"}
    return sdk_parts.examine(_numbers(versions), absent, find_spec("pyarrow") is not None, devices.instance)


def _numbers(versions: Mapping[str, str]) -> dict[str, str]:
    """Return the version numbers in what packages and tools say, such as `neuron-profile 2.29.22.0%kaena-tools/2.29 built on ...`."""
    found = {name: re.search(r"\d+\.\d[\d.]*", text) for name, text in versions.items()}
    return {name: match[0] if match else "" for name, match in found.items()}


def tools(names: Sequence[str] = TOOLS) -> tuple[Tool, ...]:
    """Return where each tool is and what version it says it has."""
    return tuple(_tool(name) for name in names)


def find_tool(name: str) -> str | None:
    """Return the path of a tool on PATH, beside this Python, or where the AWS packages put it."""
    beside = os.pathsep.join((str(Path(sys.executable).parent), str(TOOL_FOLDER)))
    return shutil.which(name) or shutil.which(name, path=beside)


def _tool(name: str) -> Tool:
    path = find_tool(name)
    if path is None:
        return Tool(name, None, None)
    try:
        asked = subprocess.run(
            [path, "--version"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TOOL_TIMEOUT_S,
            encoding="utf-8",
        )
    except (OSError, subprocess.TimeoutExpired):
        return Tool(name, path, None)
    lines = [line.strip() for line in (asked.stdout + asked.stderr).splitlines() if line.strip()]
    return Tool(name, path, lines[0][:100] if asked.returncode == 0 and lines else None)


def devices(root: Path = Path("/")) -> Devices:
    """Return the devices below `root`/dev, driver and instance from `root`/sys, users from `root`/proc."""
    found = sorted(
        (path for path in (root / "dev").glob("neuron*") if path.name[6:].isdigit()),
        key=lambda path: int(path.name[6:]),
    )
    topology = _topology()
    return Devices(
        tuple(f"/dev/{path.name}" for path in found),
        len(topology.physical_cores) if topology else None,
        len(topology.logical_cores) if topology else None,
        topology.lnc if topology else None,
        tuple(device.number for device in topology.devices if device.processes) if topology else (),
        driver_version(root),
        runtime_file(root),
        first_line(root / "sys/devices/virtual/dmi/id/product_name"),
        tuple(_holders(root / "proc")),
    )


def _topology() -> Topology | None:
    """Return what `neuron-ls` says, None where it is absent or gives no answer."""
    from neff_bench.parsers.errors import ParseError
    from neff_bench.parsers.neuron_ls import ask
    from neff_bench.sdk.words import neuron_ls_forms

    path = find_tool("neuron-ls")
    if path is None:
        return None

    def answer(arguments: Sequence[str]) -> bytes | None:
        try:
            asked = subprocess.run([path, *arguments], capture_output=True, timeout=_TOOL_TIMEOUT_S)
        except (OSError, subprocess.TimeoutExpired):
            return None
        return asked.stdout if asked.returncode == 0 else None

    try:
        return ask(answer, neuron_ls_forms())
    except ParseError:
        return None


def _holders(proc: Path) -> list[Holder]:
    holders = []
    for process in sorted((path for path in proc.iterdir() if path.name.isdigit()), key=lambda path: int(path.name)):
        try:
            opened = {os.readlink(entry) for entry in (process / "fd").iterdir()}
        except OSError:
            continue  # gone, or somebody else's
        used = tuple(sorted(path for path in opened if path.startswith("/dev/neuron")))
        if used:
            holders.append(Holder(int(process.name), first_line(process / "comm") or "?", used))
    return holders


def free_bytes(directory: Path) -> int | None:
    """Free bytes on the disk that `directory` is on, or will be on; None when that cannot be told."""
    for place in (directory, *directory.absolute().parents):
        try:
            return shutil.disk_usage(place).free
        except FileNotFoundError:
            continue
        except OSError:
            return None
    return None
