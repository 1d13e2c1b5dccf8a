"""What has a lifecycle and what has none, and transitions that go wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support import eventually

if TYPE_CHECKING:
    from manager.harness import Flow, Runs
    from manager.observer import Observer


def test_auto_finds_out_whether_there_is_a_lifecycle(flow: Flow, run: Runs, observer: Observer) -> None:
    flow.ros_node('plain', 'plain.py')
    flow.ros_node('managed', 'lifecycle_node.py')
    flow.ros_node('left', 'lifecycle_node.py', ros={'lifecycle': False})
    flow.ros_node('driven', 'lifecycle_node.py', ros={'lifecycle': True})
    manager = run(flow).running()
    assert {event['node'] for event in manager.all('NODE_UP')} == {'plain', 'managed', 'left', 'driven'}
    assert observer.state('/flow/managed') == 'active'
    assert observer.state('/flow/driven') == 'active'
    assert observer.state('/flow/left') == 'unconfigured'
    assert manager.interrupt() == 130
    assert flow.marked('left', 'configure unconfigured') == []
    assert flow.marked('plain', 'interrupted') == [0]


def test_a_plain_node_that_listens_to_a_lifecycle_is_up_all_the_same(flow: Flow, run: Runs) -> None:
    flow.ros_node('watching', 'watching.py')
    manager = run(flow).running()
    manager.event('NODE_UP', 'watching')
    assert manager.interrupt() == 130


def test_a37_a_plain_node_that_is_said_to_have_a_lifecycle_fails_with_a_hint(flow: Flow, run: Runs) -> None:
    flow.ros_node('n', 'plain.py', ros={'lifecycle': True})
    manager = run(flow)
    assert manager.wait() == 1
    assert manager.texts('NODE_ENDED') == [
        'failed: lifecycle: /flow/n/get_state did not answer within 10 s: not a lifecycle node; set lifecycle: false'
    ]


@pytest.mark.parametrize('how', ['denies', 'silent'])
def test_a40_a_transition_that_took_place_counts_whatever_its_answer(flow: Flow, run: Runs, how: str) -> None:
    flow.ros_node('n', 'lifecycle_service.py', ros={'arguments': how})
    manager = run(flow).running()
    manager.event('NODE_UP', 'n')
    assert flow.marked('n', 'asked 1') == [0]
    assert flow.marked('n', 'asked 3') == [0]
    assert manager.interrupt() == 130
    assert manager.restarts() == {'n': 0}


def test_a35_a_failed_transition_shows_what_the_node_logged(flow: Flow, run: Runs, observer: Observer) -> None:
    flow.ros_node(
        'n', 'lifecycle_service.py', ros={'arguments': 'fails'}, restart_policy='on-failure', restart_delay=60
    )
    statuses = observer.diagnostics('/flow/status')
    manager = run(flow)
    manager.event('RESTART_SCHEDULED', 'n')

    def found() -> bool:
        newest = {v.key: v.value for v in statuses[-1].status[0].values} if statuses else {}
        return 'the sensor has no power' in newest.get('error', '') and newest['state'] == 'backoff'

    eventually(found, 20.0, str(manager.raw[-3:]))
    manager.interrupt()


def test_a_failed_transition_is_told_in_the_words_of_the_node(flow: Flow, run: Runs) -> None:
    flow.ros_node('n', 'lifecycle_service.py', ros={'arguments': 'fails'})
    manager = run(flow)
    assert manager.wait() == 1
    (reason,) = manager.texts('NODE_ENDED')
    assert reason.startswith('failed: lifecycle: configure failed in /flow/n: ')
    assert reason.endswith('the sensor has no power')
