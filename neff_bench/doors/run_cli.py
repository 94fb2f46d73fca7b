"""Declares `neff-bench run`, which runs a script that launches kernels."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import click

from neff_bench.chips import NAMES
from neff_bench.chips.calibration_option import calibration_option
from neff_bench.errors import DONE, FAILED, NeffBenchError
from neff_bench.installation import IMPORT_ROOT
from neff_bench.neffs import DEFAULT_STORE, STORE_HELP
from neff_bench.sdk.installed import OPTION, judged_by
from neff_bench.terminal import streams
from neff_bench.terminal.command import command
from neff_bench.terminal.options import argument, flag, option, takes


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Holds what is asked of `neff-bench run`."""

    target: str | None = option(type=click.Choice(list(NAMES)), help="Chip.  [default: trn2]")
    lnc: int | None = option(
        type=click.IntRange(1, 2), help="Cores of a launch without a grid.  [default: 1, as on AWS]"
    )
    store: Path = option(
        default=Path(DEFAULT_STORE),
        type=click.Path(path_type=Path, file_okay=False),
        show_default=True,
        help=STORE_HELP,
    )
    sdk: str | None = option(metavar="RELEASE", help=OPTION)
    module: bool = flag("-m", help="Run a module, as python -m does.")
    script: str = argument(required=True, metavar="SCRIPT")
    arguments: tuple[str, ...] = argument(default=(), nargs=-1, type=click.UNPROCESSED)


@command("run", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@takes(RunOptions)
@calibration_option
def run(options: RunOptions) -> int:
    """Run a Python script that launches NKI kernels, as it stands, and say where their time goes.

    `import nki` and `import neuronxcc.nki` work in the script without the AWS SDK: a kernel takes numpy, torch (CPU), jax
    and ml_dtypes arrays and returns the same kind, nki.benchmark and the like answer with simulated times, and torch_xla
    is the CPU where it is not installed. Each distinct launch becomes a bundle; their table follows when the script
    has ended. The exit code is the script's, or 1 when only a row of it failed or is suspect. Programs that the script starts find the same, and `neuron-profile`; SCRIPT
    may be a shell script, too. With the AWS SDK the script runs on it, unchanged.

    \b
    neff-bench run my_test.py --size 1024
    neff-bench run --target trn3 -m pytest tests/
    neff-bench run ./evaluate_all.sh
    """
    from neff_bench.stage1_generate.toolchains.find import choose

    if not options.module and not Path(options.script).is_file():
        raise click.UsageError(f"{options.script}: no such file")
    release = judged_by(options.sdk)
    words = (*(("-m",) if options.module else ()), options.script, *options.arguments)
    on_sdk = choose("auto", None).has_nki
    with tempfile.TemporaryDirectory(prefix="neff-bench-run-") as scratch:
        launched, code = (_on_sdk if on_sdk else _embedded)(Path(scratch), options, words)
    failed = DONE
    if launched:
        failed = _table(options.store, launched, release)
    elif code == 0:
        streams.notice("the script launched no kernel")
    return 128 - code if code < 0 else code or failed


def _embedded(scratch: Path, options: RunOptions, words: tuple[str, ...]) -> tuple[list[str], int]:
    """Return the names of the bundles and the script's exit code, with the embedded NKI."""
    names = scratch / "names"
    names.touch()
    given = environment(scratch, options.store, names, options.target, options.lnc)
    code = subprocess.run(_command(words), env=given, check=False).returncode
    return names.read_text(encoding="utf-8").splitlines(), code


def _on_sdk(scratch: Path, options: RunOptions, words: tuple[str, ...]) -> tuple[list[str], int]:
    """Return the same with the AWS SDK: the script compiles into a cache of its own, and the NEFFs in it become bundles."""
    from neff_bench.neffs.store import Store
    from neff_bench.stage1_generate.jobs import framework

    added = framework.environment(os.environ, options.target, options.lnc, disable_dge=False)
    added.pop("NEURON_FRAMEWORK_DEBUG")  # it would fill the script's own directory with files
    environment = {**os.environ, **added, "NEURON_COMPILE_CACHE_URL": str(scratch)}
    code = subprocess.run(_command(words), env=environment, check=False).returncode
    stem = Path(words[1] if words[0] == "-m" else words[0]).stem
    opened = Store(options.store)
    opened.create()
    names = framework.publish_found(opened, stem, scratch, b"", streams.warning)
    return names, code


def _command(words: tuple[str, ...]) -> list[str]:
    """Return how a script is started: a program that is not Python's, such as a shell script that starts Pythons, by itself."""
    path = Path(words[0])
    if path.suffix != ".py" and path.is_file() and os.access(path, os.X_OK):
        return [str(path.resolve()), *words[1:]]
    return [sys.executable, *words]


def _table(store: Path, names: list[str], release: str) -> int:
    from neff_bench.stage2_profile.directory import profile_directory
    from neff_bench.stage2_profile.options import Options

    try:
        return profile_directory(Options(directory=store, only=tuple(names), sdk=release))
    except NeffBenchError as error:
        streams.error(str(error))
        return FAILED


TOOLS = ("neuron-profile", "neuron-explorer")
"""Commands of the AWS SDK that `neuron-sim` answers for."""
_STARTUP = """\
import importlib.machinery
import importlib.util
import os
import sys

from neff_bench.doors.startup import begin

begin({store!r}, {names!r}, {lnc})
here = os.path.dirname(__file__)
others = importlib.machinery.PathFinder.find_spec("sitecustomize", [path for path in sys.path if path != here])
if others is not None:
    others.loader.exec_module(importlib.util.module_from_spec(others))
"""
"""`sitecustomize.py`, which Python imports when it starts. It also runs the one that it hides."""


def environment(scratch: Path, store: Path, names: Path, target: str | None, lnc: int | None) -> dict[str, str]:
    """Return the environment of a script and of all processes that it starts; `scratch` gets the files that it names.

    `store`, `names` and `lnc`: see `startup.begin`. `target`: the chip, None for what the environment says.
    """
    startup, commands = scratch / "startup", scratch / "bin"
    startup.mkdir()
    commands.mkdir()
    (startup / "sitecustomize.py").write_text(
        _STARTUP.format(store=str(store.resolve()), names=str(names.resolve()), lnc=lnc), encoding="utf-8"
    )
    for tool in TOOLS:
        path = commands / tool
        path.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m neff_bench.simulator "$@"\n', encoding="utf-8")
        path.chmod(0o755)
    added = {
        "PYTHONPATH": [str(startup), str(IMPORT_ROOT), os.environ.get("PYTHONPATH")],
        "PATH": [str(commands), str(Path(sys.executable).parent), os.environ.get("PATH")],
    }
    made = {**os.environ, **{name: os.pathsep.join(filter(None, parts)) for name, parts in added.items()}}
    if target is not None:
        made["NEURON_PLATFORM_TARGET_OVERRIDE"] = target
    return made
