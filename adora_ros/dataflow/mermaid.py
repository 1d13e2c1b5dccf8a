"""The dataflow as a Mermaid flowchart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adora_ros.dataflow.model import NodeKind, NodeSource, TimerSource

if TYPE_CHECKING:
    from adora_ros.dataflow.model import Dataflow, InputSpec


def mermaid(dataflow: Dataflow) -> str:
    """Return the text of a flowchart: nodes, timers, external topics and an arrow for each input."""
    keys = {node.id: f'n{index}' for index, node in enumerate(dataflow.nodes)}
    lines = ['flowchart LR']
    for node in dataflow.nodes:
        title = _quoted(f'{node.id}: {node.label}' if node.label else node.id)
        lines.append(
            f'  {keys[node.id]}[{title}]' if node.kind is not NodeKind.ROS else f'  {keys[node.id]}[[{title}]]'
        )
    outside: dict[str, str] = {}
    arrows = []
    for node in dataflow.nodes:
        for port in node.inputs:
            source = port.source
            if isinstance(source, NodeSource):
                start = keys[source.node]
            else:
                start = outside.setdefault(str(source), f'x{len(outside)}')
                opening, closing = ('([', '])') if isinstance(source, TimerSource) else ('{{', '}}')
                line = f'  {start}{opening}{_quoted(str(source))}{closing}'
                if line not in lines:
                    lines.append(line)
            arrows.append(f'  {start} -->|{_quoted(_edge(port))}| {keys[node.id]}')
    return '\n'.join([*lines, *arrows]) + '\n'


def _edge(port: InputSpec) -> str:
    output = port.source.output if isinstance(port.source, NodeSource) else ''
    text = port.id if output in {'', port.id} else f'{output} as {port.id}'
    return f'{text} [{port.type.rsplit("/", 1)[-1]}]' if port.type else text


def _quoted(text: str) -> str:
    plain = ' '.join(text.split()).replace('&', '#amp;').replace('"', '#quot;')
    return f'"{plain.replace("<", "#lt;").replace(">", "#gt;")}"'
