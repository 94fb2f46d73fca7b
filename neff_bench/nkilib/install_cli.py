"""Declares the command `neff-bench install-benchmarks`."""

from __future__ import annotations

from pathlib import Path

import click

from neff_bench.errors import NeffBenchError, WrongCall
from neff_bench.terminal import streams
from neff_bench.terminal.command import command


@command("install-benchmarks")
@click.argument(
    "checkout", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="PATH_TO_NKI_LIBRARY"
)
@click.option("--remove", is_flag=True, help="Remove what an earlier call wrote, and nothing else.")
@click.option(
    "--from",
    "source",
    metavar="VERSION|PATH|WHEEL",
    help="What requirements.txt names: a release, a checkout of this project, or a wheel.  [default: the release of this version]",
)
@click.option("--vendor", is_flag=True, help="Copy the whole package too, for a network that reaches no index.")
@click.option("--link", is_flag=True, help="Link to this installation instead of requiring a release.")
@click.option("--allow-dirty", is_flag=True, help="Go on when the checkout has uncommitted changes.")
def install_benchmarks(
    checkout: Path, remove: bool, source: str | None, vendor: bool, link: bool, allow_dirty: bool
) -> None:
    """Write a benchmarks/ directory of twelve files into a checkout of nki-library: two steps, shapes, a gate.

    \b
    neff-bench install-benchmarks ~/nki-library
    cd ~/nki-library
    pip install -r benchmarks/requirements.txt
    python benchmarks/benchmark_step1_generate_neff.py
    python benchmarks/benchmark_step2_profile.py
    neff-bench install-benchmarks ~/nki-library --remove
    """
    from neff_bench.nkilib.install import install
    from neff_bench.nkilib.install import remove as remove_installed

    if vendor and (link or source):
        raise WrongCall("--vendor copies the package, so --link and --from do not go with it")
    try:
        if remove:
            streams.notice(f"removed {remove_installed(checkout)} files from {checkout / 'benchmarks'}")
        else:
            target = install(checkout, source=source, vendor=vendor, link=link, allow_dirty=allow_dirty)
            streams.notice(f"wrote {target}; its README.md says how to run it")
    except OSError as error:
        raise NeffBenchError(f"{error.filename or checkout}: {error.strerror}") from None
