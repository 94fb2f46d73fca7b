"""Draws times over size, as an SVG file or as text; tile boundaries are marked."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape

from neff_bench.experiments.tiling_analysis import TILES, Line

WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 720, 260, 70, 34, 36
BARS = 50


def svg(lines: Sequence[Line], title: str) -> str:
    """Return one chart below the other, a step curve for each line; dashed verticals are multiples of the tile."""
    charts = "".join(_chart(line, number * HEIGHT) for number, line in enumerate(lines))
    height = HEIGHT * len(lines) + 24
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="11">\n'
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>\n{charts}'
        f'<text x="{LEFT}" y="{height - 8}" fill="#555">{escape(title)}</text>\n</svg>\n'
    )


def text(lines: Sequence[Line]) -> str:
    """Return a bar for each point; a rule where a tile boundary lies between two points."""
    out = []
    for line in lines:
        top = max(point.time_us for point in line.points)
        out.append(f"{line.name}, us")
        tile, before = TILES[line.dimension], None
        for size, point in zip(line.sizes(), line.points):
            if before is not None and -(-before // tile) != -(-size // tile):
                out.append(f"{'':>8} {'- ' * (BARS // 2)}{-(-before // tile) * tile}")
            out.append(f"{size:>8} {'█' * max(1, round(BARS * point.time_us / top))} {point.time_us:.4g}")
            before = size
        out.append("")
    return "\n".join(out)


def _chart(line: Line, y: int) -> str:
    sizes, times = line.sizes(), [point.time_us for point in line.points]
    low, high, top = sizes[0], sizes[-1], max(times) * 1.08
    inner_width, inner_height = WIDTH - LEFT - 20, HEIGHT - TOP - BOTTOM
    base = y + TOP + inner_height

    def at(size: float, time: float) -> str:
        return f"{LEFT + inner_width * (size - low) / max(1, high - low):.1f},{base - inner_height * time / top:.1f}"

    tile = TILES[line.dimension]
    parts = [f'<text x="{LEFT}" y="{y + 22}" font-weight="bold">{escape(line.name)}</text>']
    for edge in range((low // tile + 1) * tile, high + 1, tile):
        start, end = at(edge, 0).split(","), at(edge, top).split(",")
        parts.append(
            f'<line x1="{start[0]}" y1="{start[1]}" x2="{end[0]}" y2="{end[1]}" stroke="#bbb" stroke-dasharray="4 3"/>'
        )
    for fraction in (0, 0.5, 1):
        x, height = at(low, fraction * top).split(",")
        parts.append(
            f'<text x="{float(x) - 6:.1f}" y="{float(height) + 4:.1f}" text-anchor="end">{fraction * top:.3g}</text>'
        )
    for size in dict.fromkeys((sizes[0], sizes[len(sizes) // 2], sizes[-1])):
        x = at(size, 0).split(",")[0]
        parts.append(f'<text x="{x}" y="{base + 16}" text-anchor="middle">{size}</text>')
    points = " ".join(at(size, time) for size, time in zip(sizes, times))
    parts.append(f'<polyline points="{points}" fill="none" stroke="#1f6fb4" stroke-width="1.5"/>')
    parts += [
        f'<circle cx="{spot.split(",")[0]}" cy="{spot.split(",")[1]}" r="2.5" fill="#1f6fb4"/>'
        for spot in points.split(" ")
    ]
    parts.append(f'<text x="14" y="{y + TOP + inner_height // 2}">us</text>')
    return "\n".join(parts) + "\n"
