"""An operator restarts, stops and starts single nodes."""

from __future__ import annotations

import pytest

from adora_ros.dataflow.model import NodeSpec, OnGiveUp
from adora_ros.supervision import (
    AllInputsClosedNotice,
    DataflowEnded,
    Exit,
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
from supervision.build import (
    ALWAYS,
    CLEAN,
    CRASH,
    KILLED_AFTER_GRACE,
    NEVER,
    ON_FAILURE,
    SEGV,
    Run,
    dataflow,
    node,
    on_failure,
    only,
)


def _pair(source: NodeSpec | None = None, sink: NodeSpec | None = None) -> Run:
    return Run(dataflow(source or node('a'), sink or node('b', {'in': 'a/out'})), up=True)


@pytest.mark.parametrize('end', [CLEAN, CRASH, SEGV, KILLED_AFTER_GRACE])
def test_restart_ends_the_process_and_spawns_it_again(end: Exit) -> None:
    run = _pair()
    assert run.restart_node('a') == [StopProcess('a', 0)]
    assert run.state('a') is NodeState.STOPPING
    assert run.exit('a', end) == [ProcessEnded('a', 0, end), RestartAnnounced('a', 0, 0.0, 'restart requested')]
    assert run.tick() == [Spawn('a', 1)]
    assert run.up('a') == [NodeUp('a', 1, ('b',))]
    assert run.supervisor.closed_inputs('b') == ()


def test_restart_spends_no_budget() -> None:
    run = _pair(node('a', restart=on_failure(max_restarts=1, delay=1.0)))
    for _ in range(5):
        run.restart_node('a')
        run.obey()
        run.tick()
    assert only(run.exit('a', CRASH), RestartAnnounced) == [RestartAnnounced('a', 1, 1.0, 'exit code 1')]
    run.wait(1.0)
    assert len(only(run.exit('a', CRASH), GaveUp)) == 1


def test_restart_of_a_starting_node() -> None:
    run = Run(dataflow(node('a')))
    run.start()
    assert run.restart_node('a') == [StopProcess('a', 0)]
    run.obey()
    assert run.tick() == [Spawn('a', 1)]


def test_restart_ends_a_backoff_wait() -> None:
    run = _pair(node('a', restart=on_failure(delay=100.0)))
    run.exit('a', CRASH)
    assert run.restart_node('a') == [Spawn('a', 1)]
    assert run.wait(1000.0) == []
    assert run.supervisor.next_due() is None


def test_a_second_restart_has_no_effect() -> None:
    run = _pair()
    run.restart_node('a')
    assert run.restart_node('a') == []
    run.obey()
    assert run.tick() == [Spawn('a', 1)]


def test_restart_and_start_before_the_start_have_no_effect() -> None:
    run = Run(dataflow(node('a')))
    assert run.restart_node('a') == []
    assert run.start_node('a') == []


@pytest.mark.parametrize('order', ['restart', 'start'])
def test_the_operators_last_word_counts(order: str) -> None:
    run = _pair(node('a', restart=ALWAYS))
    assert run.stop_node('a') == [StopProcess('a', 0)]
    assert (run.restart_node if order == 'restart' else run.start_node)('a') == []
    assert only(run.exit('a', CLEAN), RestartAnnounced) == [RestartAnnounced('a', 0, 0.0, 'restart requested')]
    assert run.tick() == [Spawn('a', 1)]
    run.restart_node('a')
    assert run.stop_node('a') == []
    run.exit('a', CLEAN)
    assert run.state('a') is NodeState.STOPPED


def test_stop_closes_inputs_but_not_for_good() -> None:
    run = _pair(node('a', restart=ALWAYS), node('b', {'in': 'a/out'}, restart=ON_FAILURE))
    assert run.stop_node('a') == [StopProcess('a', 0)]
    assert run.exit('a', Exit(cause=CRASH.cause, code=130)) == [
        ProcessEnded('a', 0, Exit(cause=CRASH.cause, code=130)),
        NodeEnded('a', NodeState.STOPPED, 'exit code 130'),
        InputClosedNotice('b', 'in'),
    ]
    assert run.supervisor.closed_inputs('b') == ('in',)
    run.exit('b', CRASH, after=5.0)
    assert run.tick() == [Spawn('b', 1)]


def test_start_opens_inputs_again() -> None:
    run = _pair()
    run.stop_node('a')
    run.obey()
    assert run.start_node('a') == [Spawn('a', 1)]
    assert run.supervisor.closed_inputs('b') == ()
    assert run.up('a') == [NodeUp('a', 1, ('b',))]
    assert run.exit('a', CLEAN)[2:] == [InputClosedNotice('b', 'in'), AllInputsClosedNotice('b')]


@pytest.mark.parametrize('end', [CLEAN, CRASH])
def test_start_of_an_ended_source_lets_its_consumers_go_on(end: Exit) -> None:
    run = _pair(sink=node('b', {'in': 'a/out'}, restart=ON_FAILURE))
    run.exit('a', end)
    assert run.supervisor.snapshots()['b'].inputs_closed
    assert run.start_node('a') == [Spawn('a', 1)]
    assert not run.supervisor.snapshots()['b'].inputs_closed
    run.exit('b', CRASH, after=5.0)
    assert run.tick() == [Spawn('b', 1)]
    assert run.supervisor.result().ok


def test_a_source_that_was_started_again_keeps_its_consumers_open() -> None:
    run = Run(dataflow(node('a'), node('b'), node('c', {'a': 'a/out', 'b': 'b/out'})), up=True)
    run.exit('a', CLEAN)
    run.start_node('a')
    assert run.exit('b', CLEAN)[2:] == [InputClosedNotice('c', 'b')]
    assert run.exit('a', CLEAN)[2:] == [InputClosedNotice('c', 'a'), AllInputsClosedNotice('c')]


def test_stop_and_start_of_a_node_that_does_not_need_it() -> None:
    run = _pair(node('a', restart=on_failure(delay=9.0)))
    assert run.start_node('a') == []
    run.exit('a', CRASH)
    assert run.start_node('a') == []
    run.wait(9.0)
    run.stop_node('a')
    assert run.stop_node('a') == []
    run.obey()
    assert run.stop_node('a') == []
    assert run.spawned('a') == [0, 1]


def test_stop_before_the_start_keeps_a_node_down() -> None:
    run = Run(dataflow(node('a'), node('b')))
    assert run.stop_node('a') == [NodeEnded('a', NodeState.STOPPED, 'never started')]
    assert run.start() == [Spawn('b', 0)]
    assert run.start_node('a') == [Spawn('a', 0)]


def test_stop_during_a_backoff_wait_is_a_stop() -> None:
    run = _pair(node('a', restart=on_failure(delay=9.0), on_give_up=OnGiveUp.STOP_DATAFLOW))
    run.exit('a', CRASH)
    assert run.stop_node('a') == [
        RestartCancelled('a', 'node stopped by an operator during backoff wait'),
        NodeEnded('a', NodeState.STOPPED, 'exit code 1'),
        InputClosedNotice('b', 'in'),
    ]
    assert run.wait(100.0) == []
    assert run.supervisor.result().ok


def test_stop_that_needs_sigkill_fails_the_node_and_spares_the_rest() -> None:
    run = _pair(node('a', on_give_up=OnGiveUp.STOP_DATAFLOW))
    run.stop_node('a')
    effects = run.exit('a', KILLED_AFTER_GRACE)
    reason = KILLED_AFTER_GRACE.reason
    assert effects[1:] == [
        NodeEnded('a', NodeState.FAILED, reason),
        NodeFailedNotice('b', 'a', reason, ('in',)),
        InputClosedNotice('b', 'in'),
    ]
    assert only(effects, StopDataflow) == []
    assert run.start_node('a') == [Spawn('a', 1)]


def test_start_gives_a_new_budget() -> None:
    run = _pair(node('a', restart=on_failure(max_restarts=1, delay=1.0)))
    for _ in range(2):
        run.exit('a', CRASH)
        run.wait(1.0)
    assert run.state('a') is NodeState.FAILED
    assert run.start_node('a') == [Spawn('a', 2)]
    assert only(run.exit('a', CRASH), RestartAnnounced) == [RestartAnnounced('a', 1, 1.0, 'exit code 1')]


def test_restart_of_an_ended_node_starts_it() -> None:
    run = _pair()
    run.exit('a', CRASH)
    assert run.restart_node('a') == [Spawn('a', 1)]
    assert run.supervisor.closed_inputs('b') == ()


def test_a_requested_restart_takes_place_though_the_inputs_close_meanwhile() -> None:
    for closes_before_exit in (True, False):
        run = _pair(sink=node('b', {'in': 'a/out'}, restart=NEVER))
        run.restart_node('b')
        if closes_before_exit:
            run.exit('a', CLEAN)
            run.exit('b', CLEAN)
        else:
            run.exit('b', CLEAN)
            run.exit('a', CLEAN)
        assert run.tick() == [Spawn('b', 1), AllInputsClosedNotice('b')]
        run.up('b')
        assert run.exit('b', CLEAN)[-2:] == [NodeEnded('b', NodeState.FINISHED, 'exit code 0'), DataflowEnded()]


def test_a_node_started_after_its_inputs_closed_is_told_so() -> None:
    run = _pair(sink=node('b', {'in': 'a/out'}, restart=ALWAYS))
    run.exit('a', CLEAN)
    run.exit('b', CLEAN)
    assert run.start_node('b') == [Spawn('b', 1), AllInputsClosedNotice('b')]
    run.exit('b', CLEAN)
    assert run.state('b') is NodeState.FINISHED


def test_a_stop_during_a_requested_restart_leaves_the_node_stopped() -> None:
    run = _pair(node('a', restart=on_failure(delay=1.0)))
    run.exit('a', CRASH)
    run.wait(1.0)
    run.restart_node('a')
    run.exit('a', CRASH)
    assert only(run.stop(), NodeEnded) == [NodeEnded('a', NodeState.STOPPED, 'exit code 1')]


def test_nothing_is_started_while_the_dataflow_stops() -> None:
    run = _pair()
    run.stop()
    run.exit('a', CLEAN)
    assert run.start_node('a') == []
    assert run.restart_node('a') == []
    assert run.restart_node('b') == []
    assert run.start_node('b') == []
    run.obey()
    assert run.wait(100.0) == []
    assert only(run.effects, Spawn) == [Spawn('a', 0), Spawn('b', 0)]


def test_a_dataflow_that_was_started_again_ends_again() -> None:
    run = Run(dataflow(node('a')), up=True)
    assert run.exit('a', CLEAN)[-1] == DataflowEnded()
    run.start_node('a')
    assert not run.supervisor.ended
    assert run.exit('a', CLEAN)[-1] == DataflowEnded()
    assert len(only(run.effects, DataflowEnded)) == 2
