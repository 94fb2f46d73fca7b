"""Implements `neuron-sim nkilib-tests`: nki-library's integration tests in their `simulation` mode, on this recorder and executor."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import click

from neff_bench.installation import IMPORT_ROOT
from neff_bench.simulator.errors import SimulatorError
from neff_bench.terminal.command import command
from neff_bench.terminal.options import argument, flag, option, takes

_PACKAGES = {
    "pytest": "pytest",
    "pytest_html": "pytest-html",
    "pytest_metadata": "pytest-metadata",
    "xdist": "pytest-xdist",
    "allpairspy": "allpairspy",
    "pandas": "pandas",
    "boto3": "boto3",
    "fabric2": "fabric2",
    "filelock": "filelock",
    "plotext": "plotext<6",
    "aws_embedded_metrics": "aws-embedded-metrics",
    "scipy": "scipy",
    "torch": "torch",
}
"""What their test tree imports: module and package, from their pyproject.toml and, undeclared, scipy. plotext 6 lacks `clf`, which they call."""

_PLUGINS = ["-p", "neff_bench.simulator.nki.nkilib_plugin", "-p", "no:cacheprovider"]
_PYTEST = [sys.executable, "-m", "pytest", *_PLUGINS, "--test-mode", "simulation"]
_DEFAULT_TESTS = "test/integration/nkilib/core"
_EXITS = {0: 0, 1: 1, 2: 1, 3: 1, 4: 2, 5: 1}
"""pytest's exit status to ours: 4 is a wrong call; interrupted, internal error and nothing collected are failures."""


@dataclass(frozen=True, kw_only=True)
class NkilibTestsOptions:
    """Holds what is asked of `neuron-sim nkilib-tests`."""

    path: Path = argument(required=True, type=click.Path(file_okay=False, path_type=Path))
    pytest_args: tuple[str, ...] = argument(default=(), nargs=-1, type=click.UNPROCESSED)
    run_all: bool = flag("--run-all", help="Run the large shapes too, which nki-library skips in simulation.")
    seed: int = option(default=0, show_default=True, help="Seed of the shapes that their sweeps draw at random.")
    table: bool = flag("--table", help="Print a table with a line for each file, and why tests did not pass.")
    every: bool = flag("--all", help="With --table: every test of each file.")
    sample: int = option(
        default=20,
        show_default=True,
        type=click.IntRange(min=1),
        help="With --table: tests of each file, drawn from those that nki-library runs in simulation.",
    )
    timeout_s: float = option(
        "--file-timeout",
        default=600.0,
        show_default=True,
        metavar="S",
        help="With --table: seconds that a file may take.",
    )


@command("nkilib-tests", context_settings={"ignore_unknown_options": True})
@takes(NkilibTestsOptions)
def nkilib_tests(options: NkilibTestsOptions) -> None:
    """Run the tests of the nki-library checkout at PATH in simulation. Other arguments go to pytest.

    Paths of tests are relative to PATH; without one, all of test/integration/nkilib/core runs. What the tests leave
    behind goes to a temporary directory unless --output-directory names another.

    \b
    Examples:
      neuron-sim nkilib-tests ../nki-library test/integration/nkilib/core/cumsum
      neuron-sim nkilib-tests ../nki-library test/integration/nkilib/core/mlp -k cte -n 2
      neuron-sim nkilib-tests ../nki-library --run-all -x
      neuron-sim nkilib-tests ../nki-library --table
    """
    path = options.path.resolve()
    _check(path)
    made = environment(path, options.run_all, options.seed)
    if options.table:
        _print_table(path, options.pytest_args, made, 0 if options.every else options.sample, options.timeout_s)
        return
    with tempfile.TemporaryDirectory(prefix="nkilib-tests-") as scratch:
        status = subprocess.run(
            pytest_command(options.pytest_args, scratch), cwd=path, env=made, check=False
        ).returncode
    raise SystemExit(_EXITS.get(status, 1))


def _print_table(path: Path, arguments: tuple[str, ...], made: dict[str, str], sample: int, timeout_s: float) -> None:
    """Print a line of the table as soon as its file has run."""
    from neff_bench.simulator.commands.nkilib_table import files_of, lines_of, markdown

    places = _places(arguments)
    options = [argument for at, argument in enumerate(arguments) if at not in places]
    command = [*_PYTEST, "-p", "neff_bench.simulator.nki.nkilib_outcomes", "-q", *options]
    files = files_of(path, [arguments[at] for at in places])
    for line in markdown(lines_of(path, files, made, command, sample, timeout_s)):
        print(line, flush=True)


def _places(arguments: Sequence[str]) -> list[int]:
    """Return where the arguments name files or folders of tests. The word behind -k or -m is an expression."""
    pairs = enumerate(zip(("", *arguments), arguments, strict=False))
    return [at for at, (before, word) in pairs if word.startswith("test") and before not in ("-k", "-m")]


def pytest_command(pytest_args: tuple[str, ...], scratch: str) -> list[str]:
    """Return the pytest process: our plugin, their simulation mode, and the user's arguments.

    Their tests dump every tensor, tens of gigabytes in all; in our temporary directory each is removed at its end.
    """
    arguments = list(pytest_args)
    if not _places(arguments):
        arguments.append(_DEFAULT_TESTS)
    if not any(argument.startswith("--output-directory") for argument in arguments):
        arguments += ["--output-directory", scratch, "--force-local-cleanup"]
    return [*_PYTEST, *arguments]


def environment(path: Path, run_all: bool, seed: int) -> dict[str, str]:
    """Return their packages and ours importable, no byte code in their tree, one thread for each BLAS call, quiet kernels.

    The seed makes a run repeatable: the names and the number of their random tests follow from it.
    """
    source = path / "src"
    # Their tests import `nkilib_src.nkilib`; those of what an installed library offers import `nkilib`.
    paths = [IMPORT_ROOT, source, source / "nkilib_src", path, *filter(None, [os.environ.get("PYTHONPATH")])]
    made = dict(os.environ, PYTHONPATH=os.pathsep.join(map(str, paths)), PYTHONDONTWRITEBYTECODE="1")
    made["NKILIB_TESTS_SEED"] = str(seed)
    made.setdefault("OPENBLAS_NUM_THREADS", "1")
    made.setdefault("NKILIB_LOG_LEVEL", "ERROR")
    if run_all:
        made["NKILIB_SIMULATION_RUN_ALL"] = "1"
    return made


def _check(path: Path) -> None:
    """Raise SimulatorError unless `path` is a checkout with tests and this Python has what they import."""
    for part in ("src/nkilib_src", "test/conftest.py"):
        if not (path / part).exists():
            raise SimulatorError(f"no nki-library checkout: {part} is missing", str(path))
    missing = [package for module, package in _PACKAGES.items() if find_spec(module) is None]
    if missing:
        raise SimulatorError(
            f"nki-library's tests need packages that are not installed: pip install {shlex.join(missing)}"
        )


if __name__ == "__main__":
    nkilib_tests()
