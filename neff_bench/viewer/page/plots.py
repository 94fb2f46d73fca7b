"""Draws plots as SVG. They are a few lines and marks each, so that no library is needed; the style gives their colours."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from neff_bench.viewer.page.html import text
from neff_bench.viewer.roofline import Point, Roofline

WIDTH, HEIGHT = 680, 340
LEFT, RIGHT, TOP, BOTTOM = 64, 190, 16, 40
SPOKEN_MAX = 20
"""The most points that the name of a plot lists; each point has its own."""


class _Scale:
    """Log-log axes from data to pixels."""

    def __init__(self, x: tuple[float, float], y: tuple[float, float]) -> None:
        self.x_range, self.y_range = x, y

    def x(self, value: float) -> float:
        low, high = map(math.log, self.x_range)
        return LEFT + (WIDTH - LEFT - RIGHT) * (math.log(value) - low) / (high - low)

    def y(self, value: float) -> float:
        low, high = map(math.log, self.y_range)
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (math.log(value) - low) / (high - low)


def roofline_svg(roofs: Roofline, points: Sequence[Point]) -> str:
    """Return the roofs and the profiles under them; an empty mark is a simulated one."""
    points = [point for point in points if point.can_be_drawn]
    peak, ridge = max(roofs.peaks.values()), max(roofs.peaks.values()) / min(roofs.bandwidths.values())
    xs = [ridge / 256, ridge * 8, *(point.intensity for point in points)]
    ys = [peak / 1000, peak * 2, *(point.flops for point in points)]
    scale = _Scale((min(xs) / 1.5, max(xs) * 1.5), (min(ys) / 1.5, max(ys)))
    body = "".join((*_axes(scale), *_roofs(roofs, scale), *(_mark(point, scale) for point in points)))
    said = [
        f"{point.label} {point.intensity:.3g} FLOP/byte, {point.flops / 1e12:.3g} TFLOPS"
        for point in points[:SPOKEN_MAX]
    ]
    more = [f"{len(points) - SPOKEN_MAX} more"] if len(points) > SPOKEN_MAX else []
    label = f"Roofline of {roofs.target}, LNC {roofs.lnc}: " + "; ".join(said + more)
    return f'<svg class="plot" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{text(label)}">{body}</svg>'


def _axes(scale: _Scale) -> Iterator[str]:
    for value in _decades(scale.x_range):
        x = scale.x(value)
        yield f'<path class="rule" d="M{x:.1f} {TOP}V{HEIGHT - BOTTOM}"/>'
        yield f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{value:g}</text>'
    for value in _decades(scale.y_range):
        y = scale.y(value)
        yield f'<path class="rule" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>'
        yield f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{value / 1e12:g}</text>'
    yield f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 6}" text-anchor="middle">FLOP for each byte of HBM</text>'
    yield f'<text transform="translate(14 {HEIGHT / 2}) rotate(-90)" text-anchor="middle">TFLOPS</text>'


def _roofs(roofs: Roofline, scale: _Scale) -> Iterator[str]:
    low, high = scale.x_range
    bottom = scale.y_range[0]
    peak = max(roofs.peaks.values())
    slowest = min(roofs.bandwidths.values())
    for name, flops in roofs.peaks.items():
        start, y = scale.x(min(high, max(low, flops / slowest))), scale.y(flops)
        yield f'<path class="roof" d="M{start:.1f} {y:.1f}H{WIDTH - RIGHT}"/>'
        yield f'<text x="{WIDTH - RIGHT + 6}" y="{y + 4:.1f}">{text(name)} {flops / 1e12:.4g} TFLOPS</text>'
    for number, (name, rate) in enumerate(roofs.bandwidths.items()):
        start, stop = max(low, bottom / rate), min(high, peak / rate)
        yield (
            f'<path class="roof memory{number}" d="M{scale.x(start):.1f} {scale.y(rate * start):.1f}'
            f'L{scale.x(stop):.1f} {scale.y(rate * stop):.1f}"/>'
        )
        place = HEIGHT - BOTTOM - 24 + 14 * number
        yield f'<text class="memory{number}" x="{WIDTH - RIGHT + 6}" y="{place}">{text(name)} {rate / 1e9:.4g} GB/s</text>'


def _mark(point: Point, scale: _Scale) -> str:
    kind = "point simulated" if point.simulated else "point"
    title = f"{point.label}: {point.intensity:.4g} FLOP/byte, {point.flops / 1e12:.4g} TFLOPS"
    said = f"{title}, simulated" if point.simulated else title
    x, y = scale.x(point.intensity), scale.y(point.flops)
    return f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="5"><title>{text(said)}</title></circle>'


def _decades(span: tuple[float, float]) -> Iterable[float]:
    first, last = math.ceil(math.log10(span[0])), math.floor(math.log10(span[1]))
    return [10.0**power for power in range(first, last + 1)]


def bar(share: float, family: str) -> str:
    """Return a share of the total as a bar in the colour of its engine, for a cell of a table."""
    percent = 100 * min(1.0, max(0.0, share))
    return f'<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect width="{percent:.2f}" height="10" style="fill:var(--{family})"/></svg>'
