"""Who feeds whom, and the order of levels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adora_ros.dataflow import (
    Dataflow,
    DataflowError,
    Edge,
    InputSpec,
    NodeKind,
    NodeSource,
    NodeSpec,
    OutputSpec,
    consumers,
    downstream,
    edges,
    mermaid,
    sinks_first,
    sources_first,
)

if TYPE_CHECKING:
    from dataflow.conftest import Make


def _flow(links: dict[str, list[str]]) -> Dataflow:
    """Return a dataflow of nodes by id, each with the ids of the nodes that feed it."""
    nodes = tuple(
        NodeSpec(
            id=node_id,
            name=node_id,
            full_name=f'/g/{node_id}',
            kind=NodeKind.PATH,
            inputs=tuple(
                InputSpec(id=f'i{n}', source=NodeSource(node=feeder, output='o'), topic=f'/g/{feeder}/o')
                for n, feeder in enumerate(feeders)
            ),
            outputs=(OutputSpec(id='o', topic=f'/g/{node_id}/o'),),
        )
        for node_id, feeders in links.items()
    )
    return Dataflow(name='g', namespace='/g', file=Path('/g.yml'), descriptor={}, nodes=nodes)


DIAMOND = {'d': ['b', 'c'], 'b': ['a'], 'c': ['a'], 'a': [], 'e': ['e']}


def test_diamond() -> None:
    flow = _flow(DIAMOND)
    assert consumers(flow, 'a') == ('b', 'c')
    assert consumers(flow, 'd') == ()
    assert consumers(flow, 'e') == ('e',)
    assert downstream(flow, 'a') == ('d', 'b', 'c')
    assert downstream(flow, 'e') == ()
    assert sources_first(flow) == (('a', 'e'), ('b', 'c'), ('d',))
    assert sinks_first(flow) == (('d',), ('b', 'c'), ('a', 'e'))
    assert edges(flow)[0] == Edge(source_node='b', output='o', target_node='d', input='i0')
    assert len(edges(flow)) == 5


def test_cycle_shares_a_level() -> None:
    flow = _flow({'out': ['y'], 'y': ['x'], 'x': ['y', 'in'], 'in': []})
    assert sources_first(flow) == (('in',), ('y', 'x'), ('out',))
    assert downstream(flow, 'x') == ('out', 'y')


@pytest.mark.parametrize('question', [consumers, downstream])
def test_unknown_node(question: object) -> None:
    assert callable(question)
    with pytest.raises(DataflowError, match='has no node `zz`'):
        question(_flow(DIAMOND), 'zz')


@given(
    st.integers(0, 7).flatmap(
        lambda n: st.lists(st.lists(st.integers(0, max(n - 1, 0)), max_size=4), min_size=n, max_size=n)
    )
)
def test_levels(links: list[list[int]]) -> None:
    flow = _flow({f'n{n}': [f'n{feeder}' for feeder in feeders] for n, feeders in enumerate(links)})
    levels = sources_first(flow)
    order = {node_id: n for n, level in enumerate(levels) for node_id in level}
    ids = [node.id for node in flow.nodes]
    assert sorted(node_id for level in levels for node_id in level) == sorted(ids)
    assert all(level == tuple(node_id for node_id in ids if node_id in level) != () for level in levels)
    for edge in edges(flow):
        is_cycle = edge.source_node in {*downstream(flow, edge.target_node), edge.target_node}
        distance = order[edge.target_node] - order[edge.source_node]
        assert distance == 0 if is_cycle else distance > 0
    assert sinks_first(flow) == levels[::-1]


def test_mermaid(make: Make) -> None:
    dataflow = make(
        'nodes:\n'
        '  - id: cam\n'
        '    name: The "front" <camera>\n'
        '    path: a.py\n'
        '    inputs: {tick: dora/timer/hz/30}\n'
        '    outputs: {image: {type: sensor_msgs/Image}}\n'
        '  - id: det\n'
        '    ros: {executable: run}\n'
        '    inputs: {image: cam/image}\n'
        '    outputs: [boxes]\n'
        '  - id: sink\n'
        '    path: b.py\n'
        '    inputs:\n'
        '      pic: cam/image\n'
        '      scan: {topic: /scan}\n'
        '      tick: dora/timer/hz/30\n'
    )
    assert mermaid(dataflow) == (
        'flowchart LR\n'
        '  n0["cam: The #quot;front#quot; #lt;camera#gt;"]\n'
        '  n1[["det"]]\n'
        '  n2["sink"]\n'
        '  x0(["dora/timer/hz/30"])\n'
        '  x1{{"/scan"}}\n'
        '  x0 -->|"tick"| n0\n'
        '  n0 -->|"image [Image]"| n1\n'
        '  n0 -->|"image as pic [Image]"| n2\n'
        '  x1 -->|"scan"| n2\n'
        '  x0 -->|"tick"| n2\n'
    )
