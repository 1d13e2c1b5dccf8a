"""Rows of the acceptance table on silent inputs, as far as they show from outside a process."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rclpy.duration import Infinite

from manager.observer import last, values
from support import eventually

if TYPE_CHECKING:
    from manager.harness import Flow, Runs
    from manager.observer import Observer


def test_a53_an_input_is_unarmed_until_its_first_message(flow: Flow, run: Runs, observer: Observer) -> None:
    flow.node('late', 'silent_after.py', 0, 2.0, outputs=['data'])
    flow.node('n', 'events.py', inputs={'data': {'source': 'late/data', 'input_timeout': 0.3}})
    statuses = observer.diagnostics('/flow/status')
    manager = run(flow).running()
    eventually(lambda: flow.marked('n', 'INPUT data [0]'))
    assert manager.all('INPUT_CLOSED') == []
    assert all(values(message, 'flow: n').get('closed_inputs', '') == '' for message in statuses)
    assert manager.interrupt() == 130
    assert [line.split()[1] for line in flow.marks('n')][:2] == ['pid', 'INPUT']
    assert flow.marked('n', 'INPUT_CLOSED data') == []


def test_a53_silence_from_the_start_counts_where_it_is_asked_for(flow: Flow, run: Runs, observer: Observer) -> None:
    flow.node('late', 'silent_after.py', 0, 'go', outputs=['data'])
    flow.node('n', 'events.py', inputs={'data': {'source': 'late/data', 'first_message_timeout': 0.5}})
    statuses = observer.diagnostics('/flow/status')
    manager = run(flow).running()
    closed = manager.event('INPUT_CLOSED', 'n')
    assert closed['text'].startswith('input data (late/data) closed: silent for 0.5')
    degraded = last(statuses, 'flow: n', lambda found: found['closed_inputs'] == 'data')
    assert (degraded['level'], degraded['state']) == ('1', 'running')
    (flow.folder / 'go').touch()
    manager.event('INPUT_RECOVERED', 'n')
    last(statuses, 'flow: n', lambda found: found['closed_inputs'] == '' and found['level'] == '0')
    assert manager.interrupt() == 130
    seen = [line.split(' ', 1)[1] for line in flow.marks('n')]
    assert seen[1:4] == ['INPUT_CLOSED data', 'INPUT_RECOVERED data', 'INPUT data [0]']
    assert (len(manager.all('INPUT_CLOSED')), len(manager.all('INPUT_RECOVERED'))) == (1, 1)


def test_a54_nothing_is_said_of_inputs_before_they_are_armed(flow: Flow, run: Runs) -> None:
    limits = {'input_timeout': 0.2}
    flow.node('slow', 'silent_after.py', 0, 1.5, outputs=['data'])
    flow.node('a', 'events.py', inputs={'data': {'source': 'slow/data', **limits}})
    flow.node('b', 'events.py', inputs={'data': {'source': 'slow/data', **limits}, 'ext': {'topic': '/e', **limits}})
    manager = run(flow).running()
    for node in ('a', 'b'):
        eventually(lambda node=node: flow.marked(node, 'INPUT data [0]'))  # type: ignore[misc]
    assert manager.all('INPUT_CLOSED') == []
    assert [event for event in manager.events if event['level'] in {'warn', 'error'}] == []
    assert manager.interrupt() == 130


def test_a59_a_watchdog_needs_no_first_sample_and_no_deadline_qos(flow: Flow, run: Runs, observer: Observer) -> None:
    limits = {'input_timeout': 0.4, 'first_message_timeout': 0.4}
    flow.node('n', 'events.py', inputs={'data': {'topic': '/nobody', 'type': 'std_msgs/msg/String', **limits}})
    manager = run(flow).running()
    begin = time.monotonic()
    closed = manager.event('INPUT_CLOSED', 'n')
    assert time.monotonic() - begin < 2.0
    assert 0.4 <= float(closed['text'].rsplit(' ', 2)[1]) <= 0.44
    found = eventually(lambda: observer.node.get_subscriptions_info_by_topic('/nobody')) or []
    assert [info.qos_profile.deadline for info in found] == [Infinite]
    assert [info.qos_profile.lifespan for info in found] == [Infinite]
    assert manager.interrupt() == 130
    assert flow.marked('n', 'INPUT_CLOSED data') == [0]
