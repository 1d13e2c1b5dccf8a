"""What the end of a node means for those that it feeds."""

from __future__ import annotations

import pytest

from adora_ros.supervision import (
    AllInputsClosedNotice,
    DataflowEnded,
    InputClosedNotice,
    NodeEnded,
    NodeFailedNotice,
    NodeState,
    ProcessEnded,
    RestartCancelled,
    Spawn,
)
from supervision.build import ALWAYS, CLEAN, CRASH, NEVER, Run, dataflow, node, on_failure, only


def test_a_clean_end_closes_inputs() -> None:
    run = Run(dataflow(node('a'), node('b', {'in': 'a/out'})), up=True)
    assert run.exit('a', CLEAN) == [
        ProcessEnded('a', 0, CLEAN),
        NodeEnded('a', NodeState.FINISHED, 'exit code 0'),
        InputClosedNotice('b', 'in'),
        AllInputsClosedNotice('b'),
    ]
    assert run.supervisor.closed_inputs('b') == ('in',)
    assert run.supervisor.snapshots()['b'].inputs_closed
    assert run.exit('b', CLEAN)[-1] == DataflowEnded()


def test_a_failure_is_told_before_the_inputs_close() -> None:
    run = Run(dataflow(node('a'), node('b', {'x': 'a/out', 'y': 'a/out'})), up=True)
    assert run.exit('a', CRASH) == [
        ProcessEnded('a', 0, CRASH),
        NodeEnded('a', NodeState.FAILED, 'exit code 1'),
        NodeFailedNotice('b', 'a', 'exit code 1', ('x', 'y')),
        InputClosedNotice('b', 'x'),
        InputClosedNotice('b', 'y'),
        AllInputsClosedNotice('b'),
    ]


def test_nothing_closes_while_a_restart_may_follow() -> None:
    run = Run(dataflow(node('a', restart=on_failure(max_restarts=1, delay=1.0)), node('b', {'in': 'a/out'})), up=True)
    assert only(run.exit('a', CRASH), InputClosedNotice) == []
    run.wait(1.0)
    assert run.supervisor.closed_inputs('b') == ()
    assert only(run.exit('a', CRASH), InputClosedNotice) == [InputClosedNotice('b', 'in')]


def test_all_inputs_are_closed_with_the_last_of_them() -> None:
    run = Run(dataflow(node('a'), node('b'), node('c', {'a': 'a/out', 'b': 'b/out'})), up=True)
    assert only(run.exit('a', CLEAN), AllInputsClosedNotice) == []
    assert not run.supervisor.snapshots()['c'].inputs_closed
    assert run.exit('b', CLEAN)[-2:] == [InputClosedNotice('c', 'b'), AllInputsClosedNotice('c')]


@pytest.mark.parametrize(('ignore_timers', 'told'), [(False, []), (True, [AllInputsClosedNotice('b')])])
def test_a_timer_keeps_a_node_open_unless_it_exits_when_nodes_finish(
    *, ignore_timers: bool, told: list[AllInputsClosedNotice]
) -> None:
    flow = dataflow(node('a'), node('b', {'in': 'a/out', 'tick': 'timer'}), exit_when_nodes_finish=ignore_timers)
    run = Run(flow, up=True)
    effects = run.exit('a', CLEAN)
    assert only(effects, InputClosedNotice) == [InputClosedNotice('b', 'in')]
    assert only(effects, AllInputsClosedNotice) == told


@pytest.mark.parametrize('ignore_timers', [False, True])
def test_an_external_topic_keeps_a_node_open(*, ignore_timers: bool) -> None:
    flow = dataflow(node('a'), node('b', {'in': 'a/out', 'scan': '/scan'}), exit_when_nodes_finish=ignore_timers)
    assert only(Run(flow, up=True).exit('a', CLEAN), AllInputsClosedNotice) == []


@pytest.mark.parametrize('ignore_timers', [False, True])
def test_a_node_with_nothing_but_timers_is_a_source(*, ignore_timers: bool) -> None:
    flow = dataflow(node('a'), node('clock', {'tick': 'timer'}, restart=ALWAYS), exit_when_nodes_finish=ignore_timers)
    run = Run(flow, up=True)
    run.exit('a', CLEAN)
    assert not run.supervisor.snapshots()['clock'].inputs_closed
    run.exit('clock', CLEAN, after=5.0)
    assert run.tick() == [Spawn('clock', 1)]
    assert only(run.effects, AllInputsClosedNotice) == []


def test_the_end_of_a_chain_runs_through_it() -> None:
    run = Run(dataflow(node('a'), node('b', {'in': 'a/out'}), node('c', {'in': 'b/out'})), up=True)
    assert only(run.exit('a', CLEAN), AllInputsClosedNotice) == [AllInputsClosedNotice('b')]
    assert only(run.exit('b', CLEAN), AllInputsClosedNotice) == [AllInputsClosedNotice('c')]
    assert only(run.exit('c', CLEAN), DataflowEnded) == [DataflowEnded()]


def test_a_wait_that_ends_is_followed_by_what_that_means() -> None:
    """``c`` hears of its own source's end before it hears of what that did to ``b``."""
    run = Run(
        dataflow(
            node('a'),
            node('b', {'in': 'a/out'}, restart=on_failure(delay=9.0)),
            node('c', {'b': 'b/out', 'a': 'a/out'}),
        ),
        up=True,
    )
    run.exit('b', CRASH)
    assert run.exit('a', CLEAN)[2:] == [
        InputClosedNotice('b', 'in'),
        AllInputsClosedNotice('b'),
        RestartCancelled('b', 'inputs closed during backoff wait'),
        NodeEnded('b', NodeState.FAILED, 'exit code 1'),
        InputClosedNotice('c', 'a'),
        NodeFailedNotice('c', 'b', 'exit code 1', ('b',)),
        InputClosedNotice('c', 'b'),
        AllInputsClosedNotice('c'),
    ]


def test_a_long_chain_of_waits_ends_in_one_go() -> None:
    waiting = [node(f'n{i}', {'in': f'n{i - 1}/out'}, restart=on_failure(delay=9.0)) for i in range(1, 400)]
    run = Run(dataflow(node('n0'), *waiting), up=True)
    for spec in waiting:
        run.exit(spec.id, CRASH)
    effects = run.exit('n0', CLEAN)
    assert len(only(effects, RestartCancelled)) == 399
    assert effects[-1] == DataflowEnded()


def test_a_node_that_has_ended_is_told_nothing() -> None:
    run = Run(dataflow(node('a'), node('b', {'in': 'a/out'})), up=True)
    run.exit('b', CRASH)
    assert run.exit('a', CRASH) == [
        ProcessEnded('a', 0, CRASH),
        NodeEnded('a', NodeState.FAILED, 'exit code 1'),
        DataflowEnded(),
    ]
    assert run.supervisor.closed_inputs('b') == ('in',)


def test_a_node_that_feeds_itself_ends_like_any_other() -> None:
    run = Run(dataflow(node('loop', {'again': 'loop/out'})), up=True)
    assert run.exit('loop', CLEAN) == [
        ProcessEnded('loop', 0, CLEAN),
        NodeEnded('loop', NodeState.FINISHED, 'exit code 0'),
        DataflowEnded(),
    ]


def test_a_cycle_ends_when_one_of_it_ends() -> None:
    run = Run(dataflow(node('a', {'in': 'b/out'}), node('b', {'in': 'a/out'})), up=True)
    assert only(run.exit('a', CLEAN), AllInputsClosedNotice) == [AllInputsClosedNotice('b')]
    assert run.exit('b', CLEAN)[-1] == DataflowEnded()


def test_inputs_that_close_before_their_node_is_up() -> None:
    run = Run(dataflow(node('a'), node('b', {'in': 'a/out'}, restart=ALWAYS)))
    run.start()
    assert run.exit('a', CLEAN)[-1] == AllInputsClosedNotice('b')
    run.up('b')
    run.exit('b', CLEAN)
    assert run.state('b') is NodeState.FINISHED


def test_a_partly_closed_node_still_restarts() -> None:
    flow = dataflow(node('a'), node('b'), node('c', {'a': 'a/out', 'b': 'b/out'}, restart=on_failure(delay=1.0)))
    run = Run(flow, up=True)
    run.exit('c', CRASH)
    assert only(run.exit('a', CLEAN), RestartCancelled) == []
    assert run.wait(1.0) == [Spawn('c', 1)]
    assert run.supervisor.closed_inputs('c') == ('a',)


def test_nothing_is_closed_by_a_stop_of_the_dataflow() -> None:
    run = Run(dataflow(node('a', restart=NEVER), node('b', {'in': 'a/out'})), up=True)
    run.stop()
    assert run.exit('a', CLEAN) == [ProcessEnded('a', 0, CLEAN), NodeEnded('a', NodeState.STOPPED, 'exit code 0')]
    assert only(run.exit('b', CLEAN), DataflowEnded) == [DataflowEnded()]
    assert only(run.effects, InputClosedNotice) == []
