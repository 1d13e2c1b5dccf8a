"""Stopping, from every entrance and in every phase: it beats everything else, and nothing is left."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING, Any

import pytest
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState

from adora_ros.transport.answers import MOMENT
from manager import harness as manager_harness
from supervised.harness import EMBEDDING, GRACE, SLACK, Stopwatch, Terminal, left, wait_for_mark
from support import eventually

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from manager.harness import Flow, Run, Runs
    from manager.observer import Observer

LADDER = GRACE * 1.5
"""Seconds until nothing can be left of a node."""
DISCOVERY = 10.0
"""Seconds that finding a service may take."""
TICK = {'tick': 'dora/timer/secs/100'}
KILLED = 'exited: killed: did not stop within its grace period'


def every_phase(flow: Flow) -> Flow:
    """Add one node for each thing that a node may be doing before a dataflow runs."""
    keys: dict[str, Any] = {'stop_grace': GRACE, 'restart_policy': 'always'}
    flow.node('starting', 'slow_start.py', 1000, **keys)
    flow.node('flooding', 'chatty.py', 'early', **keys)
    flow.node('waiting', 'silent.py', inputs=TICK, **keys)
    flow.node('backing_off', 'crash.py', 'early', restart_delay=1000, **keys)
    keys['stop_grace'] = 4 * GRACE  # rclpy takes a moment to leave ROS
    flow.ros_node('configuring', 'slow_configure.py', ros={'parameters': {'seconds': 1000.0}}, **keys)
    flow.ros_node('mute', 'plain.py', ros={'arguments': ['0']}, **keys)
    return flow


EVERY_PHASE = ('starting', 'flooding', 'waiting', 'backing_off', 'configuring', 'mute')


def reached(flow: Flow, manager: Run, observer: Observer) -> Run:
    """Wait until each node of :func:`every_phase` is where it is meant to be."""
    manager.event('RESTART_SCHEDULED', 'backing_off')
    for node, words in [
        ('starting', 'spawned'),
        ('flooding', 'spawned'),
        ('waiting', 'spawned'),
        ('configuring', 'configure unconfigured'),
        ('mute', 'hanging'),
    ]:
        wait_for_mark(flow, node, words)
    eventually(lambda: observer.state('/flow/waiting') == 'inactive', DISCOVERY, 'waiting is configured')
    return manager


def obstinate(flow: Flow) -> Flow:
    """Add nodes that run, most of which do not stop as they should."""
    keys: dict[str, Any] = {'stop_grace': GRACE, 'restart_policy': 'always'}
    flow.node('good', 'silent.py', inputs=TICK, **keys)
    flow.node('deaf_to_sigint', 'ignore.py', 'SIGINT', **keys)
    flow.node('deaf', 'ignore.py', 'SIGINT', 'SIGTERM', **keys)
    flow.node('suspended', 'stopped.py', **keys)
    flow.node('parent', 'family.py', 'fork', inputs=TICK, **keys)
    flow.node('master', 'family.py', 'daemon', inputs=TICK, **keys)
    flow.ros_node('plain', 'plain.py', **keys)
    return flow


OBSTINATE = {
    'good': 'stopped',
    'deaf_to_sigint': 'stopped',
    'deaf': 'failed',
    'suspended': 'failed',
    'parent': 'stopped',
    'master': 'stopped',
    'plain': 'stopped',
}


def misbehaving(flow: Flow, manager: Run) -> Run:
    """Wait until each node of :func:`obstinate` does what it is there for."""
    manager.event('DATAFLOW_RUNNING', timeout=60.0)
    for node in ('suspended', 'deaf'):
        wait_for_mark(flow, node, 'running')
    return manager


def by_sigint(manager: Run, _observer: Callable[[], Observer]) -> None:
    manager.process.send_signal(signal.SIGINT)


def by_sigterm(manager: Run, _observer: Callable[[], Observer]) -> None:
    manager.process.send_signal(signal.SIGTERM)


def by_deactivation(_manager: Run, observer: Callable[[], Observer]) -> None:
    assert observer().change_state('/flow/manager', Transition.TRANSITION_DEACTIVATE)


def by_shutdown(_manager: Run, observer: Callable[[], Observer]) -> None:
    assert observer().change_state('/flow/manager', Transition.TRANSITION_ACTIVE_SHUTDOWN)


ENTRANCES = pytest.mark.parametrize(
    ('stop', 'reason'),
    [
        (by_sigint, 'SIGINT'),
        (by_sigterm, 'SIGTERM'),
        (by_deactivation, 'deactivated'),
        (by_shutdown, 'deactivated'),
    ],
    ids=['sigint', 'sigterm', 'deactivation', 'shutdown'],
)


def assert_ended(manager: Run, asked: float, *, code: int, reaction: float = 0.5) -> None:
    """Check that a run has ended within its ladder, with nothing left.

    Args:
        manager: The run.
        asked: Wall time at which it was asked to stop, in seconds since the epoch.
        code: The exit code.
        reaction: Seconds within which the stop has to begin.

    """
    assert manager.wait(LADDER + SLACK + 5.0) == code
    (begun,) = manager.all('DATAFLOW_STOPPING')
    assert begun['stamp'] / 1e9 - asked < reaction
    (ended,) = manager.all('DATAFLOW_ENDED')
    assert ended['stamp'] / 1e9 - asked < reaction + LADDER + SLACK
    assert left(manager.run_id) == []
    assert manager.all('NODE_RESTARTED') == []
    assert all(event['incarnation'] == 0 for event in manager.all('NODE_STARTING'))


@ENTRANCES
def test_a13_every_way_to_stop_works_before_any_node_is_ready(
    flow: Flow, run: Runs, observer: Observer, stop: Callable[..., None], reason: str
) -> None:
    manager = reached(flow, run(every_phase(flow)), observer)
    asked = time.time()
    stop(manager, lambda: observer)
    assert_ended(manager, asked, code=1, reaction=0.5 if stop in {by_sigint, by_sigterm} else DISCOVERY)
    assert manager.texts('DATAFLOW_STOPPING') == [f'stopping: {reason}']
    assert manager.texts('RESTART_CANCELLED') == ['restart cancelled: dataflow stopping during backoff wait']
    assert manager.states() == {
        'starting': 'stopped',
        'flooding': 'stopped',
        'waiting': 'stopped',
        'backing_off': 'failed',
        'configuring': 'stopped',
        'mute': 'stopped',
    }
    assert {node: flow.marked(node, 'spawned') for node in EVERY_PHASE} == {node: [0] for node in EVERY_PHASE}
    told = [line.split()[1] for line in flow.marks('waiting')]
    assert told == ['spawned', 'pid', 'running', 'STOP', 'cleaned']


@pytest.mark.parametrize('stop', [by_sigterm, by_deactivation], ids=['sigterm', 'deactivation'])
def test_a13_nodes_that_do_not_obey_are_ended(
    flow: Flow, run: Runs, observer: Observer, stop: Callable[..., None]
) -> None:
    manager = misbehaving(flow, run(obstinate(flow)))
    asked = time.time()
    stop(manager, lambda: observer)
    assert_ended(manager, asked, code=1, reaction=0.5 if stop in {by_sigint, by_sigterm} else DISCOVERY)
    assert manager.states() == OBSTINATE
    assert flow.marked('good', 'cleaned') == [0]
    assert manager.texts('NODE_EXITED', 'deaf_to_sigint') == ['exited: signal:SIGTERM']
    assert [manager.texts('NODE_EXITED', node) for node in ('deaf', 'suspended')] == [[KILLED], [KILLED]]


@pytest.mark.parametrize('transition', [Transition.TRANSITION_DEACTIVATE, Transition.TRANSITION_ACTIVE_SHUTDOWN])
def test_who_asks_for_a_stop_has_a_moment_to_receive_the_answer(
    flow: Flow, run: Runs, observer: Observer, transition: int
) -> None:
    manager = run(flow.node('good', 'silent.py', inputs=TICK)).running()
    client: Any = observer.node.create_client(ChangeState, '/flow/manager/change_state')
    assert client.wait_for_service(DISCOVERY)
    asked = time.monotonic()
    answer = client.call_async(ChangeState.Request(transition=Transition(id=transition)))
    assert manager.wait() == 0
    assert time.monotonic() - asked >= MOMENT
    assert answer.result().success


def test_a18_a_stop_from_another_thread_ends_the_loop(
    flow: Flow, run: Runs, observer: Observer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manager_harness, 'PROGRAM', EMBEDDING)
    os.mkfifo(flow.folder / 'stop')
    manager = reached(flow, run(every_phase(flow), env={'PYTHONPATH': os.pathsep.join(_python_path())}), observer)
    asked = time.time()
    (flow.folder / 'stop').open('wb').close()
    assert_ended(manager, asked, code=1)
    assert manager.texts('DATAFLOW_STOPPING') == ['stopping: stop requested']
    assert (flow.folder / 'cleaned').exists()


def test_a18_a_stop_from_another_thread_of_a_run_without_failures_is_no_failure(
    flow: Flow, run: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manager_harness, 'PROGRAM', EMBEDDING)
    os.mkfifo(flow.folder / 'stop')
    flow.node('good', 'silent.py', inputs=TICK)
    manager = run(flow, env={'PYTHONPATH': os.pathsep.join(_python_path())}).running()
    asked = time.time()
    (flow.folder / 'stop').open('wb').close()
    assert_ended(manager, asked, code=0)


def _python_path() -> list[str]:
    return [str(manager_harness.ROOT), str(manager_harness.ROOT / 'test')]


def test_stop_after_ends_nodes_that_do_not_obey(flow: Flow, run: Runs) -> None:
    manager = run(obstinate(flow), stop_after=8.0)
    assert manager.wait() == 1
    assert manager.texts('DATAFLOW_STOPPING') == ['stopping: time is up']
    assert manager.states() == OBSTINATE
    assert left(manager.run_id) == []


def test_a10_a_final_failure_can_stop_everything(flow: Flow, run: Runs) -> None:
    obstinate(flow)
    keys = {'restart_policy': 'on-failure', 'restart_delay': 0.01, 'max_restarts': 1, 'on_give_up': 'stop_dataflow'}
    flow.node('vital', 'crash.py', 'late', **keys)
    manager = run(flow)
    assert manager.wait() == 1
    assert flow.marked('vital', 'spawned') == [0, 1]
    assert manager.texts('DATAFLOW_STOPPING') == ['stopping: vital failed and its on_give_up is stop_dataflow']
    states = manager.states()
    assert states.pop('vital') == 'failed'
    assert states == OBSTINATE
    assert manager.outcome['result']['failures'][0]['node'] == 'vital'
    assert left(manager.run_id) == []


def test_a_node_is_stopped_by_its_service_in_every_phase(flow: Flow, run: Runs, observer: Observer) -> None:
    manager = reached(flow, run(every_phase(flow)), observer)
    for node in EVERY_PHASE:
        watch = Stopwatch()
        answer = observer.trigger(f'/flow/manager/{node}/stop')
        assert answer.success, answer.message
        manager.event('NODE_ENDED', node, timeout=LADDER + SLACK)
        assert watch() < LADDER + SLACK
    assert manager.wait() == 0
    assert manager.texts('RESTART_CANCELLED') == [
        'restart cancelled: node stopped by an operator during backoff wait',
    ]
    assert manager.all('DATAFLOW_STOPPING') == []
    assert {node: flow.marked(node, 'spawned') for node in EVERY_PHASE} == {node: [0] for node in EVERY_PHASE}
    assert left(manager.run_id) == []


def test_a_stop_service_ends_a_node_that_does_not_obey_and_nothing_else(
    flow: Flow, run: Runs, observer: Observer
) -> None:
    manager = misbehaving(flow, run(obstinate(flow)))
    nodes = [node for node in OBSTINATE if node != 'good']
    for node in nodes:
        assert observer.trigger(f'/flow/manager/{node}/stop').success
    for node in nodes:
        manager.event('NODE_ENDED', node, timeout=LADDER + SLACK)
    assert flow.marked('good', 'cleaned') == []
    assert left(manager.run_id) == [flow.pid('good', 0)]
    assert manager.interrupt() == 1
    assert manager.states() == OBSTINATE
    assert all(event['incarnation'] == 0 for event in manager.all('NODE_STARTING'))


def test_a04_a_stop_between_exit_and_respawn_spawns_nothing(flow: Flow, run: Runs) -> None:
    """The child that the node leaves behind delays its successor; the stop comes in between."""
    keys = {'restart_policy': 'always', 'restart_delay': 0, 'stop_grace': GRACE}
    flow.node('n', 'family.py', 'abandon', **keys)
    manager = run(flow)
    pid = flow.pid('n', 0)
    wait_for_mark(flow, 'n', 'leaving')
    eventually(lambda: not os.path.exists(f'/proc/{pid}'), 5.0, 'the end of the parent')  # noqa: PTH110 - it is quick
    asked = time.time()
    manager.process.send_signal(signal.SIGTERM)
    assert_ended(manager, asked, code=143)
    assert flow.marked('n', 'spawned') == [0]
    assert manager.states() == {'n': 'stopped'}


def test_a04_a_stop_beats_a_restart_that_an_operator_asked_for(flow: Flow, run: Runs, observer: Observer) -> None:
    flow.node('n', 'ignore.py', 'SIGINT', 'SIGTERM', restart_policy='always', stop_grace=2.0)
    manager = run(flow).running()
    assert observer.trigger('/flow/manager/n/restart').success
    manager.process.send_signal(signal.SIGTERM)
    assert manager.wait() == 1
    assert flow.marked('n', 'spawned') == [0]
    assert manager.texts('NODE_EXITED') == [KILLED]
    assert left(manager.run_id) == []


@pytest.mark.parametrize(
    ('deaf_to', 'signals', 'exited', 'code'),
    [
        (['SIGINT'], 2, 'exited: signal:SIGTERM', 130),
        (['SIGINT', 'SIGTERM'], 3, KILLED, 1),
    ],
    ids=['second', 'third'],
)
def test_a25_a_further_signal_skips_a_step_of_the_ladder(
    flow: Flow, run: Runs, deaf_to: list[str], signals: int, exited: str, code: int
) -> None:
    flow.node('n', 'ignore.py', *deaf_to, restart_policy='always', stop_grace=60)
    manager = run(flow).running()
    watch = Stopwatch()
    for number in range(signals):
        manager.process.send_signal(signal.SIGINT)
        if number == 0:
            manager.event('DATAFLOW_STOPPING')
        time.sleep(0.05)  # two signals of a kind at once are one
    assert manager.wait(20.0) == code
    assert watch() < SLACK
    assert manager.texts('NODE_EXITED') == [exited]
    assert left(manager.run_id) == []


def test_a25_a_node_that_ignores_sigterm_is_killed_and_reported(flow: Flow, run: Runs) -> None:
    flow.node('n', 'ignore.py', 'SIGINT', 'SIGTERM', stop_grace=GRACE)
    manager = run(flow).running()
    watch = Stopwatch()
    manager.process.send_signal(signal.SIGTERM)
    assert manager.wait() == 1
    assert LADDER <= watch() < LADDER + SLACK
    assert manager.texts('NODE_ENDED') == ['failed: killed: did not stop within its grace period']
    assert [event['node'] for event in manager.errors()] == ['n']


@pytest.mark.parametrize('kind', ['fork', 'daemon'])
def test_a14_no_grandchild_survives_a_stop(flow: Flow, run: Runs, kind: str) -> None:
    manager = run(flow.node('n', 'family.py', kind, inputs=TICK, stop_grace=GRACE)).running()
    assert len(left(manager.run_id)) == 2
    assert manager.interrupt() == 130
    assert left(manager.run_id) == []
    assert manager.states() == {'n': 'stopped'}


def test_a14_a_node_that_turns_itself_into_a_daemon_has_ended_and_leaves_nothing(flow: Flow, run: Runs) -> None:
    manager = run(flow.node('n', 'family.py', 'daemonise', restart_policy='always', restart_delay=0.1, max_restarts=2))
    assert manager.wait() == 0
    assert flow.marked('n', 'spawned') == [0, 1, 2]
    assert manager.states() == {'n': 'finished'}
    assert len(manager.all('WARNING', 'n')) == 3
    assert left(manager.run_id) == []


@pytest.mark.parametrize('script', ['silent.py', 'chatty.py'])
def test_a16_neither_silence_nor_a_flood_of_output_delays_a_stop(flow: Flow, run: Runs, script: str) -> None:
    manager = run(flow.node('n', script, inputs=TICK, stop_grace=5)).running()
    if script == 'chatty.py':
        eventually(lambda: len(manager.output) > 10_000, 20.0, 'the flood')
    asked = time.time()
    manager.process.send_signal(signal.SIGTERM)
    assert_ended(manager, asked, code=143)
    assert manager.texts('NODE_EXITED') == ['exited: exit code 0']


def test_a22_a_pending_transition_does_not_block_a_stop(flow: Flow, run: Runs) -> None:
    flow.ros_node('n', 'slow_configure.py', ros={'parameters': {'seconds': 1000.0}}, stop_grace=GRACE)
    manager = run(flow)
    wait_for_mark(flow, 'n', 'configure unconfigured')
    asked = time.time()
    manager.process.send_signal(signal.SIGTERM)
    assert_ended(manager, asked, code=143)


def test_a22_a_service_that_never_answers_does_not_block_a_stop(flow: Flow, run: Runs) -> None:
    flow.ros_node('n', 'plain.py', ros={'arguments': ['0'], 'lifecycle': True}, stop_grace=GRACE)
    manager = run(flow)
    wait_for_mark(flow, 'n', 'hanging')
    asked = time.time()
    manager.process.send_signal(signal.SIGTERM)
    assert_ended(manager, asked, code=143)


def test_a22_a_lifecycle_node_is_deactivated_whoever_asks_for_the_stop(
    flow: Flow, run: Runs, observer: Observer
) -> None:
    flow.ros_node('n', 'lifecycle_node.py', stop_grace=5)
    manager = run(flow).running()
    assert observer.change_state('/flow/manager', Transition.TRANSITION_DEACTIVATE)
    assert manager.wait() == 0
    assert flow.marked('n', 'deactivate active') == [0]
    assert manager.all('WARNING') == []


def test_a29_the_cleanup_of_nodes_and_of_the_manager_runs(
    flow: Flow, run: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manager_harness, 'PROGRAM', EMBEDDING)
    os.mkfifo(flow.folder / 'stop')
    flow.node('n', 'silent.py', inputs=TICK)
    flow.ros_node('p', 'plain.py')
    manager = run(flow, env={'PYTHONPATH': os.pathsep.join(_python_path())}).running()
    manager.process.send_signal(signal.SIGTERM)
    assert manager.wait() == 143
    assert flow.marked('n', 'cleaned') == [0]
    assert flow.marked('p', 'cleaned') == [0]
    assert (flow.folder / 'cleaned').exists()


@pytest.fixture
def terminal(flow: Flow) -> Iterator[Callable[..., Terminal]]:
    started: list[Terminal] = []

    def start(*arguments: str) -> Terminal:
        started.append(Terminal(flow, *arguments))
        return started[-1]

    yield start
    for one in started:
        one.close()


def test_ctrl_c_in_a_terminal_stops_everything(flow: Flow, terminal: Callable[..., Terminal]) -> None:
    obstinate(flow)
    shown = terminal()
    shown.wait_for('DATAFLOW_RUNNING')
    wait_for_mark(flow, 'deaf', 'running')
    watch = Stopwatch()
    shown.press_ctrl_c()
    assert shown.wait() == 1
    assert watch() < LADDER + SLACK
    assert 'stopping: SIGINT' in shown.text
    assert flow.marked('good', 'cleaned') == [0]


def test_ctrl_c_in_a_terminal_is_no_failure(flow: Flow, terminal: Callable[..., Terminal]) -> None:
    flow.node('good', 'silent.py', inputs=TICK)
    flow.ros_node('plain', 'plain.py')
    shown = terminal()
    shown.wait_for('DATAFLOW_RUNNING')
    shown.press_ctrl_c()
    assert shown.wait() == 130
    assert 'Traceback' not in shown.text


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_a13_a_signal_while_the_manager_itself_starts_ends_it(
    flow: Flow, terminal: Callable[..., Terminal], number: signal.Signals
) -> None:
    """The signals come at different moments of the start; whatever has been started by then is ended."""
    flow.node('n', 'silent.py', inputs=TICK, stop_grace=GRACE)
    for step in range(8):
        shown = terminal('--name', f'f{step}')
        time.sleep(0.2 + 0.08 * step)  # the moment is what this is about
        shown.process.send_signal(number)
        code = shown.wait()
        assert code in {128 + number, -number}, f'{code}: {shown.text}'
        assert 'ignored' not in shown.text
