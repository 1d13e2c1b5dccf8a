"""Rows of the acceptance list as far as they are decisions: no processes, no sleeping."""

from __future__ import annotations

import pytest

from adora_ros.dataflow.model import OnGiveUp, RestartSpec
from adora_ros.supervision import (
    DataflowEnded,
    Exit,
    ExitCause,
    GaveUp,
    InputClosedNotice,
    NodeEnded,
    NodeFailedNotice,
    NodeState,
    NodeUp,
    ProcessEnded,
    RestartAnnounced,
    RestartCancelled,
    Spawn,
    StopDataflow,
    StopProcess,
)
from supervision.build import ALWAYS, CLEAN, CRASH, NO_SPAWN, ON_FAILURE, SEGV, Run, dataflow, node, on_failure, only


def _one(restart: RestartSpec) -> Run:
    return Run(dataflow(node('n', restart=restart)), up=True)


def _delays(restart: RestartSpec, lives: list[float]) -> list[float]:
    run = _one(restart)
    for lived in lives:
        run.exit('n', CRASH, after=lived)
        run.wait((run.supervisor.next_due() or run.now) - run.now)
    return [announced.delay for announced in only(run.effects, RestartAnnounced)]


def test_a01_on_failure_leaves_a_clean_exit_down() -> None:
    run = _one(ON_FAILURE)
    run.exit('n', CLEAN, after=5.0)
    assert run.state('n') is NodeState.FINISHED
    assert run.wait(1e6) == []
    assert run.spawned('n') == [0]


def test_a01_always_restarts_a_clean_exit() -> None:
    run = _one(ALWAYS)
    run.exit('n', CLEAN, after=5.0)
    assert run.tick() == [Spawn('n', 1)]


@pytest.mark.parametrize('lived', [0.01, 30.0])
def test_a02_two_restarts_are_three_incarnations_and_one_give_up(lived: float) -> None:
    run = Run(dataflow(node('n', restart=on_failure(max_restarts=2)), node('sink', {'in': 'n/out'})), up=True)
    for _ in range(10):
        run.exit('n', CRASH, after=lived)
        run.wait(10.0)
    assert run.spawned('n') == [0, 1, 2]
    assert only(run.effects, GaveUp) == [GaveUp('n', 2, 'exit code 1')]
    assert run.state('n') is NodeState.FAILED
    assert run.wait(1e6) == []


def test_a03_without_a_delay_a_crash_loop_is_slowed_down() -> None:
    assert _delays(ON_FAILURE, [0.2] * 10) == pytest.approx([0.0, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0, 5.0])


def test_a03_the_guard_needs_deaths_within_a_second() -> None:
    assert _delays(ON_FAILURE, [5.0] * 50) == [0.0] * 50
    assert _delays(ON_FAILURE, [0.99, 0.99, 0.99, 1.0, 0.99, 0.99]) == pytest.approx([0.0, 0.1, 0.2, 0.0, 0.1, 0.2])


def test_a03_the_first_restart_is_immediate_whatever_the_life_before_it() -> None:
    assert _delays(ON_FAILURE, [0.0]) == [0.0]
    assert _delays(ON_FAILURE, [1e5]) == [0.0]


def test_a03_an_explicit_zero_means_no_delay() -> None:
    assert _delays(on_failure(delay=0.0), [0.01] * 200) == [0.0] * 200


def test_a03_with_a_delay_it_doubles_to_the_cap() -> None:
    assert _delays(on_failure(delay=0.5, max_delay=6.0), [0.2] * 6) == [0.5, 1.0, 2.0, 4.0, 6.0, 6.0]


def test_a03_a_second_of_crashing_spawns_a_handful() -> None:
    run = _one(ON_FAILURE)
    end = run.now + 10.0
    while run.now < end:
        run.exit('n', CRASH, after=0.01)
        run.wait(max(0.0, (run.supervisor.next_due() or run.now) - run.now))
    assert len(run.spawned('n')) <= 9


@pytest.mark.parametrize('restart', [ON_FAILURE, on_failure(delay=0.0), on_failure(delay=2.0), ALWAYS])
@pytest.mark.parametrize('how', ['dataflow', 'node'])
def test_a04_a_stop_between_exit_and_spawn_spawns_nothing(restart: RestartSpec, how: str) -> None:
    run = Run(dataflow(node('n', restart=restart), node('other')), up=True)
    run.exit('n', CRASH, after=5.0)
    assert len(only(run.effects, RestartAnnounced)) == 1
    effects = run.stop() if how == 'dataflow' else run.stop_node('n')
    reason = 'dataflow stopping' if how == 'dataflow' else 'node stopped by an operator'
    assert only(effects, RestartCancelled) == [RestartCancelled('n', f'{reason} during backoff wait')]
    assert run.supervisor.next_due() is None
    assert only(run.wait(1e6), Spawn) == []
    assert run.spawned('n') == [0]


@pytest.mark.parametrize('restart', [ON_FAILURE, on_failure(delay=0.0), on_failure(delay=2.0), ALWAYS])
def test_a04_a_stop_before_the_exit_spawns_nothing(restart: RestartSpec) -> None:
    run = _one(restart)
    assert run.stop() == [StopProcess('n', 0)]
    assert run.exit('n', CRASH, after=1.0)[-1] == DataflowEnded()
    assert run.wait(1e6) == []


def test_a05_spawns_that_fail_during_restarts_end_the_dataflow() -> None:
    run = Run(dataflow(node('n', restart=on_failure(max_restarts=2)), node('sink', {'in': 'n/out'})), up=True)
    run.exit('n', CRASH, after=5.0)
    assert run.tick() == [Spawn('n', 1)]
    assert only(run.exit('n', NO_SPAWN), RestartAnnounced) == [RestartAnnounced('n', 2, 0.1, NO_SPAWN.reason)]
    run.wait(0.1)
    effects = run.exit('n', NO_SPAWN)
    error = f'gave up after 2 restarts: {NO_SPAWN.reason}'
    assert effects[:5] == [
        ProcessEnded('n', 2, NO_SPAWN),
        GaveUp('n', 2, NO_SPAWN.reason),
        NodeEnded('n', NodeState.FAILED, error),
        NodeFailedNotice('sink', 'n', error, ('in',)),
        InputClosedNotice('sink', 'in'),
    ]
    assert only(run.exit('sink', CLEAN), DataflowEnded) == [DataflowEnded()]
    assert run.supervisor.result().error == f'n: {error}'


def test_a05_a_spawn_that_fails_under_never_is_final() -> None:
    run = Run(dataflow(node('n')))
    run.start()
    assert run.exit('n', NO_SPAWN) == [
        ProcessEnded('n', 0, NO_SPAWN),
        NodeEnded('n', NodeState.FAILED, NO_SPAWN.reason),
        DataflowEnded(),
    ]


@pytest.mark.parametrize(
    ('restart', 'ends', 'incarnations', 'state'),
    [
        (on_failure(max_restarts=3), [CRASH] * 10, 4, NodeState.FAILED),
        (on_failure(max_restarts=3), [CRASH, SEGV, CLEAN], 3, NodeState.FINISHED),
        (on_failure(max_restarts=3), [CLEAN], 1, NodeState.FINISHED),
        (on_failure(), [CRASH] * 7 + [CLEAN], 8, NodeState.FINISHED),
    ],
)
@pytest.mark.parametrize('lived', [0.0, 20.0])
def test_a06_exact_counts(
    restart: RestartSpec, ends: list[Exit], incarnations: int, state: NodeState, lived: float
) -> None:
    run = _one(restart)
    for end in ends:
        run.exit('n', end, after=lived)
        run.wait(10.0)
    assert run.spawned('n') == list(range(incarnations))
    assert run.state('n') is state


@pytest.mark.parametrize('end', [CRASH, SEGV, NO_SPAWN, Exit(cause=ExitCause.TRANSITION, detail='configure failed')])
def test_a11_a_crash_before_the_node_is_up_follows_the_same_policy(end: Exit) -> None:
    histories = []
    for comes_up in (False, True):
        run = Run(dataflow(node('n', restart=on_failure(max_restarts=2, delay=1.0)), node('peer')))
        run.start()
        for _ in range(3):
            if comes_up:
                run.up('n')
            run.exit('n', end, after=2.0)
            run.wait(10.0)
        histories.append([effect for effect in run.effects if not isinstance(effect, NodeUp)])
        assert run.spawned('n') == [0, 1, 2]
        assert run.state('n') is NodeState.FAILED
        assert run.state('peer') is NodeState.STARTING
    assert histories[0] == histories[1]


def test_a10_a_give_up_stops_the_dataflow_when_asked_to() -> None:
    run = Run(dataflow(node('n', on_give_up=OnGiveUp.STOP_DATAFLOW), node('other')), up=True)
    assert run.exit('n', CRASH)[-1] == StopDataflow('n')
    assert run.stop() == [StopProcess('other', 0)]
    assert run.obey()[-1] == DataflowEnded()
    assert not run.supervisor.result().ok


def test_a12_one_result_lists_every_failed_node() -> None:
    run = Run(dataflow(node('a'), node('b'), node('c')), up=True)
    for node_id, end in (('b', CRASH), ('c', CLEAN), ('a', SEGV)):
        run.exit(node_id, end)
    assert only(run.effects, DataflowEnded) == [DataflowEnded()]
    assert run.supervisor.result().error == 'b: exit code 1; a: signal:SIGSEGV'


def test_a26_an_error_exit_on_our_stop_is_stopped_and_counts_nothing() -> None:
    run = _one(on_failure(max_restarts=1))
    run.stop()
    run.exit('n', CRASH)
    assert run.state('n') is NodeState.STOPPED
    assert run.supervisor.snapshots()['n'].restarts == 0
    assert only(run.effects, RestartAnnounced) == []


def test_a41_hang_kills_follow_the_policy_until_it_gives_up() -> None:
    run = _one(on_failure(max_restarts=2, delay=1.0))
    killed = Exit(cause=ExitCause.STARTUP_TIMEOUT, signal='SIGKILL', detail='not connected after 2.0 s')
    for _ in range(3):
        run.exit('n', killed, after=2.0)
        run.wait(10.0)
    assert run.spawned('n') == [0, 1, 2]
    assert run.supervisor.result().error == 'n: gave up after 2 restarts: startup timeout: not connected after 2.0 s'


def test_a83_a_kill_from_outside_is_a_crash() -> None:
    run = _one(on_failure(delay=1.0))
    outside = Exit(cause=ExitCause.SIGNAL, signal='SIGKILL')
    assert run.exit('n', outside)[-1] == RestartAnnounced('n', 1, 1.0, 'signal:SIGKILL')
