"""Declares `neff-bench buckets`, which chooses the lengths to compile for."""

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

if TYPE_CHECKING:
    from neff_bench.experiments.bucketing import Choice
    from neff_bench.experiments.tiling_analysis import Line
    from neff_bench.terminal.answer import Answer

FASTEST = "fastest as measured"
HEADS = {
    "name": "choice",
    "count": "k",
    "expected_us": "expected us",
    "to_best": "to best",
    "waste_percent": "padding %",
    "buckets": "buckets",
    "interpolated": "not measured",
}


@dataclass(frozen=True, kw_only=True)
class BucketsOptions(OutputOptions):
    """Holds which results are read, and what is chosen among them."""

    results: Path = argument(required=True, type=PATH)
    lengths: str | None = option(
        metavar="SPEC", help="uniform:LOW:HIGH, or a file of lengths and weights.  [default: uniform]"
    )
    count: int = option(
        "--count", "-k", default=5, type=click.IntRange(1, 10_000), show_default=True, help="Number of buckets."
    )
    dimension: str = option(default="M", type=click.Choice(["M", "K", "N"]), show_default=True, help="What is padded.")
    at: str | None = option(metavar="K=SIZE,N=SIZE", help="The other dimensions, when the results hold several.")
    metric: str | None = option(type=click.Choice(list(METRICS)), help="Column with the time.")


@command("buckets")
@takes(BucketsOptions)
def buckets(options: BucketsOptions) -> None:
    """Choose the k buckets with the least expected latency, next to powers of two and vLLM's defaults.

    RESULTS: measured latencies (neff-bench latency --preset buckets, or profile-neffs). Buckets are chosen among the measured
    sizes, exactly (dynamic programming); a length runs in the smallest bucket that holds it. Of choices that differ by less
    than the noise of the measurement, the one with the least padding is taken.

    \b
    Examples:
      neff-bench latency --preset buckets --output buckets.csv && neff-bench buckets buckets.csv -k 4
      neff-bench buckets buckets.csv --lengths uniform:1:1024 -k 6
      neff-bench buckets buckets.csv --lengths requests.txt --format json
    """
    from neff_bench.experiments.bucketing import (
        best_buckets,
        evaluate,
        least_padding,
        noise_of,
        powers_of_two,
        read_lengths,
    )
    from neff_bench.experiments.output import emit
    from neff_bench.experiments.results import read_results
    from neff_bench.stage1_generate.shapes.presets import VLLM_SEQUENCE_BUCKETS

    format, count = options.format, options.count
    found = read_results(options.results, options.metric)
    line = _line(options.results, found.points, options.dimension, options.at)
    times = {size: point.time_us for size, point in zip(line.sizes(), line.points)}
    weights = read_lengths(options.lengths or f"uniform:1:{max(times)}")
    longest = max(weights)
    noise = noise_of(times, {size: point.noise_us for size, point in zip(line.sizes(), line.points)})
    best, fastest = least_padding(times, noise, weights, count), best_buckets(times, weights, count)
    choices = [evaluate(f"best {count}", best, times, weights)]
    if fastest != best:
        choices.append(evaluate(FASTEST, fastest, times, weights))
    choices.append(evaluate("powers of two", powers_of_two(longest, min(times)), times, weights))
    if longest <= VLLM_SEQUENCE_BUCKETS[-1]:
        choices.append(evaluate("vLLM defaults", VLLM_SEQUENCE_BUCKETS, times, weights))
    else:
        streams.notice(f"vLLM's defaults end at {VLLM_SEQUENCE_BUCKETS[-1]}; the longest length is {longest}")
    choices.append(evaluate("one bucket", least_padding(times, noise, weights, 1), times, weights))
    emit(_answer(choices, line, found.source, found.metric), format, options.output)


def _line(path: Path, points: Any, dimension: str, at: str | None) -> Line:
    """Return the one line of points along `dimension`. Raises `BadResults` or `WrongCall`."""
    from neff_bench.experiments.errors import BadResults
    from neff_bench.experiments.tiling_analysis import find_lines

    lines = [line for line in find_lines(points, shortest=1) if line.dimension == dimension]
    if at is not None:
        wanted = _at(at, dimension)
        lines = [line for line in lines if wanted.items() <= dict(line.fixed).items()]
        if not lines:
            raise WrongCall(f"--at {at}: {path} holds no such points")
    long = [line for line in lines if len(line.points) > 1]
    if not long:
        raise BadResults(f"{path}: no two matmuls differ in {dimension} only; measure them with --preset buckets")
    if len(long) > 1:
        names = "; ".join(line.name for line in long[:4])
        raise WrongCall(
            f"{path} holds {len(long)} series along {dimension} ({names}...); choose with --at, or split the file"
        )
    return long[0]


def _at(text: str, dimension: str) -> dict[str, int]:
    wanted = {}
    for part in text.split(","):
        name, _, size = part.partition("=")
        if name not in ("M", "K", "N") or name == dimension or not size.isdigit():
            raise WrongCall(f"--at {text}: expected sizes of the other dimensions, such as K=1024,N=1024")
        wanted[name] = int(size)
    return wanted


def _answer(choices: list[Choice], line: Line, source: str, metric: str) -> Answer:
    from neff_bench.experiments.output import answer, grid

    best = choices[0].expected_us
    rows = [
        {
            "name": choice.name,
            "count": len(choice.buckets),
            "expected_us": choice.expected_us,
            "to_best": choice.expected_us / best if choice.expected_us and best else None,
            "waste_percent": 100 * choice.waste,
            "buckets": " ".join(map(str, choice.buckets)),
            "interpolated": " ".join(map(str, choice.interpolated)) or None,
        }
        for choice in choices
    ]
    notes = [f"{line.name}, {metric}{', ' + source if source else ''}; {len(line.points)} sizes measured"]
    if any(choice.name == FASTEST for choice in choices):
        notes.append(f"{choices[0].name} has less padding, and noise explains its difference to {FASTEST}")
    if any(choice.interpolated for choice in choices):
        notes.append("not measured: interpolated between the measured neighbours")
    return answer(rows, [grid(rows, HEADS, notes)])
