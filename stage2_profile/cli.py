"""`profile-neffs`: the command line of stage 2."""

from __future__ import annotations

from pathlib import Path

import click

from neff_bench.chips.calibration_option import calibration_option
from neff_bench.neffs import DEFAULT_STORE
from neff_bench.system.shard import SHARD
from neff_bench.system.signals import stoppable
from neff_bench.terminal.cluster import cluster_options
from neff_bench.terminal.command import command
from neff_bench.terminal.formats import chosen
from neff_bench.terminal.output import output_options
from neff_bench.viewer.suffix import is_page


@command("profile-neffs")
@click.argument("directory", metavar="[DIR]", type=click.Path(path_type=Path), default=DEFAULT_STORE)
@click.option(
    "--toolchain",
    type=click.Choice(["auto", "neuron", "sim"]),
    default="auto",
    show_default=True,
    help="neuron: neuron-explorer, else neuron-profile. sim: neuron-sim. auto: for each NEFF the one that can run it.",
)
@click.option(
    "--tool",
    type=click.Choice(["profiler", "nrtpy"]),
    default="profiler",
    show_default=True,
    help="For measured NEFFs. nrtpy (SDK 2.32): times and outputs without a trace; NEFF_BENCH_NRTPY_PYTHON names its Python.",
)
@click.option(
    "--num-exec",
    type=click.IntRange(1, 100_000),
    help="Executions in each capture, warm-up included.  [default: 2 and the warm-up; 25 with --tool nrtpy]",
)
@click.option(
    "--warmup",
    type=click.IntRange(0, 100_000),
    metavar="N",
    help="Executions before the first that counts.  [default: 0; 5 with --tool nrtpy]",
)
@click.option(
    "--profile-nth-exec",
    type=click.IntRange(1, 100_000),
    help="Profile every Nth of them. Several profiled ones give a median and an IQR.  [default: 2, which leaves out the "
    "first and cold one]",
)
@click.option(
    "--captures",
    type=click.IntRange(1, 1000),
    metavar="N",
    help="Captures of each measured case; their medians give a confidence interval from 6 on.  [default: 1, 30 with --until]",
)
@click.option("--until", metavar="PCT%", help="Capture until half that interval is narrower, at most --captures times.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0.1),
    default=600.0,
    show_default=True,
    metavar="S",
    help="Seconds that one call of the profiler may take.",
)
@calibration_option
@click.option("--capture-only", is_flag=True, help="The device step alone; --view-only does the rest on any host.")
@click.option("--view-only", is_flag=True, help="View what was captured; needs the tool but no device.")
@click.option("--parse-only", is_flag=True, help="Read the profiles that are there; needs no tool and no device.")
@click.option(
    "--inputs",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Raw input files, inp-<tensor>-000.bin, for NEFFs that come without a bundle.  [default: drawn with a fixed seed]",
)
@click.option(
    "--cores",
    metavar="LIST",
    help="Physical cores to capture on in parallel, such as 0-7; each is locked for all users of the host, and none is used while "
    "another process uses its device.  [default: those of NEURON_RT_VISIBLE_CORES, else one at a time that is free; none for "
    "neuron-sim]",
)
@click.option(
    "--force-cores", is_flag=True, help="Take the cores of --cores though NEURON_RT_VISIBLE_CORES does not grant them."
)
@click.option(
    "--share-hbm",
    is_flag=True,
    help="Capture on both cores of a bank of HBM at once; they slow each other down.  [default: one capture a bank]",
)
@click.option(
    "--lock-timeout",
    type=click.FloatRange(min=0.1),
    default=3600.0,
    show_default=True,
    metavar="S",
    help="Seconds to wait for cores, or for a bundle, that other processes hold.",
)
@click.option("--enable-dge-notifs", is_flag=True, help="Trace dynamic DMAs; may overflow the notification queue.")
@click.option("--force", is_flag=True, help="Profile again what has a good profile.")
@click.option("--only", multiple=True, metavar="GLOB", help="Only the cases whose name matches (repeatable).")
@click.option("--skip", multiple=True, metavar="GLOB", help="Not the cases whose name matches (repeatable).")
@click.option("--shard", type=SHARD, help="Only part I of N of the cases; `neff-bench merge` puts stores together.")
@cluster_options
@click.option("--jobs", type=click.IntRange(1, 256), help="Bundles at a time.  [default: number of CPUs]")
@click.option(
    "--cold", is_flag=True, help="Start each call of neuron-sim as a program of its own; slower, and the same rows."
)
@click.option("--show-commands", is_flag=True, help="Print, for each row, the shell lines that repeat its profile.")
@click.option(
    "--hot",
    type=click.IntRange(1, 10_000),
    metavar="N",
    help="Answer with the N slowest source lines and instructions of each engine.",
)
@click.option(
    "--search",
    metavar="TEXT",
    help="Only those that hold TEXT, or match /REGEX/; /./: those of a source line (implies --hot 10).",
)
@output_options
def profile(directory: Path, format_: str | None, output: Path | None, **options) -> int:
    """Profile the NEFFs in DIR and print where the time goes.

    DIR is what generate-neffs wrote (or one bundle in it); by default where it
    writes by default. Captures that are good are kept: a second call only does what
    is missing. Exit code 0: all profiled and checked; 1: something failed; 2: wrong call.

    DIR may also hold NEFFs, traces and profile JSONs from elsewhere; they are read as they are. A NEFF
    that has no profile is captured, with inputs made from what it says of its tensors.

    \b
    profile-neffs /tmp/mlp_benchmark_neffs
    profile-neffs neffs --cores 0-7 --num-exec 20
    profile-neffs neffs --tool nrtpy --warmup 20 --num-exec 120   # times alone
    profile-neffs neffs --ray auto          # on the cores of all hosts of a Ray cluster
    profile-neffs neffs --capture-only      # on the Trainium host
    profile-neffs neffs --view-only         # anywhere with the tool
    profile-neffs neffs --only 'mlp_*' --num-exec 20 --format csv --output mlp.csv
    profile-neffs neffs --parse-only --format md
    profile-neffs neffs --hot 5 --search kernel.py:33
    profile-neffs neffs --output report.html   # a page: the rows, and the timeline of each
    """
    with stoppable() as stop:
        from neff_bench.stage2_profile.command import profile_directory
        from neff_bench.stage2_profile.options import Options

        page = output if format_ is None and is_page(output) else None
        format_ = "table" if page else chosen(format_, output)
        asked = Options(format=format_, output=output, page=page, **options)
        return stop.exit_code(profile_directory(directory, asked, stop))


def main() -> None:
    """Entry point of the console script."""
    profile()


if __name__ == "__main__":
    main()
