"""`neff-bench tiling`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from neff_bench.experiments.results import Results
    from neff_bench.experiments.tiling_analysis import Analysis

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


@click.command(name="tiling", context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.argument("results", type=click.Path(path_type=Path))
@click.option(
    "--metric",
    type=click.Choice(["latency_ms", "total_time_us"]),
    help="Column with the time.  [default: what there is]",
)
@click.option(
    "--plot", type=click.Path(path_type=Path, allow_dash=True), metavar="FILE", help="Chart: FILE.svg, or - for text."
)
@click.option(
    "--format", "format_", type=click.Choice(["table", "csv", "json", "md"]), help="Default: by suffix, else table."
)
@click.option("--output", type=click.Path(path_type=Path), metavar="FILE", help="Write the analysis there.")
def tiling(results: Path, metric: str | None, plot: Path | None, format_: str | None, output: Path | None) -> None:
    """What tiles cost, from the CSV of neff-bench latency or the CSV or JSON of profile-neffs.

    Tiles are what one matmul instruction takes: M 128 (stationary rows), K 128 (contraction), N 512 (moving columns). Steps
    are found from the data: rises beyond a line's trend and noise, at a tile boundary or not.

    \b
    Examples:
      neff-bench latency --preset tiling --output tiling.csv && neff-bench tiling tiling.csv
      neff-bench tiling tiling.csv --plot tiling.svg
      profile-neffs neffs --format csv --output device.csv && neff-bench tiling device.csv --plot -
    """
    from neff_bench.experiments.errors import ExperimentError, WrongCall
    from neff_bench.experiments.output import emit
    from neff_bench.experiments.results import read_results
    from neff_bench.experiments.tiling_analysis import analyse

    try:
        if plot is not None and str(plot) != "-" and plot.suffix.lower() != ".svg":
            raise WrongCall(f"--plot {plot}: expected a file name that ends in .svg, or - for text")
        found = read_results(results, metric)
        analysis = analyse(found.points)
        emit(_text(found, analysis, format_, output), output)
        _plot(found, analysis, plot)
    except WrongCall as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(2)
    except ExperimentError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(1)


def _text(results: Results, analysis: Analysis, format_: str | None, output: Path | None) -> str:
    from neff_bench.experiments.output import chosen_format, render
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
    chosen = chosen_format(format_, output)
    if chosen == "json":
        import orjson

        whole = {
            "source": results.source or None,
            "metric": results.metric,
            "rows": rows,
            "steps": steps,
            "boundary_crossings": analysis.crossings,
            "steps_at_boundaries": analysis.at_boundary,
            "lines_without_noise": analysis.unknown,
        }
        return orjson.dumps(whole, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()
    heads = HEADS if len({row["series"] for row in rows}) > 1 else {k: v for k, v in HEADS.items() if k != "series"}
    text = render(rows, heads, chosen)
    if chosen == "csv":
        return text
    parts = [text, "\n"]
    if steps:
        parts += [render(steps, STEP_HEADS, chosen), "\n"]
    elsewhere = len(steps) - analysis.at_boundary
    parts.append(
        f"{analysis.crossings} tile boundaries lie between neighbours of {len(analysis.lines)} lines; "
        f"{analysis.at_boundary} of them show a step; {elsewhere} steps are elsewhere.\n"
    )
    if analysis.unknown:
        parts.append(
            f"{analysis.unknown} lines have too few points, and no spread of samples, to tell a step from noise.\n"
        )
    series = {row["series"] for row in rows if row["series"]}
    if len(series) == 1:
        parts.append(f"series: {series.pop()}\n")
    if results.source:
        parts.append(f"source: {results.source}\n")
    return "".join(parts)


def _plot(results: Results, analysis: Analysis, plot: Path | None) -> None:
    from neff_bench.experiments import plot as draw
    from neff_bench.experiments.output import emit

    if plot is None:
        return
    lines = sorted(analysis.lines, key=lambda line: -len(line.points))[:MAX_PLOTS]
    if not lines:
        print("notice: nothing to plot: no three points differ in one dimension only", file=sys.stderr)
    elif str(plot) == "-":
        click.echo("\n" + draw.text(lines), nl=False)
    else:
        emit(draw.svg(lines, f"{results.metric}; {results.source}; neff-bench tiling"), plot)
    if len(analysis.lines) > MAX_PLOTS:
        print(f"notice: {MAX_PLOTS} of {len(analysis.lines)} lines plotted, the longest", file=sys.stderr)
