"""Declares `neff-bench view`, which writes the timeline of a trace."""

from __future__ import annotations

from pathlib import Path

import click

from neff_bench.errors import WrongCall
from neff_bench.terminal import streams
from neff_bench.terminal.command import command
from neff_bench.terminal.output import PAGE, is_page, write_bytes


@command("view")
@click.argument("files", metavar="[NEFF] FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--output",
    required=True,
    metavar="FILE",
    type=click.Path(path_type=Path),
    help=".json, .csv, .parquet, .pftrace or .html",
)
@click.option(
    "--sources",
    multiple=True,
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Where a page finds the source files that the profile names (repeatable).  [default: the bundle, the current directory, where the kernel of a bundle was compiled, our own kernels]",
)
def view(files: tuple[Path, ...], output: Path, sources: tuple[Path, ...]) -> int:
    """Write the timeline of an execution: its instructions, DMA packets and semaphores, with no AWS tool installed.

    FILE is an NTFF, a whole-profile JSON, neuron-explorer's Parquet directory, or a bundle. With its NEFF named too, the instructions of an NTFF get the
    names, source lines and call stacks that the NEFF's debug information holds. Times are nanoseconds since the start of the execution.

    \b
    neff-bench view file.neff profile_exec_2.ntff --output x.json      # in the shape of the profiler's JSON
    neff-bench view ntff.json --output x.csv                           # one table of all events
    neff-bench view profile_exec_2.ntff --output x.parquet
    neff-bench view my_neffs/CASE --output x.html                      # the newest run of a bundle
    neff-bench view ntff.json --output x.pftrace                       # open it in ui.perfetto.dev
    neff-bench view ntff.json --output x.html                          # a page: the timeline, source lines, roofline, advice

    Exit status: 0 done, 1 a file cannot be read or is of another program, 2 wrong call.
    """
    from neff_bench.doors.timelines import read_timelines
    from neff_bench.stage2_profile.report.files import ProfileFiles
    from neff_bench.stage2_profile.report.page import roots_of
    from neff_bench.viewer.page.cases import page_of
    from neff_bench.viewer.tables import LINKED, WRITERS, writer_for

    write = writer_for(output)
    if write is None and not is_page(output):
        raise WrongCall(f"--output {output}: unknown suffix, expected one of {', '.join((*WRITERS, PAGE))}")
    timelines = read_timelines(files, is_page(output) or output.suffix.lower() in LINKED)
    roots = sources or tuple(dict.fromkeys(root for file in files for root in roots_of(ProfileFiles(bundle=file))))
    write_bytes(write(timelines) if write else page_of(timelines, roots), output)
    for timeline in timelines:
        counts = f"{len(timeline.instructions)} instructions, {len(timeline.dma)} DMA packets, {len(timeline.semaphores)} semaphore updates"
        streams.notice(f"{timeline.path}: {counts}{', SIMULATED' if timeline.simulated else ''}")
        for note in timeline.notes:
            streams.notice(f"{timeline.path}: {note}")
        if timeline.unnamed_count:
            what = "could not be laid over the NEFF's, and have neither name nor line"
            streams.notice(
                f"{timeline.path}: {timeline.unnamed_count} of {len(timeline.instructions)} instructions {what}"
            )
    return 0
