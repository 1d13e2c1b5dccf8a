"""Events and states as stock messages."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from diagnostic_msgs.msg import DiagnosticStatus

from adora_ros.inputs import InputState
from adora_ros.manager.diagnostics import StatusMessages, dataflow_status, event_message, read_event, read_status
from adora_ros.manager.events import (
    DataflowStatus,
    EventKind,
    Health,
    InputStatus,
    Level,
    ManagerEvent,
    NodeStatus,
    health_of,
)
from adora_ros.supervision import NodeState

STAMP = 1_700_000_000_123_456_789
OK, WARN, ERROR = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR
CALM: dict[str, Any] = {
    'node': 'camera',
    'state': NodeState.RUNNING,
    'health': Health.OK,
    'incarnation': 2,
    'pid': 4711,
    'restarts': 2,
    'last_exit': 'exit code 3',
    'error': '',
    'next_restart_s': None,
    'closed_inputs': (),
    'last_activity_age_s': 0.25,
    'cpu_percent': 100.0,
    'rss_mb': 12.3456,
    'up_s': 0.0,
}

FLOW = DataflowStatus(
    dataflow='robot/flow',
    state='Failed',
    error='camera: exit code 3',
    run='some-uuid',
    pid=12,
    hostname='robot',
    file='/tmp/flow.yml',
    folder='/tmp/log',
    stays=True,
    up_s=1.5,
    other_machines=('arm', 'base, left'),
    counters={'restarts': 2, 'health_kills': 0},
)


def status_of(**changes: Any) -> DiagnosticStatus:
    message = StatusMessages(dataflow='flow', machine='robot').message([NodeStatus(**{**CALM, **changes})], stamp=STAMP)
    (status,) = message.status
    return status


def test_a_status_has_every_value() -> None:
    status = status_of()
    assert (status.name, status.hardware_id, status.message, status.level) == ('flow: camera', 'robot', 'running', OK)
    assert {pair.key: pair.value for pair in status.values} == {
        'state': 'running',
        'incarnation': '2',
        'pid': '4711',
        'restarts': '2',
        'last_exit': 'exit code 3',
        'error': '',
        'next_restart_s': '',
        'closed_inputs': '',
        'last_activity_age_s': '0.25',
        'cpu_percent': '100',
        'rss_mb': '12.346',
        'up_s': '0',
        'payload_fallbacks': '0',
        'payload_drops': '0',
    }


@pytest.mark.parametrize(
    ('changes', 'level', 'message'),
    [
        ({'error': 'old news'}, OK, 'running'),
        ({'health': Health.WARN, 'closed_inputs': ('a', 'b'), 'last_exit': ''}, WARN, 'running; closed inputs: a, b'),
        ({'health': Health.WARN, 'state': NodeState.BACKOFF}, WARN, 'backoff; exit code 3'),
        (
            {'health': Health.ERROR, 'state': NodeState.FAILED, 'error': 'no power'},
            ERROR, 'failed; exit code 3; no power',
        ),
        (
            {'health': Health.ERROR, 'state': NodeState.FAILED, 'error': 'power', 'last_exit': 'lifecycle: no power'},
            ERROR, 'failed; lifecycle: no power',
        ),
    ],
)  # fmt: skip
def test_the_message_says_what_is_wrong(changes: dict[str, Any], level: bytes, message: str) -> None:
    status = status_of(**changes)
    assert (status.level, status.message) == (level, message)


def test_an_array_has_all_nodes_and_the_time() -> None:
    statuses = [NodeStatus(**{**CALM, 'node': name}) for name in ('a', 'b')]
    message = StatusMessages(dataflow='flow', machine='').message(statuses, stamp=STAMP)
    assert [status.name for status in message.status] == ['flow: a', 'flow: b']
    assert (message.header.stamp.sec, message.header.stamp.nanosec) == (1_700_000_000, 123_456_789)


def test_each_message_has_what_is_so_now() -> None:
    messages = StatusMessages(dataflow='flow', machine='robot')
    dataflow = dataflow_status(FLOW, machine='robot')
    waits = (InputStatus(id='image', source='camera/image', state=InputState.WAITING, age_s=12.25),)
    calm = NodeStatus(**{**CALM, 'rss_mb': 12.5})
    for status in (
        calm,
        dataclasses.replace(calm, rss_mb=13.5, up_s=1.0, state=NodeState.BACKOFF, health=Health.WARN),
        dataclasses.replace(calm, inputs=waits),
        dataclasses.replace(calm, inputs=(dataclasses.replace(waits[0], age_s=13.0),)),
        dataclasses.replace(calm, inputs=(dataclasses.replace(waits[0], id='depth'),)),
        calm,
    ):
        message = messages.message([status, dataclasses.replace(calm, node='other')], stamp=STAMP)
        message.status = [*message.status, dataflow]
        assert read_status(message)[1] == (status, dataclasses.replace(calm, node='other'))
    assert [made.name for made in messages.message([calm], stamp=STAMP).status] == ['flow: camera']


@pytest.mark.parametrize(
    ('level', 'byte'), [(Level.DEBUG, OK), (Level.INFO, OK), (Level.WARN, WARN), (Level.ERROR, ERROR)]
)
@pytest.mark.parametrize(('node', 'name'), [('camera', 'flow: camera'), ('', 'flow')])
def test_an_event_is_one_status(level: Level, byte: bytes, node: str, name: str) -> None:
    event = ManagerEvent(
        seq=7, stamp=STAMP, level=level, kind=EventKind.NODE_UP, node=node, incarnation=1, text='up', details={'k': 'v'}
    )
    message = event_message(event, dataflow='flow', machine='robot')
    (status,) = message.status
    assert (status.name, status.level, status.message, status.hardware_id) == (name, byte, 'up', 'robot')
    assert {pair.key: pair.value for pair in status.values} == {
        'event': 'NODE_UP', 'node': node, 'incarnation': '1', 'seq': '7', 'level': level.value, 'k': 'v',
    }  # fmt: skip
    assert message.header.stamp.nanosec == 123_456_789


@pytest.mark.parametrize(
    ('state', 'health', 'degraded'),
    [
        (NodeState.PENDING, Health.WARN, Health.WARN),
        (NodeState.STARTING, Health.WARN, Health.WARN),
        (NodeState.RUNNING, Health.OK, Health.WARN),
        (NodeState.BACKOFF, Health.WARN, Health.WARN),
        (NodeState.STOPPING, Health.WARN, Health.WARN),
        (NodeState.FINISHED, Health.OK, Health.WARN),
        (NodeState.STOPPED, Health.OK, Health.WARN),
        (NodeState.FAILED, Health.ERROR, Health.ERROR),
    ],
)
def test_every_state_has_its_level(state: NodeState, health: Health, degraded: Health) -> None:
    assert health_of(state, degraded=False) is health
    assert health_of(state, degraded=True) is degraded


def test_what_is_published_can_be_read_back() -> None:
    inputs = (
        InputStatus(id='image', source='camera/image', state=InputState.WAITING, age_s=12.25),
        InputStatus(id='tick', source='dora/timer/millis/50', state=InputState.CLOSED, age_s=None),
    )
    nodes = (
        NodeStatus(**{**CALM, 'rss_mb': 12.5, 'inputs': inputs, 'closed_inputs': ('tick',)}),
        NodeStatus(**{**CALM, 'node': 'a: b', 'pid': None, 'health': Health.ERROR, 'state': NodeState.FAILED}),
    )
    message = StatusMessages(dataflow='robot/flow', machine='m').message(nodes, stamp=STAMP)
    message.status = [*message.status, dataflow_status(FLOW, machine='m')]
    again, read = read_status(message)
    assert again == FLOW
    assert read[0] == nodes[0]
    assert (read[1].node, read[1].health, read[1].pid) == ('a: b', Health.ERROR, None)
    event = ManagerEvent(
        seq=7,
        stamp=STAMP,
        level=Level.WARN,
        kind=EventKind.NODE_UP,
        node='',
        incarnation=-1,
        text='x',
        details={'k': ''},
    )
    assert read_event(event_message(event, dataflow='flow', machine='')) == event
