"""The ROS graph lags, and shows what is dead or was never ours: nothing is concluded from a name in it."""

from __future__ import annotations

import json
import os
import signal
from typing import TYPE_CHECKING, Any

import rclpy

from cli.harness import run as adora
from manager.harness import DEADLINE
from manager.observer import last
from support import eventually

if TYPE_CHECKING:
    from manager.harness import Flow, Runs
    from manager.observer import Observer

TICK = {'tick': 'dora/timer/millis/50'}


def _shown(observer: Observer) -> set[str]:
    """Return the nodes of the dataflow that the graph shows."""
    return {name for name, namespace in observer.node.get_node_names_and_namespaces() if namespace == '/flow'}


def test_a64_states_come_from_the_manager_whatever_the_graph_shows(flow: Flow, run: Runs, observer: Observer) -> None:
    flow.node('killed', 'events.py', inputs=TICK).node('fine', 'events.py', inputs=TICK)
    manager = run(flow).running()
    # What the graph shows for as long as a lease lasts, only that it does not go away during the test.
    ghosts = [rclpy.create_node(name, namespace='/flow', context=observer.context) for name in ('killed', 'ghost')]
    os.kill(flow.pid('killed', 0), signal.SIGKILL)
    manager.event('NODE_ENDED', 'killed')
    eventually(lambda: {'killed', 'ghost', 'fine'} <= _shown(observer), DEADLINE, 'a graph that is wrong')

    def states() -> dict[str, tuple[str, int | None]]:
        done = adora('ps', 'flow', '--json')
        assert done.returncode == 0, done.stderr
        return {facts['node']: (facts['state'], facts['pid']) for facts in json.loads(done.stdout)}

    expected = {'killed': ('failed', None), 'fine': ('running', flow.pid('fine', 0))}
    assert states() == expected
    late = observer.diagnostics('/flow/status')
    found = last(late, 'flow: killed', lambda found: found['state'] == 'failed')
    assert (found['pid'], found['last_exit']) == ('', 'signal:SIGKILL')
    assert manager.interrupt() == 1
    for ghost in ghosts:
        ghost.destroy_node()


def test_a81_a_node_is_ready_when_its_services_answer_and_not_when_they_are_seen(
    flow: Flow, run: Runs, observer: Observer
) -> None:
    flow.ros_node('late', 'late_spin.py')
    statuses = observer.diagnostics('/flow/status')
    manager = run(flow)

    def services() -> Any:
        return '/flow/late/get_parameters' in dict(observer.node.get_service_names_and_types_by_node('late', '/flow'))

    eventually(lambda: 'late' in _shown(observer) and services(), DEADLINE, 'the services of the node')
    count = len(statuses)
    eventually(lambda: len(statuses) >= count + 3, DEADLINE, 'three more states')
    last(statuses, 'flow: late', lambda found: found['state'] == 'starting' and found['level'] == '1')
    assert manager.all('NODE_UP', 'late') == []
    (flow.folder / 'go').touch()
    manager.event('NODE_UP', 'late')
    last(statuses, 'flow: late', lambda found: found['state'] == 'running')
    assert flow.marks('late')[:2] == ['0 there', '0 spins']
    assert manager.interrupt() == 130
