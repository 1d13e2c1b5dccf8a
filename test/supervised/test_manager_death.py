"""The manager is killed: nothing of its run is left two seconds later."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest

from adora_ros.manager import guardian
from supervised.harness import SLACK, Stopwatch, guardian_of, is_alive, left, wait_for_mark
from support import eventually, kill_all

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from manager.harness import Flow, Run, Runs

LIMIT = 2.0
"""Seconds within which nothing may be left."""
TICK = {'tick': 'dora/timer/secs/100'}


def assert_all_gone(run_id: str, watch: Stopwatch, pids: Collection[int] = ()) -> None:
    """Wait for the end of a run's processes; of those given by ``pids`` also for the end of their ending.

    A process that ends loses the environment that it is found by before it has ended.
    """
    eventually(lambda: not left(run_id) and not any(map(is_alive, pids)), 10.0, 'the end of all processes')
    assert watch() < LIMIT


def kill(manager: Run) -> tuple[str, Stopwatch]:
    """Kill the manager and return the run's id and a watch that has just been started."""
    run_id = manager.run_id
    assert left(run_id)
    watch = Stopwatch()
    manager.process.kill()
    return run_id, watch


def test_a20_nothing_is_left_of_nodes_of_every_kind(flow: Flow, run: Runs) -> None:
    flow.node('good', 'silent.py', inputs=TICK)
    flow.node('deaf', 'ignore.py', 'SIGINT', 'SIGTERM')
    flow.node('parent', 'family.py', 'fork', inputs=TICK)
    flow.node('master', 'family.py', 'daemon', inputs=TICK)
    flow.ros_node('plain', 'plain.py')
    manager = run(flow)
    manager.event('DATAFLOW_RUNNING', timeout=60.0)
    pids = [flow.pid(node, 0) for node in ('good', 'deaf', 'parent', 'master', 'plain')]
    watch_over = guardian_of(manager.process.pid)
    run_id, watch = kill(manager)
    assert_all_gone(run_id, watch, pids)
    eventually(lambda: not is_alive(watch_over), 10.0, 'the end of the guardian')


def test_a20_nodes_are_told_and_can_clean_up(flow: Flow, run: Runs) -> None:
    flow.node('good', 'silent.py', inputs=TICK)
    flow.ros_node('plain', 'plain.py')
    manager = run(flow).running()
    run_id, watch = kill(manager)
    assert_all_gone(run_id, watch)
    assert [line.split()[1] for line in flow.marks('good')][-2:] == ['STOP', 'cleaned']
    assert flow.marked('plain', 'interrupted') == [0]
    assert flow.marked('plain', 'cleaned') == [0]


def test_a20_nothing_is_left_of_a_start_that_was_under_way(flow: Flow, run: Runs) -> None:
    flow.node('starting', 'slow_start.py', 1000)
    flow.node('waiting', 'silent.py', inputs=TICK)
    flow.ros_node('configuring', 'slow_configure.py', ros={'parameters': {'seconds': 1000.0}})
    manager = run(flow)
    wait_for_mark(flow, 'configuring', 'configure unconfigured')
    assert flow.marked('starting', 'spawned') == [0]
    run_id, watch = kill(manager)
    assert_all_gone(run_id, watch)


@pytest.mark.parametrize(
    ('script', 'argument', 'sign'), [('hang.py', 'native', 'hanging'), ('stopped.py', '', 'running')]
)
def test_a21_a_node_that_cannot_notice_is_killed(flow: Flow, run: Runs, script: str, argument: str, sign: str) -> None:
    manager = run(flow.node('n', script, argument))
    wait_for_mark(flow, 'n', sign)
    run_id, watch = kill(manager)
    assert_all_gone(run_id, watch)


def test_a20_a_guardian_that_dies_is_replaced(flow: Flow, run: Runs) -> None:
    flow.node('n', 'stopped.py')
    flow.ros_node('plain', 'plain.py')
    manager = run(flow)
    wait_for_mark(flow, 'n', 'running')
    first = guardian_of(manager.process.pid)
    os.kill(first, signal.SIGKILL)
    eventually(lambda: guardian_of(manager.process.pid) != first, 10.0, 'another guardian')
    assert manager.all('NODE_EXITED') == []
    run_id, watch = kill(manager)
    assert_all_gone(run_id, watch)


def test_a20_without_a_guardian_nodes_of_the_api_end_by_themselves(flow: Flow, run: Runs) -> None:
    """The worst case: both are killed at once. What cannot notice is left, and can be found by the run's mark."""
    flow.node('good', 'silent.py', inputs=TICK)
    flow.node('busy', 'hang.py', 'loop')
    flow.node('suspended', 'stopped.py')
    flow.ros_node('plain', 'plain.py')
    manager = run(flow)
    manager.event('DATAFLOW_RUNNING', timeout=60.0)
    for node, sign in (('busy', 'hanging'), ('suspended', 'running')):
        wait_for_mark(flow, node, sign)
    ends = [flow.pid(node, 0) for node in ('good', 'busy')]
    stays = [flow.pid(node, 0) for node in ('suspended', 'plain')]
    run_id, watcher = manager.run_id, guardian_of(manager.process.pid)
    os.kill(manager.process.pid, signal.SIGSTOP)  # so that it cannot replace its guardian
    os.kill(watcher, signal.SIGKILL)
    watch = Stopwatch()
    manager.process.kill()
    eventually(lambda: not any(is_alive(pid) for pid in ends), 10.0, 'the end of the nodes that notice')
    assert watch() < LIMIT + SLACK
    assert left(run_id) == sorted(stays)
    kill_all(stays)


def test_the_guardian_forgets_groups_that_are_gone() -> None:
    assert guardian.groups_left(['+5', '!6', '+7', '-5', '!8', '-8']) == {6: True, 7: False}


def test_the_guardian_waits_for_nothing_when_nothing_is_left(tmp_path: Path) -> None:
    """The end of a run without nodes is no reason to wait, and neither are groups that have ended."""
    watch = Stopwatch()
    guardian.let_end({})
    assert watch() < guardian.GRACE / 2
    child = os.fork()
    if child == 0:
        os.setsid()
        (tmp_path / 'ready').touch()
        signal.pause()
    eventually((tmp_path / 'ready').exists)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    watch = Stopwatch()
    guardian.let_end({child: True})
    assert watch() < guardian.GRACE / 2
