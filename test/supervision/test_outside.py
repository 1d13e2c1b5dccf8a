"""Nodes whose process somebody else starts."""

from __future__ import annotations

from dataclasses import replace

from adora_ros.dataflow.model import NodeKind
from adora_ros.supervision import (
    AllInputsClosedNotice,
    DataflowEnded,
    Exit,
    ExitCause,
    InputClosedNotice,
    NodeEnded,
    NodeState,
    Spawn,
    StopProcess,
)
from supervision.build import ALWAYS, CLEAN, Run, dataflow, node, only

LEFT = Exit(cause=ExitCause.DETACHED)


def run() -> Run:
    """Return a run of a camera, of a viewer that somebody else starts, and of what listens to that."""
    viewer = replace(node('viewer', {'image': 'camera/out'}), kind=NodeKind.DYNAMIC)
    run = Run(dataflow(node('camera', restart=ALWAYS), viewer, node('sink', {'seen': 'viewer/out'})))
    run.start()
    for name in ('camera', 'sink'):
        run.up(name)
    return run


def test_it_is_started_by_whoever_comes_and_by_nobody_else() -> None:
    here = run()
    assert [spawn.node for spawn in only(here.effects, Spawn)] == ['camera', 'sink']
    assert here.supervisor.attach('camera', here.now) == ()
    assert here.supervisor.restart_node('viewer', here.now) == ()
    assert here.supervisor.attach('viewer', here.now) == (Spawn('viewer', 0),)
    here.up('viewer')
    assert here.supervisor.attach('viewer', here.now) == ()


def test_it_may_leave_and_come_back() -> None:
    here = run()
    here.supervisor.attach('viewer', here.now)
    here.up('viewer')
    ended = here.exit('viewer', LEFT)
    assert only(ended, NodeEnded) == [NodeEnded('viewer', NodeState.FINISHED, 'detached')]
    assert only(ended, InputClosedNotice) == [InputClosedNotice('sink', 'seen')]
    assert only(ended, AllInputsClosedNotice) == [AllInputsClosedNotice('sink')]
    assert here.supervisor.attach('viewer', here.now) == (Spawn('viewer', 1),)
    assert here.supervisor.closed_inputs('sink') == ()
    assert not here.supervisor.inputs_closed('sink')


def test_a_dataflow_ends_without_it_and_lets_it_go() -> None:
    here = run()
    here.supervisor.attach('viewer', here.now)
    here.up('viewer')
    here.supervisor.stop_node('camera')
    here.exit('camera', CLEAN)
    assert only(here.exit('sink', CLEAN), StopProcess) == [StopProcess('viewer', 0)]
    ended = here.exit('viewer', LEFT)
    assert only(ended, NodeEnded) == [NodeEnded('viewer', NodeState.STOPPED, 'detached')]
    assert only(ended, DataflowEnded) == [DataflowEnded()]
    assert here.supervisor.attach('viewer', here.now) == ()


def test_nobody_is_taken_while_all_is_stopped() -> None:
    here = run()
    here.supervisor.stop()
    assert here.supervisor.attach('viewer', here.now) == ()
