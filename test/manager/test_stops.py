"""Which nodes a stop holds back on a machine until others elsewhere have ended."""

from __future__ import annotations

from adora_ros.manager.stops import feeders_elsewhere
from supervision.build import dataflow, node


def test_a_node_waits_for_all_that_feeds_it_from_elsewhere_and_that_it_does_not_feed() -> None:
    # camera -> pilot -> base -> gauge, and base tells the pilot how it goes; gauge feeds the log.
    flow = dataflow(
        node('camera'),
        node('pilot', {'image': 'camera/out', 'gone': 'base/out'}),
        node('base', {'go': 'pilot/out'}),
        node('gauge', {'speed': 'base/out'}),
        node('log', {'speed': 'gauge/out'}),
    )
    assert feeders_elsewhere(flow, ['camera', 'base', 'log']) == {
        'camera': frozenset(),
        'base': frozenset(),  # it feeds the pilot, too, and neither can be the first
        'log': {'pilot', 'gauge'},
    }
    assert feeders_elsewhere(flow, ['pilot', 'gauge']) == {'pilot': {'camera'}, 'gauge': {'camera', 'base'}}
    assert set(feeders_elsewhere(flow, [each.id for each in flow.nodes]).values()) == {frozenset()}
