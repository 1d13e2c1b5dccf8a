"""Which other nodes are restarted along with one that is."""

from __future__ import annotations

import pytest

from adora_ros.dataflow.model import RestartSpec, RestartStrategy
from adora_ros.supervision import (
    AllInputsClosedNotice,
    DataflowEnded,
    NodeState,
    ProcessEnded,
    RestartAnnounced,
    Spawn,
    StopProcess,
)
from supervision.build import (
    CLEAN,
    CRASH,
    Run,
    dataflow,
    node,
    on_failure,
    only,
    spawned,
    stopped,
)

REST = RestartStrategy.REST_FOR_ONE
ALL = RestartStrategy.ONE_FOR_ALL
RETRY = on_failure(max_restarts=2, delay=1.0)


def _chain(strategy: RestartStrategy, restart: RestartSpec = RETRY, *, up: bool = True) -> Run:
    """Return a run of ``camera -> detector -> planner`` and a free ``imu``, sinks first in the file."""
    flow = dataflow(
        node('planner', {'in': 'detector/out'}, restart=restart),
        node('detector', {'in': 'camera/out'}, restart=restart),
        node('camera', restart=restart),
        node('imu', restart=restart),
        strategy=strategy,
    )
    return Run(flow, up=up)


@pytest.mark.parametrize(
    ('strategy', 'failing', 'peers'),
    [
        (RestartStrategy.ONE_FOR_ONE, 'detector', []),
        (REST, 'camera', ['detector', 'planner']),
        (REST, 'detector', ['planner']),
        (REST, 'planner', []),
        (REST, 'imu', []),
        (ALL, 'camera', ['imu', 'detector', 'planner']),
        (ALL, 'planner', ['camera', 'imu', 'detector']),
    ],
)
def test_peers_are_stopped_from_the_sources_to_the_sinks(
    strategy: RestartStrategy, failing: str, peers: list[str]
) -> None:
    assert _chain(strategy).exit(failing, CRASH)[1:] == [
        RestartAnnounced(failing, 1, 1.0, 'exit code 1'),
        *[StopProcess(peer, 0) for peer in peers],
    ]


def test_peers_are_restarted_at_once_from_the_sinks_to_the_sources() -> None:
    run = _chain(ALL)
    run.exit('detector', CRASH)
    effects = run.obey()
    assert [(a.node, a.number, a.delay, a.reason) for a in only(effects, RestartAnnounced)] == [
        (peer, 0, 0.0, 'restart of `detector`') for peer in ('planner', 'camera', 'imu')
    ]
    assert spawned(run.tick()) == ['planner', 'camera', 'imu']
    assert run.wait(1.0) == [Spawn('detector', 1)]


def test_all_that_is_due_together_is_spawned_from_the_sinks_to_the_sources() -> None:
    run = _chain(ALL, on_failure())
    run.exit('camera', CRASH)
    run.obey()
    assert spawned(run.tick()) == ['planner', 'detector', 'camera', 'imu']


def test_a_restart_with_a_peer_spends_no_budget() -> None:
    run = _chain(REST)
    for _ in range(2):
        run.exit('camera', CRASH)
        run.obey()
        run.wait(10.0)
    assert run.incarnation('detector') == 2
    assert only(run.exit('detector', CRASH), RestartAnnounced)[0].number == 1


def test_a_peer_that_crashes_while_it_is_stopped_spends_no_budget() -> None:
    run = _chain(REST)
    run.exit('camera', CRASH)
    effects = run.exit('detector', CRASH)
    assert [(a.node, a.number) for a in only(effects, RestartAnnounced)] == [('detector', 0)]
    assert stopped(effects) == []


def test_a_starting_peer_is_restarted_too() -> None:
    run = _chain(REST, up=False)
    run.start()
    assert stopped(run.exit('camera', CRASH)) == ['detector', 'planner']


def test_a_peer_that_waits_keeps_its_own_delay() -> None:
    run = _chain(REST)
    run.exit('planner', CRASH)
    run.wait(0.5)
    assert stopped(run.exit('camera', CRASH)) == ['detector']
    assert run.wait(0.5) == [Spawn('planner', 1)]


def test_a_peer_that_is_being_stopped_stays_stopped() -> None:
    run = _chain(REST)
    run.stop_node('planner')
    assert stopped(run.exit('camera', CRASH)) == ['detector']
    run.obey()
    run.wait(10.0)
    assert run.state('planner') is NodeState.STOPPED
    assert run.spawned('planner') == [0]


def test_a_peer_that_is_being_restarted_is_not_stopped_twice() -> None:
    run = _chain(ALL)
    run.exit('camera', CRASH)
    assert stopped(run.exit('imu', CRASH)) == []
    run.obey()
    run.wait(10.0)
    assert [run.spawned(n) for n in ('planner', 'detector', 'camera', 'imu')] == [[0, 1]] * 4


def test_a_peer_that_has_ended_stays_down() -> None:
    run = _chain(ALL)
    run.exit('imu', CLEAN)
    assert stopped(run.exit('camera', CRASH)) == ['detector', 'planner']
    run.obey()
    run.wait(10.0)
    assert run.state('imu') is NodeState.FINISHED


def test_a_peer_with_nothing_left_to_receive_is_left_to_finish() -> None:
    flow = dataflow(node('log'), node('writer', {'in': 'log/out'}), node('camera', restart=RETRY), strategy=ALL)
    run = Run(flow, up=True)
    run.exit('log', CLEAN)
    assert stopped(run.exit('camera', CRASH)) == []
    run.exit('writer', CLEAN)
    assert run.state('writer') is NodeState.FINISHED


@pytest.mark.parametrize('order', [('log', 'writer'), ('writer', 'log')])
def test_a_peer_whose_inputs_close_during_its_restart_is_told_and_ends(order: tuple[str, str]) -> None:
    flow = dataflow(
        node('camera', restart=RETRY),
        node('log', restart=RETRY),
        node('writer', {'in': 'log/out'}),
        node('reader', {'in': 'writer/out'}),
        strategy=ALL,
    )
    run = Run(flow, up=True)
    run.exit('log', CRASH)
    run.obey()
    run.tick()
    assert stopped(run.exit('camera', CRASH)) == ['writer', 'reader']
    assert run.wait(1.0) == [Spawn('camera', 2), Spawn('log', 1)]
    for node_id in order:
        run.exit(node_id, CLEAN)
    assert run.tick() == [Spawn('writer', 2), AllInputsClosedNotice('writer')]
    run.exit('writer', CLEAN)
    assert run.state('writer') is NodeState.FINISHED
    assert run.supervisor.snapshots()['reader'].inputs_closed


def test_giving_up_restarts_no_peer() -> None:
    run = _chain(REST, on_failure(max_restarts=1))
    run.exit('camera', CRASH)
    run.obey()
    run.wait(1.0)
    assert stopped(run.exit('camera', CRASH)) == []


def test_an_operators_restart_concerns_one_node() -> None:
    run = _chain(ALL)
    assert run.restart_node('camera') == [StopProcess('camera', 0)]
    assert stopped(run.obey()) == []


def test_a_stop_during_the_restart_of_peers_leaves_all_of_them_stopped() -> None:
    run = _chain(ALL)
    run.exit('camera', CRASH)
    run.exit('imu', CLEAN)
    assert stopped(run.stop()) == []
    effects = run.obey()
    assert [type(e) for e in effects].count(ProcessEnded) == 2
    assert effects[-1] == DataflowEnded()
    assert run.wait(100.0) == []
    assert [run.spawned(n) for n in ('planner', 'detector', 'camera', 'imu')] == [[0]] * 4


def test_cycles_restart_together() -> None:
    flow = dataflow(node('a', {'in': 'b/out'}, restart=RETRY), node('b', {'in': 'a/out'}, restart=RETRY), strategy=REST)
    assert stopped(Run(flow, up=True).exit('a', CRASH)) == ['b']
