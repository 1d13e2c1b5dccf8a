"""Nodes that run on other machines, of whose fate a supervisor is told."""

from __future__ import annotations

from adora_ros.dataflow.model import Dataflow, OnGiveUp, RestartStrategy
from adora_ros.supervision import (
    AllInputsClosedNotice,
    DataflowEnded,
    DataflowSupervisor,
    InputClosedNotice,
    NodeFailedNotice,
    NodeState,
    Spawn,
    StopDataflow,
    StopProcess,
)
from supervision.build import CLEAN, dataflow, node, only

FLOW = dataflow(node('far'), node('near', {'in': 'far/out'}), node('sink', {'in': 'near/out'}))


def started(flow: Dataflow = FLOW, *local: str) -> DataflowSupervisor:
    supervisor = DataflowSupervisor(flow, local or ('near', 'sink'))
    for effect in supervisor.start(0.0):
        if isinstance(effect, Spawn):
            supervisor.up(effect.node, 0, 0.0)
    return supervisor


def test_only_nodes_of_this_machine_are_started_and_end_the_run() -> None:
    supervisor = DataflowSupervisor(FLOW, ('near', 'sink'))
    assert [effect.node for effect in only(supervisor.start(0.0), Spawn)] == ['near', 'sink']
    assert list(supervisor.snapshots()) == ['near', 'sink']
    supervisor.exited('near', 0, CLEAN, 1.0)
    assert only(supervisor.exited('sink', 0, CLEAN, 1.0), DataflowEnded) == [DataflowEnded()]
    assert supervisor.result().ok


def test_the_end_of_a_node_elsewhere_closes_inputs_here() -> None:
    supervisor = started()
    assert supervisor.peer_ended('far', NodeState.FAILED, 'exit code 3', for_good=True) == (
        NodeFailedNotice('near', 'far', 'exit code 3', ('in',)),
        InputClosedNotice('near', 'in'),
        AllInputsClosedNotice('near'),
    )
    assert supervisor.inputs_closed('near')
    assert supervisor.result().ok  # what failed elsewhere is in the result there


def test_one_that_an_operator_stopped_elsewhere_may_return() -> None:
    supervisor = started()
    assert supervisor.peer_ended('far', NodeState.STOPPED, 'stopped', for_good=False) == (
        InputClosedNotice('near', 'in'),
    )
    assert supervisor.closed_inputs('near') == ('in',)
    supervisor.peer_returned('far')
    assert supervisor.closed_inputs('near') == ()
    assert not supervisor.inputs_closed('near')


def test_one_whose_failure_stops_the_dataflow_does_so_everywhere() -> None:
    flow = dataflow(node('far', on_give_up=OnGiveUp.STOP_DATAFLOW), node('near', {'in': 'far/out'}))
    supervisor = started(flow, 'near')
    assert supervisor.peer_ended('far', NodeState.FAILED, 'x', for_good=True) == (StopDataflow('far'),)


def test_a_restart_elsewhere_restarts_what_the_strategy_ties_to_it() -> None:
    flow = dataflow(node('far'), node('near', {'in': 'far/out'}), strategy=RestartStrategy.REST_FOR_ONE)
    supervisor = started(flow, 'near')
    assert supervisor.peer_restarted('far', 1.0) == (StopProcess('near', 0),)
