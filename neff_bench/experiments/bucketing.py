"""Chooses buckets: sizes to which lengths are padded, chosen for the least expected latency."""

from __future__ import annotations

import math
import statistics
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from neff_bench.errors import WrongCall
from neff_bench.experiments.errors import BadResults
from neff_bench.experiments.results import read_text

MAX_LENGTH = 10_000_000
NOISE_FACTOR = 2.0
"""Standard deviations by which a choice must win to be a choice: 19 of 20 such differences are real."""
PRICES = 40
"""Prices on padding that are tried, each twice the one before: up to eight times the mean time per element."""


@dataclass(frozen=True)
class Choice:
    """`expected_us`: mean latency when each length runs in the smallest bucket that holds it; None when a bucket's latency
    is not known. `waste`: expected padding / padded length. `interpolated`: buckets that were not measured themselves.
    """

    name: str
    buckets: tuple[int, ...]
    expected_us: float | None
    waste: float
    interpolated: tuple[int, ...] = ()


def best_buckets(times_us: Mapping[int, float], weights: Mapping[int, float], count: int) -> tuple[int, ...]:
    """Return the set of `count` sizes with the least expected latency; of all sizes when there are fewer. Raises `WrongCall`.

    `times_us`: measured latency by size. `weights`: of each length. Exact: dynamic programming over the sizes in O(count x sizes^2).
    """
    sizes = sorted(times_us)
    total = _cumulative(sizes, weights)
    count = min(count, len(sizes))
    best: list[list[float]] = [[times_us[size] * total[c] for c, size in enumerate(sizes)]]
    came: list[list[int]] = [[-1] * len(sizes)]
    for used in range(1, count):
        row, back = [math.inf] * len(sizes), [-1] * len(sizes)
        for c in range(used, len(sizes)):
            for before in range(used - 1, c):
                cost = best[-1][before] + times_us[sizes[c]] * (total[c] - total[before])
                if cost < row[c]:
                    row[c], back[c] = cost, before
        best.append(row)
        came.append(back)
    longest = bisect_left(sizes, max(weights))
    if longest == len(sizes):
        raise WrongCall(f"length {max(weights)} is longer than the largest measured size {sizes[-1]}")
    # The largest bucket may be any size that holds the longest length.
    last = min(range(max(longest, count - 1), len(sizes)), key=lambda c: best[count - 1][c])
    chosen = []
    for used in range(count - 1, -1, -1):
        chosen.append(sizes[last])
        last = came[used][last]
    return tuple(reversed(chosen))


def least_padding(
    times_us: Mapping[int, float], noise_us: Mapping[int, float], weights: Mapping[int, float], count: int
) -> tuple[int, ...]:
    """Return the set with the least padding among those that the noise may have kept from being the best: within `NOISE_FACTOR` deviations of it.

    `noise_us`: standard deviation of each time. Sets are searched with a growing price on padding.
    """
    best = chosen = best_buckets(times_us, weights, count)
    shares = _shares(best, weights)
    scale = statistics.fmean(times_us.values()) / max(times_us)
    for step in range(PRICES):
        price = scale * 2.0 ** (step - PRICES + 4)
        candidate = best_buckets({size: time + price * size for size, time in times_us.items()}, weights, count)
        differ = dict.fromkeys((*best, *candidate), 0.0)
        for size, share in shares.items():
            differ[size] += share
        for size, share in _shares(candidate, weights).items():
            differ[size] -= share
        later = -sum(share * times_us[size] for size, share in differ.items())
        noise = math.hypot(*(share * noise_us[size] for size, share in differ.items()))
        if later <= NOISE_FACTOR * noise:
            chosen = candidate
    return chosen


def noise_of(times_us: Mapping[int, float], told_us: Mapping[int, float | None]) -> dict[int, float]:
    """Return the standard deviation of each time: what its samples tell, and no less than how far it is from times that grow with
    the size (isotonic regression), which padding to a larger size implies. A simulated time (told 0) has none."""
    sizes = sorted(times_us)
    blocks: list[tuple[float, int]] = []
    for size in sizes:
        blocks.append((times_us[size], 1))
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (late, many), (early, few) = blocks.pop(), blocks.pop()
            blocks.append(((early * few + late * many) / (few + many), few + many))
    grown = [time for time, many in blocks for _ in range(many)]
    return {
        size: 0.0 if told_us[size] == 0 else max(told_us[size] or 0.0, abs(times_us[size] - time))
        for size, time in zip(sizes, grown)
    }


def evaluate(name: str, buckets: Sequence[int], times_us: Mapping[int, float], weights: Mapping[int, float]) -> Choice:
    """Return the expected latency of given buckets; sizes between measured ones are interpolated linearly."""
    ordered = sorted(set(buckets))
    if max(weights) > ordered[-1]:
        raise WrongCall(f"{name}: length {max(weights)} is longer than the largest bucket {ordered[-1]}")
    held = dict.fromkeys(ordered, 0.0)
    padded = 0.0
    for length, weight in weights.items():
        bucket = ordered[bisect_left(ordered, length)]
        held[bucket] += weight
        padded += weight * bucket
    total = sum(weights.values())
    real = sum(length * weight for length, weight in weights.items())
    used = {bucket: weight for bucket, weight in held.items() if weight}
    times = {bucket: _time(bucket, times_us) for bucket in used}
    expected = None
    if None not in times.values():
        expected = sum(weight * (times[bucket] or 0.0) for bucket, weight in used.items()) / total
    return Choice(name, tuple(ordered), expected, 1 - real / padded, tuple(b for b in used if b not in times_us))


def powers_of_two(longest: int, shortest: int = 1) -> tuple[int, ...]:
    """Return the powers of two from the one at or above `shortest` to the one at or above `longest`."""
    first, last = (shortest - 1).bit_length(), (longest - 1).bit_length()
    return tuple(1 << n for n in range(first, last + 1))


def read_lengths(text: str) -> dict[int, float]:
    """Read lengths: `uniform:LOW:HIGH`, or a file with a length, or a length and its weight, on each line (`#` starts a comment)."""
    if text.startswith("uniform:"):
        parts = text.split(":")[1:]
        if len(parts) != 2 or not all(part.isdigit() for part in parts):
            raise WrongCall(f"--lengths {text}: expected uniform:LOW:HIGH, such as uniform:1:2048")
        low, high = map(int, parts)
        if not 1 <= low <= high <= MAX_LENGTH:
            raise WrongCall(f"--lengths {text}: expected 1 <= LOW <= HIGH <= {MAX_LENGTH}")
        return dict.fromkeys(range(low, high + 1), 1.0)
    return _lengths_file(Path(text))


def _lengths_file(path: Path) -> dict[int, float]:
    weights: dict[int, float] = {}
    for number, line in enumerate(read_text(path).splitlines(), 1):
        words = line.split("#")[0].replace(",", " ").split()
        if not words or (number == 1 and not words[0].isdigit() and words[0].isalpha()):
            continue
        try:
            length, weight = int(words[0]), float(words[1]) if len(words) > 1 else 1.0
        except ValueError:
            raise BadResults(f"{path}: line {number}: found {line.strip()!r}; expected a length and a weight") from None
        if not 1 <= length <= MAX_LENGTH or not 0 <= weight < math.inf:
            raise BadResults(
                f"{path}: line {number}: found {line.strip()!r}; expected a length from 1, a weight from 0"
            )
        weights[length] = weights.get(length, 0.0) + weight
    if sum(weights.values()) <= 0:
        raise BadResults(f"{path}: the weights of all lengths sum to 0")
    return {length: weight for length, weight in weights.items() if weight}


def _shares(buckets: Sequence[int], weights: Mapping[int, float]) -> dict[int, float]:
    """Return the fraction of all weight that runs in each bucket."""
    total = sum(weights.values())
    ends = [0.0, *_cumulative(buckets, weights)]
    return {size: (high - low) / total for size, low, high in zip(buckets, ends, ends[1:])}


def _cumulative(sizes: Sequence[int], weights: Mapping[int, float]) -> list[float]:
    """Return the weight of all lengths that each size can hold."""
    lengths = sorted(weights)
    total, result, place = 0.0, [], 0
    for size in sizes:
        while place < len(lengths) and lengths[place] <= size:
            total += weights[lengths[place]]
            place += 1
        result.append(total)
    return result


def _time(size: int, times_us: Mapping[int, float]) -> float | None:
    if size in times_us:
        return times_us[size]
    sizes = sorted(times_us)
    place = bisect_left(sizes, size)
    if place in (0, len(sizes)):
        return None
    low, high = sizes[place - 1], sizes[place]
    return times_us[low] + (times_us[high] - times_us[low]) * (size - low) / (high - low)
