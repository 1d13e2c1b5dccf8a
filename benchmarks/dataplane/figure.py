"""Latency over size, as an SVG."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

from benchmarks.dataplane.plan import LATENCY
from benchmarks.dataplane.runs import in_order

if TYPE_CHECKING:
    from collections.abc import Sequence

WIDTH, HEIGHT = 720, 420
LEFT, RIGHT, TOP, BOTTOM = 70, 190, 40, 50
COLOURS = ('#0b6e4f', '#c1440e', '#3a5a9b', '#8c6bb1', '#777777')
FONT = 'font-family="sans-serif" font-size="12"'


class Axis:
    """A logarithmic axis.

    Args:
        values: what it has to hold.
        start: where it begins in the picture.
        end: where it ends.

    """

    def __init__(self, values: Sequence[float], start: float, end: float) -> None:
        self._low = math.floor(math.log10(min(values)))
        self._high = max(math.ceil(math.log10(max(values))), self._low + 1)
        self._start, self._end = start, end

    def place(self, value: float) -> float:
        """Return where a value is in the picture."""
        share = (math.log10(value) - self._low) / (self._high - self._low)
        return self._start + share * (self._end - self._start)

    def decades(self) -> list[float]:
        """Return the powers of ten."""
        return [10.0**power for power in range(self._low, self._high + 1)]


def svg(document: dict[str, Any]) -> str:
    """Return the figure for the rows of a benchmark."""
    rows = [row for row in document['rows'] if row['what'] == LATENCY]
    if not rows:
        return f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}"></svg>\n'
    across = Axis([row['size'] for row in rows], LEFT, WIDTH - RIGHT)
    up = Axis([row['p50'] for row in rows], HEIGHT - BOTTOM, TOP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        _text(LEFT, 22, 'Median latency from one node to another'),
        _text(LEFT, HEIGHT - 10, 'bytes of the value'),
        _text(10, TOP - 8, 'ms'),
        *_grid(across, up),
    ]
    systems = in_order(row['system'] for row in rows)
    for number, system in enumerate(systems):
        own = sorted((row['size'], row['p50']) for row in rows if row['system'] == system)
        parts += _line(system, own, across, up, COLOURS[number % len(COLOURS)], number)
    return '\n'.join([*parts, '</svg>', ''])


def _grid(across: Axis, up: Axis) -> list[str]:
    parts = []
    for value in across.decades():
        x = across.place(value)
        parts.append(f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{HEIGHT - BOTTOM}" stroke="#ddd"/>')
        parts.append(_text(x, HEIGHT - BOTTOM + 18, _bytes(value), anchor='middle'))
    for value in up.decades():
        y = up.place(value)
        parts.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="#ddd"/>')
        parts.append(_text(LEFT - 8, y + 4, f'{value:g}', anchor='end'))
    return parts


def _line(
    name: str, points: Sequence[tuple[float, float]], across: Axis, up: Axis, colour: str, number: int
) -> list[str]:
    places = [(across.place(size), up.place(time)) for size, time in points]
    path = ' '.join(f'{x:.1f},{y:.1f}' for x, y in places)
    y = TOP + 20 * number + 10
    x = WIDTH - RIGHT + 15
    return [
        f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>',
        *(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places),
        f'<line x1="{x}" y1="{y}" x2="{x + 20}" y2="{y}" stroke="{colour}" stroke-width="2"/>',
        _text(x + 26, y + 4, name),
    ]


def _text(x: float, y: float, text: str, *, anchor: str = 'start') -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {FONT} text-anchor="{anchor}">{escape(text)}</text>'


def _bytes(value: float) -> str:
    for name, unit in (('M', 1e6), ('k', 1e3)):
        if value >= unit:
            return f'{value / unit:g} {name}'
    return f'{value:g}'
