"""A dataflow as a page that needs no network and no script: a sketch in SVG, and the Mermaid text."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from adora_ros.dataflow import Dataflow, NodeSource, mermaid, sources_first

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_CHARACTER = 8.5
"""Pixels of a character of a box, in a monospaced font of 14 px."""
_SMALL_CHARACTER = 7.0
"""The same for the text of an arrow, at 11.5 px."""
_BOX_HEIGHT = 36
_ROW = 72
_GAP = 70
_SAG = 50.0
"""How far the arrows sag that pass other boxes."""
_MARGIN = 24

_PAGE = """<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<title>{title}</title>
<style>
  body {{ font-family: sans-serif; margin: 2em; color: #222; background: #fff; }}
  svg {{ font-family: monospace; font-size: 14px; max-width: 100%; height: auto; }}
  svg rect {{ fill: #eef4fb; stroke: #35618f; }}
  svg .outside rect {{ fill: #f6f6f6; stroke: #888; stroke-dasharray: 4 3; }}
  svg path {{ fill: none; stroke: #777; }}
  svg .port {{ font-size: 11.5px; fill: #444; stroke: #fff; stroke-width: 3px; paint-order: stroke; }}
  svg text {{ text-anchor: middle; dominant-baseline: middle; }}
  pre {{ background: #f6f6f6; padding: 1em; overflow: auto; }}
</style>
<h1>{title}</h1>
<p>{subtitle}</p>
{svg}
<p>Each node stands to the right of those that feed it; the nodes of a loop stand in one column. An arrow may pass
behind a box.</p>
<details><summary>Mermaid text, for any tool that draws it</summary>
<pre>{mermaid}</pre></details>
</html>
"""
_MARKER = """\
<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">
<path d="M0 0 L8 4 L0 8 z" style="fill: #777"/></marker></defs>"""


@dataclass(frozen=True)
class _Box:
    """A node, timer or external topic; the position is that of its centre, in pixels."""

    title: str
    tip: str
    is_node: bool
    column: int
    x: float
    y: float
    width: float

    def svg(self) -> str:
        kind = 'node' if self.is_node else 'outside'
        left, top = self.x - self.width / 2, self.y - _BOX_HEIGHT / 2
        radius = 5 if self.is_node else _BOX_HEIGHT / 2
        return (
            f'<g class="{kind}"><title>{escape(self.tip)}</title>'
            f'<rect x="{left:.1f}" y="{top:.1f}" width="{self.width:.1f}" height="{_BOX_HEIGHT}" rx="{radius:g}"/>'
            f'<text x="{self.x:.1f}" y="{self.y:.1f}">{escape(self.title)}</text></g>'
        )


def page(dataflow: Dataflow) -> str:
    """Return the HTML of a page that shows a dataflow."""
    return _PAGE.format(
        title=escape(dataflow.name),
        subtitle=escape(str(dataflow.file)),
        svg=_svg(dataflow),
        mermaid=escape(mermaid(dataflow)),
    )


def _svg(dataflow: Dataflow) -> str:
    arrows = _arrows(dataflow)
    columns = _columns(dataflow, arrows)
    longest = max((len(label) for label in arrows.values()), default=0)
    gap = _GAP + longest * _SMALL_CHARACTER
    boxes = _place(dataflow, columns, gap=gap)
    width = max((box.x + box.width / 2 for box in boxes.values()), default=0.0) + gap
    height = max((box.y + _BOX_HEIGHT / 2 for box in boxes.values()), default=0.0) + _SAG
    lines = [_curve(boxes[source], boxes[target]) for source, target in arrows]
    texts = [_label(boxes[source], boxes[target], label) for (source, target), label in arrows.items()]
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    start = f'<svg xmlns="http://www.w3.org/2000/svg" {size}>'
    return '\n'.join([start, _MARKER, *lines, *(box.svg() for box in boxes.values()), *texts, '</svg>'])


_Key = tuple[str, str]
"""``('node', id)`` or ``('outside', source)``."""


def _arrows(dataflow: Dataflow) -> dict[tuple[_Key, _Key], str]:
    """Return one arrow for each pair that is connected, with the names of all inputs that it stands for."""
    labels: dict[tuple[_Key, _Key], list[str]] = {}
    for node in dataflow.nodes:
        for port in node.inputs:
            source = port.source
            start = ('node', source.node) if isinstance(source, NodeSource) else ('outside', str(source))
            labels.setdefault((start, ('node', node.id)), []).append(port.id)
    return {pair: ', '.join(names) for pair, names in labels.items()}


def _columns(dataflow: Dataflow, arrows: Iterable[tuple[_Key, _Key]]) -> list[list[_Key]]:
    """Return the columns from left to right; what is outside stands next to the first node that it feeds."""
    columns: list[list[_Key]] = [[], *([('node', name) for name in level] for level in sources_first(dataflow))]
    of_node = {key: number for number, column in enumerate(columns) for key in column}
    first: dict[_Key, int] = {}
    for source, target in arrows:
        if source not in of_node:
            first[source] = min(first.get(source, len(columns)), of_node[target])
    for source, number in first.items():
        columns[number - 1].append(source)
    return [column for column in columns if column]


def _place(dataflow: Dataflow, columns: Sequence[Sequence[_Key]], *, gap: float) -> dict[_Key, _Box]:
    tallest = max((len(column) for column in columns), default=0)
    tips = {node.id: node.description or node.label or node.id for node in dataflow.nodes}
    boxes: dict[_Key, _Box] = {}
    left = float(_MARGIN)
    for number, column in enumerate(columns):
        width = max(len(title) for _, title in column) * _CHARACTER + 24
        top = _MARGIN + (tallest - len(column)) * _ROW / 2 + _BOX_HEIGHT / 2
        for row, (kind, title) in enumerate(column):
            is_node = kind == 'node'
            tip = tips[title] if is_node else title
            boxes[kind, title] = _Box(title, tip, is_node, number, left + width / 2, top + row * _ROW, width)
        left += width + gap
    return boxes


def _curve(source: _Box, target: _Box) -> str:
    (x0, y0), (x1, y1), (x2, y2), (x3, y3) = _bezier(source, target)
    curve = f'M{x0:.1f} {y0:.1f} C{x1:.1f} {y1:.1f} {x2:.1f} {y2:.1f} {x3:.1f} {y3:.1f}'
    return f'<path marker-end="url(#tip)" d="{curve}"/>'


def _label(source: _Box, target: _Box, text: str) -> str:
    """Return the text of an arrow: half-way, or near the start of one that has boxes on its way."""
    near = _passes_boxes(source, target)
    t = 0.2 if near else 0.5
    weights = ((1 - t) ** 3, 3 * (1 - t) ** 2 * t, 3 * (1 - t) * t**2, t**3)
    points = _bezier(source, target)
    x, y = (sum(weight * point[axis] for weight, point in zip(weights, points, strict=True)) for axis in (0, 1))
    anchor = 'start' if near else 'middle'
    return f'<text class="port" style="text-anchor: {anchor}" x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'


def _bezier(source: _Box, target: _Box) -> tuple[tuple[float, float], ...]:
    """Return the four points of a cubic curve from the right of one box to the left of another."""
    start, end = source.x + source.width / 2, target.x - target.width / 2
    bend = (end - start) / 2 if source.column < target.column else _GAP
    sag = _SAG if _passes_boxes(source, target) else 0.0
    return (start, source.y), (start + bend, source.y + sag), (end - bend, target.y + sag), (end, target.y)


def _passes_boxes(source: _Box, target: _Box) -> bool:
    return target.column - source.column != 1
