"""The steps from an exit to the next incarnation of one node."""

from __future__ import annotations

import pytest

from adora_ros.dataflow.model import OnGiveUp, RestartPolicy, RestartSpec
from adora_ros.supervision import (
    DataflowEnded,
    Exit,
    ExitCause,
    GaveUp,
    NodeEnded,
    NodeState,
    NodeUp,
    ProcessEnded,
    RestartAnnounced,
    RestartCancelled,
    Spawn,
    StopDataflow,
    StopProcess,
)
from supervision.build import ALWAYS, CLEAN, CRASH, NEVER, ON_FAILURE, SEGV, Run, dataflow, node, on_failure, only


def _one(restart: RestartSpec, *, up: bool = True) -> Run:
    return Run(dataflow(node('n', restart=restart)), up=up)


def test_from_start_to_a_clean_end() -> None:
    run = _one(NEVER, up=False)
    assert run.state('n') is NodeState.PENDING
    assert run.start() == [Spawn('n', 0)]
    assert run.state('n') is NodeState.STARTING
    assert run.up('n') == [NodeUp('n', 0, ())]
    assert run.state('n') is NodeState.RUNNING
    assert run.exit('n', CLEAN) == [
        ProcessEnded('n', 0, CLEAN),
        NodeEnded('n', NodeState.FINISHED, 'exit code 0'),
        DataflowEnded(),
    ]
    assert run.supervisor.ended


def test_a_restart_waits_for_its_delay() -> None:
    run = _one(on_failure(delay=2.0))
    assert run.exit('n', SEGV) == [ProcessEnded('n', 0, SEGV), RestartAnnounced('n', 1, 2.0, 'signal:SIGSEGV')]
    assert run.state('n') is NodeState.BACKOFF
    assert run.supervisor.next_due() == run.now + 2.0
    assert run.wait(1.999) == []
    assert run.wait(0.001) == [Spawn('n', 1)]
    assert run.supervisor.next_due() is None
    assert run.wait(100.0) == []


def test_a_restart_without_a_delay_is_due_at_once() -> None:
    run = _one(ON_FAILURE)
    run.exit('n', CRASH)
    assert run.supervisor.next_due() == run.now
    assert run.tick() == [Spawn('n', 1)]


def test_n_restarts_are_n_plus_1_incarnations() -> None:
    run = _one(on_failure(max_restarts=5, delay=1.0))
    while run.state('n') is not NodeState.FAILED:
        run.exit('n', CRASH, after=3.0)
        run.wait(100.0)
    assert run.spawned('n') == [0, 1, 2, 3, 4, 5]
    assert [announced.number for announced in only(run.effects, RestartAnnounced)] == [1, 2, 3, 4, 5]
    assert [announced.delay for announced in only(run.effects, RestartAnnounced)] == [1.0, 2.0, 4.0, 8.0, 16.0]
    assert run.supervisor.snapshots()['n'].restarts == 5


def test_giving_up_is_announced_once_and_is_final() -> None:
    run = _one(on_failure(max_restarts=1))
    run.exit('n', CRASH, after=5.0)
    run.tick()
    assert run.exit('n', SEGV, after=5.0) == [
        ProcessEnded('n', 1, SEGV),
        GaveUp('n', 1, 'signal:SIGSEGV'),
        NodeEnded('n', NodeState.FAILED, 'gave up after 1 restart: signal:SIGSEGV'),
        DataflowEnded(),
    ]
    assert run.wait(1e6) == []


def test_giving_up_on_clean_exits_is_no_failure() -> None:
    run = _one(RestartSpec(policy=RestartPolicy.ALWAYS, max_restarts=2))
    for _ in range(3):
        run.exit('n', CLEAN, after=5.0)
        run.tick()
    assert run.spawned('n') == [0, 1, 2]
    assert only(run.effects, GaveUp) == [GaveUp('n', 2, 'exit code 0')]
    assert only(run.effects, NodeEnded) == [NodeEnded('n', NodeState.FINISHED, 'gave up after 2 restarts: exit code 0')]
    assert run.supervisor.result().ok


def test_the_window_gives_a_new_budget() -> None:
    run = _one(on_failure(max_restarts=2, delay=1.0, window=60.0))
    for _ in range(10):
        run.exit('n', CRASH, after=40.0)
        run.wait(10.0)
    assert [a.number for a in only(run.effects, RestartAnnounced)] == [1, 2] * 5
    assert [a.delay for a in only(run.effects, RestartAnnounced)] == [1.0, 2.0] * 5


def test_health_resets_the_delay_and_keeps_the_budget() -> None:
    run = _one(on_failure(max_restarts=4, delay=1.0))
    for healthy in (1.0, 1.0, 61.0, 1.0):
        run.exit('n', CRASH, after=healthy)
        run.wait(50.0)
        run.up('n')
    assert [(a.number, a.delay) for a in only(run.effects, RestartAnnounced)] == [
        (1, 1.0),
        (2, 2.0),
        (3, 1.0),
        (4, 2.0),
    ]
    assert only(run.exit('n', CRASH, after=1000.0), GaveUp) == [GaveUp('n', 4, 'exit code 1')]


def test_the_time_before_an_incarnation_is_up_is_not_health() -> None:
    run = _one(on_failure(delay=1.0))
    run.exit('n', CRASH, after=1.0)
    run.wait(1.0)
    run.wait(100.0)
    run.up('n')
    assert only(run.exit('n', CRASH, after=10.0), RestartAnnounced) == [RestartAnnounced('n', 2, 2.0, 'exit code 1')]


def test_health_before_an_operators_restart_resets_the_delay() -> None:
    run = _one(on_failure(delay=1.0))
    for _ in range(3):
        run.exit('n', CRASH, after=1.0)
        run.wait(10.0)
        run.up('n')
    run.wait(100.0)
    run.restart_node('n')
    run.obey()
    run.tick()
    assert only(run.exit('n', CRASH, after=1.0), RestartAnnounced) == [RestartAnnounced('n', 4, 1.0, 'exit code 1')]


def test_a_source_without_inputs_restarts_like_any_other_node() -> None:
    run = Run(dataflow(node('source', restart=ALWAYS), node('sink', {'in': 'source/out'})), up=True)
    run.exit('source', CLEAN, after=5.0)
    assert run.tick() == [Spawn('source', 1)]


def test_a_stop_during_the_wait_cancels_the_restart() -> None:
    run = _one(on_failure(delay=2.0))
    run.exit('n', CRASH)
    assert run.stop() == [
        RestartCancelled('n', 'dataflow stopping during backoff wait'),
        NodeEnded('n', NodeState.FAILED, 'exit code 1'),
        DataflowEnded(),
    ]
    assert run.wait(100.0) == []


def test_a_cancelled_wait_after_a_clean_exit_is_a_clean_end() -> None:
    run = _one(RestartSpec(policy=RestartPolicy.ALWAYS, delay=2.0))
    run.exit('n', CLEAN)
    assert only(run.stop(), NodeEnded) == [NodeEnded('n', NodeState.FINISHED, 'exit code 0')]


def test_inputs_that_close_for_good_during_the_wait_cancel_the_restart() -> None:
    run = Run(dataflow(node('a'), node('n', {'in': 'a/out'}, restart=on_failure(delay=2.0))), up=True)
    run.exit('n', CRASH)
    effects = run.exit('a', CLEAN, after=1.0)
    assert effects[-3:] == [
        RestartCancelled('n', 'inputs closed during backoff wait'),
        NodeEnded('n', NodeState.FAILED, 'exit code 1'),
        DataflowEnded(),
    ]
    assert run.wait(100.0) == []


@pytest.mark.parametrize(
    ('restart', 'end', 'state'),
    [
        (ALWAYS, CLEAN, NodeState.FINISHED),
        (ALWAYS, CRASH, NodeState.FAILED),
        (ON_FAILURE, CRASH, NodeState.FAILED),
    ],
)
def test_after_all_inputs_closed_an_exit_is_final(restart: RestartSpec, end: Exit, state: NodeState) -> None:
    run = Run(dataflow(node('a'), node('n', {'in': 'a/out'}, restart=restart)), up=True)
    run.exit('a', CLEAN)
    effects = run.exit('n', end)
    assert only(effects, RestartAnnounced) == []
    assert run.state('n') is state


def test_a_stop_beats_a_restart_that_was_asked_for() -> None:
    run = _one(ALWAYS)
    run.restart_node('n')
    assert run.stop() == []
    assert run.exit('n', CLEAN) == [
        ProcessEnded('n', 0, CLEAN),
        NodeEnded('n', NodeState.STOPPED, 'exit code 0'),
        DataflowEnded(),
    ]


def test_a_second_stop_has_no_effect() -> None:
    run = _one(ALWAYS)
    assert run.stop() == [StopProcess('n', 0)]
    assert run.supervisor.stopping
    assert run.stop() == []


def test_stop_goes_from_the_sources_to_the_sinks() -> None:
    flow = dataflow(node('c', {'in': 'b/out'}), node('b', {'in': 'a/out'}), node('a'), node('free'))
    assert Run(flow, up=True).stop() == [StopProcess(n, 0) for n in ('a', 'free', 'b', 'c')]


def test_what_is_due_is_spawned_from_the_sinks_to_the_sources() -> None:
    flow = dataflow(*[node(n, i, restart=ON_FAILURE) for n, i in (('a', {}), ('b', {'in': 'a/out'}))])
    run = Run(flow, up=True)
    run.exit('a', CRASH)
    run.exit('b', CRASH)
    assert run.tick() == [Spawn('b', 1), Spawn('a', 1)]


def test_a_stop_before_the_start_leaves_nothing_to_start() -> None:
    run = _one(ALWAYS, up=False)
    assert run.stop() == [NodeEnded('n', NodeState.STOPPED, 'never started'), DataflowEnded()]
    assert run.start() == []
    assert run.start_node('n') == []
    assert run.restart_node('n') == []
    assert run.wait(100.0) == []


def test_a_second_start_starts_nothing() -> None:
    run = _one(NEVER)
    assert run.start() == []
    run.exit('n', CLEAN)
    assert run.start() == []


def test_a_dataflow_without_nodes_ends_as_it_starts() -> None:
    run = Run(dataflow())
    assert run.start() == [DataflowEnded()]
    assert run.supervisor.result().ok


def test_late_news_of_an_older_incarnation_is_ignored() -> None:
    run = _one(on_failure(delay=1.0))
    run.exit('n', CRASH, after=5.0)
    run.wait(1.0)
    supervisor = run.supervisor
    assert supervisor.exited('n', 0, SEGV, run.now) == ()
    assert supervisor.up('n', 0, run.now) == ()
    assert run.state('n') is NodeState.STARTING
    assert supervisor.snapshots()['n'].last_exit == CRASH


def test_news_of_an_incarnation_to_come_is_ignored() -> None:
    run = _one(ON_FAILURE, up=False)
    run.start()
    assert run.supervisor.up('n', 1, run.now) == ()
    assert run.supervisor.exited('n', 1, CRASH, run.now) == ()
    assert run.state('n') is NodeState.STARTING


def test_a_second_report_of_the_same_exit_is_ignored() -> None:
    run = _one(on_failure(delay=1.0))
    run.exit('n', CRASH)
    assert run.exit('n', SEGV) == []
    assert run.supervisor.snapshots()['n'].last_exit == CRASH


def test_up_is_news_once_and_only_for_a_process_that_starts() -> None:
    run = _one(on_failure(delay=1.0))
    assert run.up('n') == []
    run.exit('n', CRASH)
    assert run.up('n') == []
    run.wait(1.0)
    run.stop_node('n')
    assert run.up('n') == []
    assert run.state('n') is NodeState.STOPPING


def test_consumers_hear_of_a_restart_when_the_new_incarnation_is_up() -> None:
    run = Run(
        dataflow(
            node('a', restart=on_failure(delay=1.0)),
            node('b', {'x': 'a/out', 'y': 'a/out'}),
            node('c', {'in': 'b/out'}),
            node('d', {'in': 'a/out'}),
            node('gone', {'in': 'a/out'}),
        ),
        up=True,
    )
    run.exit('gone', CLEAN)
    run.exit('a', CRASH)
    assert run.wait(1.0) == [Spawn('a', 1)]
    assert run.up('a') == [NodeUp('a', 1, ('b', 'd'))]


def test_a_snapshot_tells_everything() -> None:
    run = _one(on_failure(max_restarts=1, delay=2.0), up=False)
    shot = run.supervisor.snapshots()['n']
    assert (shot.incarnation, shot.restarts, shot.last_exit, shot.reason) == (-1, 0, None, '')
    run.start()
    run.up('n')
    up_since = run.now
    assert run.supervisor.snapshots()['n'].up_since == up_since
    run.exit('n', CRASH, after=1.0)
    shot = run.supervisor.snapshots()['n']
    assert (shot.state, shot.due, shot.up_since, shot.last_exit) == (NodeState.BACKOFF, run.now + 2.0, None, CRASH)
    assert shot.reason == ''
    run.wait(2.0)
    run.exit('n', SEGV)
    shot = run.supervisor.snapshots()['n']
    assert (shot.state, shot.due, shot.restarts) == (NodeState.FAILED, None, 1)
    assert shot.reason == 'gave up after 1 restart: signal:SIGSEGV'


@pytest.mark.parametrize('cause', [cause for cause in ExitCause if cause is not ExitCause.CLEAN])
def test_on_give_up_stops_the_dataflow_whatever_made_the_failure_final(cause: ExitCause) -> None:
    run = Run(
        dataflow(
            node(
                'n', restart=RestartSpec(policy=RestartPolicy.ALWAYS, max_restarts=1), on_give_up=OnGiveUp.STOP_DATAFLOW
            ),
            node('sink', {'in': 'n/out'}),
        ),
        up=True,
    )
    end = Exit(cause=cause, code=1)
    assert only(run.exit('n', end, after=5.0), StopDataflow) == []
    run.tick()
    effects = run.exit('n', end, after=5.0)
    assert effects[-2:] == [
        NodeEnded('n', NodeState.FAILED, f'gave up after 1 restart: {end.reason}'),
        StopDataflow('n'),
    ]
    assert run.stop() == [StopProcess('sink', 0)]
    assert run.obey() == [
        ProcessEnded('sink', 0, CLEAN),
        NodeEnded('sink', NodeState.STOPPED, 'exit code 0'),
        DataflowEnded(),
    ]
    assert not run.supervisor.result().ok


def test_on_give_up_needs_a_failure() -> None:
    run = Run(dataflow(node('n', on_give_up=OnGiveUp.STOP_DATAFLOW), node('other')), up=True)
    assert only(run.exit('n', CLEAN), StopDataflow) == []
    assert run.state('other') is NodeState.RUNNING


def test_on_give_up_without_any_restart() -> None:
    run = Run(dataflow(node('n', on_give_up=OnGiveUp.STOP_DATAFLOW), node('other')), up=True)
    assert only(run.exit('n', CRASH), StopDataflow) == [StopDataflow('n')]


def test_a_failure_while_stopping_asks_for_no_further_stop() -> None:
    run = Run(dataflow(node('n', on_give_up=OnGiveUp.STOP_DATAFLOW), node('other')), up=True)
    run.stop()
    killed = Exit(cause=ExitCause.SIGNAL, signal='SIGKILL', after_grace=True)
    assert run.exit('n', killed) == [ProcessEnded('n', 0, killed), NodeEnded('n', NodeState.FAILED, killed.reason)]
