"""Rows of the acceptance table on restarting, with real processes and exact counts of incarnations."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from manager.harness import Flow, Runs


def test_a01_a_clean_exit_stays_down_under_on_failure(flow: Flow, run: Runs) -> None:
    manager = run(flow.node('n', 'clean_exit.py', restart_policy='on-failure'))
    assert manager.wait() == 0
    assert flow.marked('n', 'spawned') == [0]
    assert manager.states() == {'n': 'finished'}
    assert manager.all('RESTART_SCHEDULED') == []


def test_a01_a_clean_exit_is_restarted_under_always(flow: Flow, run: Runs) -> None:
    keys = {'restart_policy': 'always', 'restart_delay': 0.05, 'max_restarts': 2}
    manager = run(flow.node('n', 'clean_exit.py', **keys))
    assert manager.wait() == 0
    assert flow.marked('n', 'spawned') == [0, 1, 2]
    assert manager.states() == {'n': 'finished'}
    assert manager.restarts() == {'n': 2}


def test_a_dataflow_runs_although_a_node_that_crashed_at_its_start_waits_to_be_restarted(flow: Flow, run: Runs) -> None:
    flow.node('n', 'crash.py', 'activating', outputs=['data'], restart_policy='always', restart_delay=300)
    flow.node('sink', 'silent.py', inputs={'data': 'n/data'})
    manager = run(flow).running()
    assert manager.texts('DATAFLOW_RUNNING') == ['1 of 2 nodes are up']
    assert manager.texts('RESTART_SCHEDULED', 'n') == ['restart 1 in 300 s (exit code 3)']
    assert manager.interrupt() == 1


def test_a02_a_crash_loop_ends_after_max_restarts(flow: Flow, run: Runs) -> None:
    keys = {'restart_policy': 'on-failure', 'restart_delay': 0.05, 'max_restarts': 2}
    manager = run(flow.node('n', 'crash.py', 'late', **keys))
    assert manager.wait() == 1
    assert flow.marked('n', 'spawned') == [0, 1, 2]
    assert manager.states() == {'n': 'failed'}
    assert [e['kind'] for e in manager.errors()] == ['NODE_ENDED']
    assert manager.texts('RESTART_SCHEDULED') == [
        'restart 1 of 2 in 0.05 s (exit code 3)',
        'restart 2 of 2 in 0.1 s (exit code 3)',
    ]
    assert manager.kinds('n')[-3:] == ['NODE_EXITED', 'GAVE_UP', 'NODE_ENDED']


def test_a04_a_stop_during_the_backoff_spawns_nothing(flow: Flow, run: Runs) -> None:
    manager = run(flow.node('n', 'crash.py', 'early', restart_policy='always', restart_delay=20))
    manager.event('RESTART_SCHEDULED')
    asked = time.monotonic()
    assert manager.interrupt() == 1
    assert time.monotonic() - asked < 3.0
    assert flow.marked('n', 'spawned') == [0]
    assert manager.texts('RESTART_CANCELLED') == ['restart cancelled: dataflow stopping during backoff wait']
    assert manager.states() == {'n': 'failed'}


def test_a04_a_stop_between_exit_and_immediate_spawn_spawns_nothing(flow: Flow, run: Runs) -> None:
    flow.node('n', 'crash.py', 'early', restart_policy='always', restart_delay=0)
    manager = run(flow, stop_at='RESTART_SCHEDULED')
    assert manager.wait() == 1
    assert flow.marked('n', 'spawned') == [0]
    assert len(manager.all('RESTART_CANCELLED')) == 1
    assert len(manager.all('NODE_STARTING')) == 1


def test_a05_a_program_that_is_gone_ends_the_dataflow(flow: Flow, run: Runs) -> None:
    program = flow.folder / 'node.sh'
    program.write_text('#!/bin/sh\necho "0 spawned" >> n.marks\nrm "$0"\nexit 3\n', encoding='utf-8')
    program.chmod(0o755)
    flow.any_node('n', path='./node.sh', restart_policy='on-failure', restart_delay=0.05, max_restarts=2)
    manager = run(flow)
    assert manager.wait() == 1
    assert flow.marked('n', 'spawned') == [0]
    assert manager.states() == {'n': 'failed'}
    reason = f'could not start: {program}: No such file or directory'
    assert manager.texts('NODE_EXITED') == ['exited: exit code 3', f'exited: {reason}', f'exited: {reason}']
    assert manager.texts('NODE_ENDED') == [f'failed: gave up after 2 restarts: {reason}']


ENDS = [
    ('early_never', 'crash.py', 'early', 'never', 1, 'failed'),
    ('early_on_failure', 'crash.py', 'early', 'on-failure', 4, 'failed'),
    ('late_on_failure', 'crash.py', 'late', 'on-failure', 4, 'failed'),
    ('delayed_always', 'crash.py', '0.3', 'always', 4, 'failed'),
    ('clean_never', 'clean_exit.py', '', 'never', 1, 'finished'),
    ('clean_on_failure', 'clean_exit.py', '', 'on-failure', 1, 'finished'),
    ('clean_always', 'clean_exit.py', '', 'always', 4, 'finished'),
]
"""Node, script, argument and policy; how many incarnations that makes with three restarts, and the final state."""


def test_a06_every_kind_of_end_makes_an_exact_number_of_incarnations(flow: Flow, run: Runs) -> None:
    for node, script, argument, policy, _, _ in ENDS:
        flow.node(node, script, argument, restart_policy=policy, restart_delay=0.01, max_restarts=3)
    manager = run(flow)
    assert manager.wait() == 1
    assert {end[0]: flow.marked(end[0], 'spawned') for end in ENDS} == {end[0]: list(range(end[4])) for end in ENDS}
    assert manager.states() == {end[0]: end[5] for end in ENDS}
    assert manager.restarts() == {end[0]: end[4] - 1 for end in ENDS}


def test_a11_a_crash_before_connecting_follows_the_policy_and_spares_the_peers(flow: Flow, run: Runs) -> None:
    keys = {'restart_policy': 'on-failure', 'restart_delay': 0.05, 'max_restarts': 2}
    flow.node('n', 'crash.py', 'early', outputs=['data'], **keys)
    flow.node('peer', 'events.py', inputs={'data': 'n/data'})
    manager = run(flow)
    assert manager.wait() == 1
    assert flow.marked('n', 'spawned') == [0, 1, 2]
    assert manager.states() == {'n': 'failed', 'peer': 'finished'}
    assert [line.split()[1] for line in flow.marks('peer')] == ['pid', 'NODE_FAILED', 'INPUT_CLOSED', 'STOP', 'end']


def test_a_kill_from_outside_is_a_crash(flow: Flow, run: Runs) -> None:
    flow.node('n', 'events.py', inputs={'tick': 'dora/timer/secs/100'}, restart_policy='on-failure', restart_delay=0.05)
    manager = run(flow).running()
    os.kill(flow.pid('n', 0), signal.SIGKILL)
    manager.event('NODE_RESTARTED')
    assert manager.texts('NODE_EXITED') == ['exited: signal:SIGKILL']
    assert manager.interrupt() == 130
    assert manager.states() == {'n': 'stopped'}


def test_a26_a_nonzero_exit_on_our_interrupt_is_a_stop(flow: Flow, run: Runs) -> None:
    flow.ros_node('n', 'exit_1_on_sigint.py', ros={'lifecycle': False}, restart_policy='always')
    manager = run(flow).running()
    assert manager.interrupt() == 130
    assert flow.marked('n', 'interrupted') == [0]
    assert manager.texts('NODE_EXITED') == ['exited: exit code 1']
    assert manager.states() == {'n': 'stopped'}
    assert manager.restarts() == {'n': 0}
    assert manager.errors() == []
