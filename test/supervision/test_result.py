"""How a run ended."""

from __future__ import annotations

from adora_ros.supervision import NodeResult, NodeState
from supervision.build import CLEAN, CRASH, KILLED_AFTER_GRACE, SEGV, Run, dataflow, node, on_failure


def test_a_good_end() -> None:
    run = Run(dataflow(node('a'), node('b', {'in': 'a/out'})), up=True)
    run.exit('a', CLEAN)
    run.exit('b', CLEAN)
    result = run.supervisor.result()
    assert result.ok
    assert result.error == ''
    assert result.nodes == (
        NodeResult(node='a', state=NodeState.FINISHED, reason='exit code 0'),
        NodeResult(node='b', state=NodeState.FINISHED, reason='exit code 0'),
    )


def test_causes_come_before_consequences_whatever_the_order_of_the_file() -> None:
    run = Run(
        dataflow(node('sink', {'in': 'mid/out'}), node('mid', {'in': 'src/out'}), node('src'), node('x')), up=True
    )
    run.exit('src', SEGV)
    run.exit('sink', CRASH)
    run.exit('x', CRASH)
    run.exit('mid', CRASH)
    result = run.supervisor.result()
    assert result.error == 'src: signal:SIGSEGV; x: exit code 1; sink: exit code 1; mid: exit code 1'
    assert [failure.consequence for failure in result.failures] == [False, False, True, True]
    assert [r.node for r in result.nodes] == ['sink', 'mid', 'src', 'x']


def test_a_failure_downstream_that_came_first_is_a_cause() -> None:
    run = Run(dataflow(node('src'), node('sink', {'in': 'src/out'})), up=True)
    run.exit('sink', CRASH)
    run.exit('src', CRASH)
    assert [(f.node, f.consequence) for f in run.supervisor.result().failures] == [('sink', False), ('src', False)]


def test_the_first_failure_of_a_cycle_is_its_cause() -> None:
    run = Run(dataflow(node('a', {'in': 'b/out'}), node('b', {'in': 'a/out'})), up=True)
    run.exit('b', CRASH)
    run.exit('a', CRASH)
    assert [(f.node, f.consequence) for f in run.supervisor.result().failures] == [('b', False), ('a', True)]


def test_only_the_last_exit_counts() -> None:
    run = Run(dataflow(node('n', restart=on_failure(delay=1.0))), up=True)
    run.exit('n', CRASH)
    run.wait(1.0)
    assert run.supervisor.result().ok
    run.exit('n', CLEAN)
    assert run.supervisor.result().nodes == (NodeResult(node='n', state=NodeState.FINISHED, reason='exit code 0'),)


def test_a_stop_in_time_is_no_failure_and_a_kill_after_the_grace_is() -> None:
    run = Run(dataflow(node('a'), node('b')), up=True)
    run.stop()
    run.exit('a', CRASH)
    run.exit('b', KILLED_AFTER_GRACE)
    result = run.supervisor.result()
    assert result.nodes[0] == NodeResult(node='a', state=NodeState.STOPPED, reason='exit code 1')
    assert result.error == 'b: killed: did not stop within its grace period'


def test_a_node_that_was_started_again_has_not_failed() -> None:
    run = Run(dataflow(node('a'), node('b', {'in': 'a/out'})), up=True)
    run.exit('a', CRASH)
    run.exit('b', CRASH)
    run.start_node('a')
    assert run.supervisor.result().nodes[0] == NodeResult(node='a', state=NodeState.STARTING, reason='')
    assert [(f.node, f.consequence) for f in run.supervisor.result().failures] == [('b', False)]
    run.exit('a', CRASH)
    assert [(f.node, f.consequence) for f in run.supervisor.result().failures] == [('b', False), ('a', False)]


def test_a_node_without_an_end_has_no_reason() -> None:
    run = Run(dataflow(node('a', restart=on_failure(delay=1.0))), up=True)
    run.exit('a', CRASH)
    run.wait(1.0)
    run.up('a')
    assert run.supervisor.result().nodes == (NodeResult(node='a', state=NodeState.RUNNING, reason=''),)


def test_a_node_that_never_started_says_so() -> None:
    run = Run(dataflow(node('a')))
    run.stop()
    assert run.supervisor.result().nodes == (NodeResult(node='a', state=NodeState.STOPPED, reason='never started'),)
