"""Deadlines of nodes that hang or do not start: nobody healthy is killed, everybody else is, at the deadline."""

from __future__ import annotations

import itertools
import os
import signal
import time
from typing import TYPE_CHECKING, Any

import pytest

from adora_ros.node.notify import LifeSigns
from supervised.harness import SLACK, Stopwatch, left, wait_for_mark
from support import eventually

if TYPE_CHECKING:
    from manager.harness import Flow, Run, Runs
    from manager.observer import Observer

TICK = {'tick': 'dora/timer/secs/100'}
FAST = {'tick': 'dora/timer/millis/50'}


def stats(manager: Run) -> dict[str, int]:
    """Return the counters as they were reported last."""
    text = manager.texts('STATS')[-1].removeprefix('fault tolerance stats ')
    return {name: int(value) for name, _, value in (pair.partition('=') for pair in text.split())}


def seconds_between(earlier: dict[str, int], later: dict[str, int]) -> float:
    return (later['stamp'] - earlier['stamp']) / 1e9


@pytest.mark.parametrize('how', ['native', 'loop', 'sleep'])
def test_a42_a_node_that_hangs_each_time_is_killed_each_time_and_given_up(flow: Flow, run: Runs, how: str) -> None:
    keys = {'restart_policy': 'on-failure', 'restart_delay': 0.05, 'max_restarts': 2, 'health_check_timeout': 1.0}
    manager = run(flow.node('n', 'hang.py', how, **keys))
    assert manager.wait(90.0) == 1
    assert flow.marked('n', 'hanging') == [0, 1, 2]
    assert flow.marked('n', 'spawned') == [0, 1, 2]
    killed = manager.all('NODE_KILLED')
    assert [(event['incarnation'], event['details']['cause']) for event in killed] == [
        (number, 'health_check') for number in range(3)
    ]
    assert all(text.startswith('exited: health check: silent for 1.') for text in manager.texts('NODE_EXITED'))
    assert manager.texts('GAVE_UP')[0].startswith('giving up after 2 restarts: health check')
    assert stats(manager) == {
        'restarts': 2,
        'health_kills': 3,
        'startup_kills': 0,
        'input_timeouts': 0,
        'cb_recoveries': 0,
    }
    ups = [*manager.all('NODE_UP'), *manager.all('NODE_RESTARTED')]
    late = [seconds_between(up, kill) - 1.0 for up, kill in zip(ups, killed, strict=True)]
    assert all(-0.3 < seconds < SLACK for seconds in late), late


def test_a_hang_is_found_although_the_ros_thread_still_answers(flow: Flow, run: Runs, observer: Observer) -> None:
    manager = run(flow.node('n', 'hang.py', 'sleep', health_check_timeout=4.0))
    wait_for_mark(flow, 'n', 'hanging')
    assert observer.state('/flow/n') == 'active'
    assert manager.all('NODE_KILLED') == []
    assert manager.wait() == 1
    assert [event['details']['cause'] for event in manager.all('NODE_KILLED')] == ['health_check']


def test_a_suspended_node_is_killed(flow: Flow, run: Runs) -> None:
    manager = run(flow.node('n', 'stopped.py', health_check_timeout=1.0))
    assert manager.wait() == 1
    assert flow.marked('n', 'continued') == []
    assert [event['details']['cause'] for event in manager.all('NODE_KILLED')] == ['health_check']


def test_a_node_that_waits_for_its_peers_or_for_events_is_healthy(flow: Flow, run: Runs) -> None:
    """While a peer starts, nodes of every kind wait longer than their timeouts."""
    keys: dict[str, Any] = {'health_check_timeout': 1.0, 'startup_timeout': 20.0, 'restart_policy': 'always'}
    flow.node('idle', 'silent.py', inputs=TICK, **keys)
    flow.node('timed', 'silent.py', inputs=FAST, **keys)
    flow.ros_node('plain', 'plain.py', **keys)
    flow.ros_node('lifecycle', 'lifecycle_node.py', **keys)
    flow.node('late', 'slow_start.py', 4)
    manager = run(flow)
    up = manager.event('NODE_UP', 'lifecycle', timeout=60.0)
    eventually(lambda: _seconds_since(up) > 3.0, 10.0, 'three seconds')
    assert manager.all('NODE_KILLED') == []
    assert manager.interrupt() == 130
    assert manager.all('RESTART_SCHEDULED') == []


def _seconds_since(event: dict[str, int]) -> float:
    return time.time() - event['stamp'] / 1e9


def test_idle_in_next_for_ten_minutes_is_healthy() -> None:
    """On a fake clock: what waits in ``next()`` wakes up once an interval and is never silent for the timeout."""
    now = 0.0
    signs: list[float] = []
    life = LifeSigns(lambda _: signs.append(now), 2.0, clock=lambda: now)
    while now < 600.0:
        life.alive()
        now += life.interval
    silences = [later - earlier for earlier, later in itertools.pairwise(signs)]
    assert max(silences) <= 1.0
    assert signs[-1] >= 600.0 - 1.0


def test_a43_the_timeout_counts_from_the_last_event_and_not_from_the_last_notification(flow: Flow, run: Runs) -> None:
    """Notifications are limited in number, so the second event is taken without one; 2.5 s of work follow."""
    work = (0.6, 2.5, 0.6, 2.5)
    manager = run(flow.node('n', 'busy.py', *work, inputs=FAST, health_check_timeout=3.0))
    eventually(lambda: len(flow.marked('n', 'worked 2.5')) == 2, 60.0, 'the work')
    assert manager.interrupt() == 130
    assert manager.all('NODE_KILLED') == []


def test_a43_busy_is_not_hung_until_the_timeout(flow: Flow, run: Runs) -> None:
    """All by a tenth: 22 s of work are well within a timeout of 30 s, 35 s are not; so for a node of either kind."""
    keys: dict[str, Any] = {'health_check_timeout': 3.0, 'restart_policy': 'never'}
    flow.node('works', 'busy.py', 2.2, inputs=FAST, **keys)
    flow.node('hangs', 'busy.py', 3.5, inputs=FAST, **keys)
    flow.ros_node('ros_works', 'slow_spin.py', ros={'arguments': ['2.2']}, **keys)
    flow.ros_node('ros_hangs', 'slow_spin.py', ros={'arguments': ['3.9']}, **keys)
    manager = run(flow)
    manager.event('NODE_ENDED', 'hangs', timeout=60.0)
    manager.event('NODE_ENDED', 'ros_hangs', timeout=60.0)
    eventually(lambda: flow.marked('works', 'worked 2.2') and flow.marked('ros_works', 'worked 2.2'), 30.0)
    assert manager.interrupt() == 1
    assert manager.states() == {
        'works': 'stopped',
        'hangs': 'failed',
        'ros_works': 'stopped',
        'ros_hangs': 'failed',
    }
    assert sorted(event['node'] for event in manager.all('NODE_KILLED')) == ['hangs', 'ros_hangs']
    assert flow.marked('hangs', 'worked 3.5') == []
    assert flow.marked('ros_hangs', 'worked 3.9') == []


def test_a41_a_node_that_does_not_connect_is_killed_once_an_incarnation(flow: Flow, run: Runs) -> None:
    """The delay before a restart is longer than the timeout, and is not part of it."""
    keys = {'restart_policy': 'on-failure', 'restart_delay': 1.0, 'max_restarts': 2, 'startup_timeout': 0.7}
    manager = run(flow.node('n', 'hang.py', 'start', **keys))
    assert manager.wait(60.0) == 1
    assert flow.marked('n', 'spawned') == [0, 1, 2]
    killed = manager.all('NODE_KILLED')
    assert [(event['incarnation'], event['details']['cause']) for event in killed] == [
        (number, 'startup_timeout') for number in range(3)
    ]
    started = manager.all('NODE_STARTING')
    late = [seconds_between(start, kill) - 0.7 for start, kill in zip(started, killed, strict=True)]
    assert all(-0.05 < seconds < SLACK for seconds in late), late
    waits = [seconds_between(kill, start) for kill, start in zip(killed, started[1:], strict=False)]
    assert waits[0] > 1.0
    assert waits[1] > 2.0
    assert stats(manager) == {
        'restarts': 2,
        'health_kills': 0,
        'startup_kills': 3,
        'input_timeouts': 0,
        'cb_recoveries': 0,
    }


def test_a41_a_node_that_connects_in_time_is_left_alone(flow: Flow, run: Runs) -> None:
    keys = {'restart_policy': 'on-failure', 'restart_delay': 0.05, 'startup_timeout': 6.0}
    manager = run(flow.node('n', 'slow_start.py', 1000, 0, inputs=TICK, **keys))
    manager.event('NODE_RESTARTED', timeout=60.0)
    assert manager.interrupt() == 130
    assert flow.marked('n', 'spawned') == [0, 1]
    assert [event['incarnation'] for event in manager.all('NODE_KILLED')] == [0]


def test_a_ros_node_whose_executor_hangs_is_killed(flow: Flow, run: Runs) -> None:
    keys = {'restart_policy': 'on-failure', 'restart_delay': 0.05, 'health_check_timeout': 1.0}
    manager = run(flow.ros_node('n', 'plain.py', ros={'arguments': ['2', '0']}, **keys))
    manager.event('NODE_RESTARTED', timeout=60.0)
    assert flow.marked('n', 'hanging') == [0]
    assert manager.interrupt() == 130
    assert [(e['incarnation'], e['details']['cause']) for e in manager.all('NODE_KILLED')] == [(0, 'health_check')]


def test_a_transition_has_a_deadline_of_its_own(flow: Flow, run: Runs) -> None:
    slow = {'parameters': {'seconds': 3.0}}
    flow.ros_node('n', 'slow_configure.py', ros=slow, health_check_timeout=1.0, restart_policy='always')
    manager = run(flow)
    manager.event('NODE_UP', 'n', timeout=60.0)
    assert flow.marked('n', 'configured') == [0]
    assert manager.interrupt() == 130
    assert manager.all('NODE_KILLED') == []


def test_a_slow_transition_that_fails_is_asked_for_once(flow: Flow, run: Runs) -> None:
    slow = {'parameters': {'seconds': 2.5, 'fails': True}}
    manager = run(flow.ros_node('n', 'slow_configure.py', ros=slow))
    assert manager.wait(60.0) == 1
    assert flow.marked('n', 'configure unconfigured') == [0]
    assert manager.texts('NODE_ENDED') == ['failed: lifecycle: configure failed in /flow/n (see its log)']


def test_first_message_timeout_counts_silence_from_the_start(flow: Flow, run: Runs) -> None:
    flow.node('source', 'silent.py', inputs=TICK, outputs=['data'])
    port = {'source': 'source/data', 'input_timeout': 100.0, 'first_message_timeout': 1.0}
    flow.node('sink', 'events.py', inputs={'data': port, 'other': {'source': 'source/data', 'input_timeout': 1.0}})
    manager = run(flow)
    closed = manager.event('INPUT_CLOSED', 'sink')
    assert closed['details']['input'] == 'data'
    assert manager.interrupt() == 130
    assert len(manager.all('INPUT_CLOSED')) == 1
    assert stats(manager)['input_timeouts'] == 1
    assert [line.split()[1:3] for line in flow.marks('sink') if 'INPUT' in line] == [['INPUT_CLOSED', 'data']]


def test_a83_a_kill_from_outside_is_a_crash(flow: Flow, run: Runs) -> None:
    manager = run(flow.node('n', 'silent.py', inputs=TICK, restart_policy='on-failure', restart_delay=0.05)).running()
    watch = Stopwatch()
    os.kill(flow.pid('n', 0), signal.SIGKILL)
    scheduled = manager.event('RESTART_SCHEDULED')
    assert watch() < SLACK
    assert scheduled['details']['reason'] == 'signal:SIGKILL'
    manager.event('NODE_RESTARTED')
    assert manager.interrupt() == 130
    assert manager.texts('NODE_EXITED')[0] == 'exited: signal:SIGKILL'
    assert manager.restarts() == {'n': 1}


def test_a_node_that_runs_out_of_memory_is_given_up(flow: Flow, run: Runs) -> None:
    keys = {'restart_policy': 'on-failure', 'restart_delay': 0.05, 'max_restarts': 1}
    manager = run(flow.node('n', 'allocate_until_killed.py', **keys))
    assert manager.wait() == 1
    assert flow.marked('n', 'spawned') == [0, 1]
    assert manager.texts('NODE_ENDED') == ['failed: gave up after 1 restart: signal:SIGKILL']


def test_a_node_without_standard_output_works_on(flow: Flow, run: Runs) -> None:
    manager = run(flow.node('n', 'close_stdout.py', inputs=FAST, health_check_timeout=2.0)).running()
    eventually(lambda: len(flow.marked('n', 'INPUT')) > 5, 20.0)
    assert manager.interrupt() == 130
    assert manager.states() == {'n': 'stopped'}
    assert left(manager.run_id) == []


def test_a12_one_event_names_all_that_failed(flow: Flow, run: Runs) -> None:
    flow.node('first', 'crash.py', 'late', outputs=['data'])
    flow.node('second', 'crash.py', 'early')
    flow.node('third', 'hang.py', 'start', startup_timeout=1.0)
    flow.node('fine', 'clean_exit.py')
    manager = run(flow)
    assert manager.wait(60.0) == 1
    (ended,) = manager.all('DATAFLOW_ENDED')
    failures = dict(part.split(': ', 1) for part in ended['details']['error'].split('; '))
    assert failures == {
        'first': 'exit code 3',
        'second': 'exit code 3',
        'third': 'startup timeout: not connected after 1 s',
    }
    assert ended['text'] == f'failed: {ended["details"]["error"]}'
    assert {failure['node'] for failure in manager.outcome['result']['failures']} == set(failures)
