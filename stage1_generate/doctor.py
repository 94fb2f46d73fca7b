"""Implements `neff-bench doctor`: what this host can do, and what it lacks for the rest."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from neff_bench.neffs import DEFAULT_STORE
from neff_bench.sdk.identify import newest_published
from neff_bench.sdk.installed import judged_by
from neff_bench.system.compiled import slow
from neff_bench.terminal.answer import Answer, Column, Grid
from neff_bench.terminal.command import command
from neff_bench.terminal.options import PATH, OutputOptions, flag, option, takes
from neff_bench.terminal.output import write_answer

if TYPE_CHECKING:
    from neff_bench.sdk.release import Release
    from neff_bench.stage1_generate.host import Devices, Package, Tool
    from neff_bench.stage1_generate.sdk_parts import Sdk

LOW_DISK_BYTES = 2 << 30
EPILOG = """\b
Examples:
  neff-bench doctor
  neff-bench doctor --nkilib ../nki-library --format json

\b
Exit code: 0 kernels can be built and profiled here, 1 they cannot, 2 wrong call.
"""


@dataclass(frozen=True)
class Ability:
    """Says whether an implementation of a kernel can be built. `why_not` is None when it can."""

    kernel: str
    implementation: str
    why_not: str | None


@dataclass(frozen=True)
class Report:
    """Everything that the command found. `judged_by`: the release of the SDK whose rules hold for kernels here."""

    python: str
    toolchain: Literal["sim", "neuron"]
    profile: str | None
    core: str
    packages: tuple[Package, ...]
    tools: tuple[Tool, ...]
    devices: Devices
    nkilib: str | None
    out: str
    free_bytes: int | None
    implementations: tuple[Ability, ...]
    sdk: Sdk
    judged_by: str
    problems: tuple[str, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class DoctorOptions(OutputOptions):
    """Holds what the host is to be fit for."""

    toolchain: Literal["auto", "neuron", "sim"] = option(
        default="auto",
        type=click.Choice(["auto", "neuron", "sim"]),
        show_default=True,
        help="Which toolchain to ask about, as for generate.",
    )
    install_help: bool = flag(help="Print how the newest release of the AWS Neuron SDK is installed, and end.")
    nkilib: Path | None = option(type=PATH, help="Checkout of nki-library (else $NKILIB_PATH).")
    out: Path = option(
        default=Path(DEFAULT_STORE), type=PATH, show_default=True, help="The store that generate-neffs would write."
    )


@command("doctor", epilog=EPILOG)
@takes(DoctorOptions)
def doctor(options: DoctorOptions) -> int:
    """Say what this host can build and profile, and why not the rest. Opens no device."""
    if options.install_help:
        click.echo(install_commands(newest_published()))
        return 0
    format = options.format
    report = examine(options.toolchain, options.nkilib, options.out)
    write_answer(answer(report), format, options.output)
    return 1 if report.problems else 0


def install_commands(release: Release) -> str:
    """Return how the parts of a release are installed that are on no public index; what the public index has under their names is empty.
    Each wheel has its version, so that pip takes no other for newer (AWS Neuron docs, setup/; read 2026-11-23)."""
    from neff_bench.stage1_generate.host import AWS_INDEX

    def pip(**wheels: str | None) -> str:
        pinned = [
            f"'{name.replace('_', '-')}=={'.'.join(version.split('.')[:2])}.*'"
            for name, version in wheels.items()
            if version
        ]
        return f"pip install {' '.join(pinned)} --extra-index-url={AWS_INDEX}"

    here = release.versions
    return "\n".join([
        f"# AWS Neuron SDK {release.name} ({release.date})",
        "# Compilers, on any Linux host; in this environment:",
        pip(neuronx_cc=here.neuronx_cc, nki=here.nki),
        "# Closed kernels, and XLA graphs through torch:",
        pip(torch_neuronx=here.torch_neuronx),
        "# Times without a trace; in an environment of its own, whose Python NEFF_BENCH_NRTPY_PYTHON names:",
        pip(nrtpy=here.nrtpy),
        "# Driver, runtime and profiler, on a host with the device, from AWS's package repository:",
        "sudo apt-get install aws-neuronx-dkms aws-neuronx-collectives aws-neuronx-runtime-lib aws-neuronx-tools",
    ])  # fmt: skip


def examine(wanted: Literal["auto", "neuron", "sim"], nkilib: Path | None, out: Path) -> Report:
    """Look at everything. Raises `ToolchainError` as `toolchain.choose` does."""
    from neff_bench.stage1_generate import host, kernels
    from neff_bench.stage1_generate.toolchains.find import choose

    chosen = choose(wanted, nkilib)
    abilities = tuple(
        Ability(kernel.name, name, chosen.lacks(implementation.needs, implementation.route))
        for kernel in map(kernels.load, kernels.names())
        for name, implementation in kernel.implementations.items()
    )
    tools, devices, free = host.tools(), host.devices(), host.free_bytes(out)
    profile = _profile(tools, devices)
    packages = host.packages()
    sdk = host.sdk(packages, tools, devices)
    return Report(
        python=".".join(map(str, sys.version_info[:3])),
        toolchain=chosen.name,
        profile=profile,
        core=f"plain ({why})" if (why := slow()) else "compiled (the simulator at full speed)",
        packages=packages,
        tools=tools,
        devices=devices,
        nkilib=str(chosen.nkilib) if chosen.nkilib else None,
        out=str(out),
        free_bytes=free,
        implementations=abilities,
        problems=_problems(abilities, profile, free, out),
        sdk=sdk,
        judged_by=judged_by(None),
        warnings=(*_warnings(packages, devices, tools, chosen.name), *sdk.warnings),
    )


def _sdk(sdk: Sdk, release: str) -> list[tuple[str, str]]:
    here = {part.component for part in sdk.parts} & {"nki", "neuronx-cc"}
    why = "that of the compiler here" if here else "the newest, as no compiler of AWS is installed"
    rules = ("rules", f"check uses those of SDK {release}, {why}; check --sdk RELEASE takes another")
    if sdk.release is None:
        return [("release", "none: no part of the AWS Neuron SDK is installed"), rules]
    parts = ", ".join(f"{part.name} {part.version}" for part in sdk.parts)
    rows = [
        ("release", f"{sdk.release} ({parts})"),
        ("known from", f"AWS's pages and code, read {sdk.read}; none of it was tried on a device"),
        ("NKI", sdk.nki or "absent"),
        rules,
    ]
    return rows + [
        (ability.what, f"no: {ability.why_not}" if ability.why_not else f"yes: {ability.how}")
        for ability in sdk.abilities
    ]


def _cores(devices: Devices) -> str:
    if devices.cores is None:
        return "unknown"
    said = f"{devices.cores} physical, {devices.logical_cores} logical (LNC {devices.lnc})"
    return f"{said}; busy: device {', '.join(map(str, devices.busy))}" if devices.busy else said


def _profile(tools: tuple[Tool, ...], devices: Devices) -> str | None:
    present = {tool.name for tool in tools if tool.path is not None}
    if devices.devices and devices.driver and present & {"neuron-explorer", "neuron-profile"}:
        return "device"
    return "simulated" if find_spec("neff_bench.simulator") is not None else None


def _problems(abilities: tuple[Ability, ...], profile: str | None, free: int | None, out: Path) -> tuple[str, ...]:
    problems = []
    if all(ability.why_not for ability in abilities):
        problems.append("no implementation of any kernel can be built")
    if profile is None:
        problems.append("nothing can be profiled")
    if free is not None and free < LOW_DISK_BYTES // 16:
        problems.append(f"only {free >> 20} MiB free for {out}")
    return tuple(problems)


def _warnings(
    packages: tuple[Package, ...], devices: Devices, tools: tuple[Tool, ...], toolchain: str
) -> tuple[str, ...]:
    from neff_bench.stage1_generate.host import AWS_INDEX

    warnings = [
        f"{package.name} {package.version} is the empty placeholder from PyPI; the real one comes from {AWS_INDEX}"
        for package in packages
        if package.state == "placeholder"
    ]
    present = {tool.name for tool in tools if tool.path is not None}
    if devices.devices and devices.driver is None:
        warnings.append("there are Neuron devices, but the driver is not loaded (aws-neuronx-dkms)")
    if devices.devices and devices.runtime is None:
        warnings.append("there are Neuron devices, but no runtime: libnrt.so.1 is absent (aws-neuronx-runtime-lib)")
    if devices.devices and not present & {"neuron-explorer", "neuron-profile"}:
        warnings.append("there are Neuron devices, but no profiler (aws-neuronx-tools); profiles will be simulated")
    for holder in devices.holders:
        warnings.append(f"process {holder.pid} ({holder.command}) uses {', '.join(holder.devices)}")
    if devices.devices and toolchain == "sim":
        warnings.append("there are Neuron devices, but no compiler of the SDK in this environment; is it activated?")
    return tuple(warnings)


def answer(report: Report) -> Answer:
    """Return one table for each part; one record for each line of them."""
    used = sorted({device for holder in report.devices.holders for device in holder.devices})
    free = "unknown" if report.free_bytes is None else f"{report.free_bytes / 2**30:.1f} GiB"
    profile = {"device": "on the device", "simulated": "simulated (neuron-sim)", None: "no"}[report.profile]
    toolchain = {"sim": "embedded, simulated", "neuron": "AWS Neuron SDK"}[report.toolchain]
    sections = {
        "What runs here": [("build kernels", toolchain), ("profile them", profile), ("core", report.core)],
        "Host": [
            ("python", report.python),
            ("instance", report.devices.instance or "unknown"),
            (
                "devices",
                f"{len(report.devices.devices)}, {len(used)} of them in use" if report.devices.devices else "none",
            ),
            ("NeuronCores", _cores(report.devices)),
            ("driver", report.devices.driver or "not loaded (aws-neuronx-dkms)"),
            ("runtime", report.devices.runtime or "absent: no libnrt (aws-neuronx-runtime-lib)"),
            ("free disk", f"{free} for the store {report.out}"),
            ("nki-library", report.nkilib or "not found (--nkilib, NKILIB_PATH)"),
        ],
        "SDK": _sdk(report.sdk, report.judged_by),
        "Packages": [
            (p.name, f"{p.version or ''} {'' if p.state == 'ok' else p.state}".strip()) for p in report.packages
        ],
        "Tools": [(t.name, f"{t.path}  {t.version or ''}".rstrip() if t.path else "absent") for t in report.tools],
        "Implementations": [
            (f"{ability.kernel} {ability.implementation}", ability.why_not or "can be built")
            for ability in report.implementations
        ],
    }
    said = [f"warning: {warning}" for warning in report.warnings]
    said += [f"problem: {problem}" for problem in report.problems]
    said.append(
        "Kernels cannot be built and profiled here." if report.problems else "Kernels can be built and profiled here."
    )
    columns = (Column(""), Column("", wraps=True))
    grids = [Grid(columns, rows, title=title, keeps_empty=True) for title, rows in sections.items()]
    records = [
        {"part": title, "name": name, "value": value} for title, rows in sections.items() for name, value in rows
    ]
    return Answer(records, ("part", "name", "value"), [*grids, Grid((), (), said)], asdict(report))
