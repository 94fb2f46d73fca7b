"""Declares what writes files of ours to run and to edit: `neff-bench tutorial`, those of the quickstart, and `neff-bench probes`, microkernels that show
one constant of the machine each, with the script that runs them."""

from __future__ import annotations

from pathlib import Path

import click

from neff_bench.errors import NeffBenchError
from neff_bench.installation import PACKAGE
from neff_bench.terminal import streams
from neff_bench.terminal.command import command

FILES = PACKAGE / "doors" / "tutorial"
PROBES = PACKAGE / "doors" / "probes"


@command("tutorial")
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path))
def tutorial(directory: Path) -> None:
    """Write a kernel, its reference and its shapes file into DIRECTORY: the files of the quickstart.

    A file that is there already stays as it is, and the command fails.

    \b
    neff-bench tutorial t
    generate-neffs --shapes t/shapes.yaml --out t.neffs
    profile-neffs t.neffs
    """
    copied(FILES, directory)
    streams.notice(f"next: generate-neffs --shapes {directory}/shapes.yaml --out {directory}.neffs")


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
    copied(PROBES, out)
    streams.notice(f"next, on a host with devices: sh {out}/run.sh")


def copied(folder: Path, directory: Path) -> None:
    """Write the files of a folder of ours into a directory. Raises NeffBenchError where one of them is there already."""
    files = sorted(path for path in folder.iterdir() if path.is_file())
    there = [path.name for path in files if (directory / path.name).exists()]
    if there:
        raise NeffBenchError(f"{directory} has {', '.join(there)} already; name a new directory")
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for path in files:
            (directory / path.name).write_bytes(path.read_bytes())
    except OSError as error:
        raise NeffBenchError(f"{error.filename or directory}: {error.strerror}") from None
    streams.notice(f"wrote {', '.join(path.name for path in files)} into {directory}")
