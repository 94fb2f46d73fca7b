"""Declares `neff-bench probes`: microkernels that show one constant of the machine each, and the script that runs them."""

from __future__ import annotations

from pathlib import Path

import click

from neff_bench.doors.tutorial_cli import copied
from neff_bench.installation import PACKAGE
from neff_bench.terminal import streams
from neff_bench.terminal.command import command

FILES = PACKAGE / "doors" / "probes"


@command("probes")
@click.option("--out", required=True, metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
def probes(out: Path) -> None:
    """Write the probes into DIR: kernels, their shapes with what each of them shows, and the script that runs them.

    On a Trainium host with the AWS SDK the script takes less than an hour and writes one file, from which `neuron-sim calibrate` fits
    constants of the timing model. A file that is there already stays as it is, and the command fails.

    \b
    neff-bench probes --out probes
    sh probes/run.sh
    neuron-sim calibrate probes/probes.tar.gz --output my.calibration.json
    """
    copied(FILES, out)
    streams.notice(f"next, on a host with devices: sh {out}/run.sh")
