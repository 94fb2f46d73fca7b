"""Declares `neff-bench tiling`, which sets latency against the hardware's tiles."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neff_bench.errors import WrongCall
from neff_bench.experiments.results import METRICS
from neff_bench.terminal import streams
from neff_bench.terminal.command import command
from neff_bench.terminal.options import PATH, OutputOptions, argument, option, takes
from neff_bench.terminal.output import write_text

if TYPE_CHECKING:
    from neff_bench.experiments.results import Results
    from neff_bench.experiments.tiling_analysis import Analysis
    from neff_bench.terminal.answer import Answer

HEADS = {
    "series": "series",
    "M": "M",
    "K": "K",
    "N": "N",
    "tiles_M": "tiles M",
    "tiles_K": "K",
    "tiles_N": "N",
    "total_tiles": "total",
    "time_us": "time us",
    "expected_us": "expected us",
    "time_per_tile_us": "us/tile",
    "ratio": "to one tile",
    "padding_percent": "padding %",
}
STEP_HEADS = {
    "line": "line",
    "low": "from",
    "high": "to",
    "rise_us": "rise us",
    "rise_percent": "%",
    "boundary": "boundary",
}
MAX_PLOTS = 12


@dataclass(frozen=True, kw_only=True)
class TilingOptions(OutputOptions):
    """Holds which results are read, and how they are shown."""

    results: Path = argument(required=True, type=PATH)
    metric: str | None = option(
        type=click.Choice(list(METRICS)), help="Column with the time.  [default: what there is]"
    )
    plot: Path | None = option(
        type=click.Path(path_type=Path, allow_dash=True), metavar="FILE", help="Chart: FILE.svg, or - for text."
    )


@command("tiling")
@takes(TilingOptions)
def tiling(options: TilingOptions) -> None:
    """Say what tiles cost, from the CSV of neff-bench latency or the CSV or JSON of profile-neffs.

    Tiles are what one matmul instruction takes: M 128 (stationary rows), K 128 (contraction), N 512 (moving columns). Steps
    are found from the data: rises beyond a line's trend and noise, at a tile boundary or not.

    \b
    Examples:
      neff-bench latency --preset tiling --output tiling.csv && neff-bench tiling tiling.csv
      neff-bench tiling tiling.csv --plot tiling.svg
      neff-bench latency --backend sim --preset boundary --output sim.csv && neff-bench tiling sim.csv --metric device_us
      profile-neffs neffs --format csv --output device.csv && neff-bench tiling device.csv --plot -
    """
    from neff_bench.experiments.output import emit
    from neff_bench.experiments.results import read_results
    from neff_bench.experiments.tiling_analysis import analyse

    plot, format = options.plot, options.format
    if plot is not None and str(plot) != "-" and plot.suffix.lower() != ".svg":
        raise WrongCall(f"--plot {plot}: expected a file name that ends in .svg, or - for text")
    found = read_results(options.results, options.metric)
    analysis = analyse(found.points)
    emit(_answer(found, analysis), format, options.output)
    _plot(found, analysis, plot)


def _answer(results: Results, analysis: Analysis) -> Answer:
    from neff_bench.experiments.output import answer, grid
    from neff_bench.experiments.tiling_analysis import tile_rows

    rows = tile_rows(results.points)
    steps: list[dict[str, Any]] = [
        {
            "line": step.line.name,
            "low": step.low,
            "high": step.high,
            "rise_us": step.rise_us,
            "rise_percent": 100 * step.rise_fraction,
            "boundary": step.boundary,
        }
        for step in analysis.steps
    ]
    document = {
        "source": results.source or None,
        "metric": results.metric,
        "rows": rows,
        "steps": steps,
        "boundary_crossings": analysis.crossings,
        "steps_at_boundaries": analysis.at_boundary,
        "lines_without_noise": analysis.unknown,
    }
    series = {row["series"] for row in rows}
    # A single series is named once below the table.
    heads = HEADS if len(series) > 1 else {key: head for key, head in HEADS.items() if key != "series"}
    # A step that lies on no boundary speaks against tiles as its cause, so that both are counted.
    elsewhere = len(steps) - analysis.at_boundary
    notes = [
        f"{analysis.crossings} tile boundaries lie between neighbours of {len(analysis.lines)} lines; "
        f"{analysis.at_boundary} of them show a step; {elsewhere} steps are elsewhere."
    ]
    if analysis.unknown:
        notes.append(
            f"{analysis.unknown} lines have too few points, and no spread of samples, to tell a step from noise."
        )
    named = sorted(filter(None, series))
    if len(named) == 1:
        notes.append(f"series: {named[0]}")
    if results.source:
        notes.append(f"source: {results.source}")
    if not steps:
        return answer(rows, [grid(rows, heads, notes)], document)
    return answer(rows, [grid(rows, heads), grid(steps, STEP_HEADS, notes)], document)


def _plot(results: Results, analysis: Analysis, plot: Path | None) -> None:
    from neff_bench.experiments import plot as draw

    if plot is None:
        return
    lines = sorted(analysis.lines, key=lambda line: -len(line.points))[:MAX_PLOTS]
    if not lines:
        streams.notice("nothing to plot: no three points differ in one dimension only")
    elif str(plot) == "-":
        streams.write("\n" + draw.text(lines))
    else:
        write_text(draw.svg(lines, f"{results.metric}; {results.source}; neff-bench tiling"), plot)
        streams.notice(f"written: {plot}")
    if len(analysis.lines) > MAX_PLOTS:
        streams.notice(f"{MAX_PLOTS} of {len(analysis.lines)} lines plotted, the longest")
