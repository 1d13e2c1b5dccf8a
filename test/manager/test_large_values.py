"""Large values in runs: through crashes of senders and receivers, and what is left in shared memory after each end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from adora_ros.transport.contract import PAYLOAD_FOLDER_PREFIX
from support import eventually

if TYPE_CHECKING:
    from manager.harness import Flow, Run, Runs

SIZE = 300_000
TICK = 'dora/timer/millis/10'


def folder_of(manager: Run) -> Path:
    return Path(f'{PAYLOAD_FOLDER_PREFIX}{manager.run_id}')


def test_large_values_arrive_through_crashes_of_senders_and_receivers(flow: Flow, run: Runs) -> None:
    again = {'restart_policy': 'on-failure', 'restart_delay': 0}
    flow.node('source', 'large_source.py', SIZE, 150, inputs={'tick': TICK}, outputs=['value'], **again)
    for sink in ('a', 'b'):
        flow.node(sink, 'large_sink.py', inputs={'value': 'source/value'}, **again)
    manager = run(flow).running()
    for node in ('source', 'a'):
        eventually(lambda: len(flow.marks('b')) > 20, 60.0)
        os.kill(flow.pid(node, 0), signal.SIGKILL)
        manager.event('NODE_RESTARTED', node)
    folder = folder_of(manager)
    assert [file.name for file in folder.iterdir() if not file.name.startswith('source.')] == []
    assert manager.wait() == 0, manager.report('failed')
    assert not folder.exists()
    rights = {sink: [line for line in flow.marks(sink) if ' right ' in line] for sink in ('a', 'b')}
    assert [line.split()[0] for line in rights['a']] == ['1']
    assert [line.split()[0] for line in rights['b']] == ['0']
    for (line,) in rights.values():
        _, _, right, _, number = line.split()
        assert right == number
    assert flow.marked('b', 'value 150') == [0]
    assert flow.marked('b', 'kept 5 of 5') == [0]
    assert manager.all('WARNING') == []


def test_echo_shows_values_and_a_manager_that_is_killed_leaves_nothing_in_shared_memory(flow: Flow, run: Runs) -> None:
    flow.node('source', 'large_source.py', SIZE, 0, inputs={'tick': TICK}, outputs=['value'])
    flow.node('sink', 'large_sink.py', inputs={'value': 'source/value'})
    manager = run(flow).running()
    folder = folder_of(manager)
    eventually(lambda: list(folder.iterdir()), 30.0)
    command = [sys.executable, '-m', 'adora_ros.cli', 'topic', 'echo', '/flow/source/value', '-n', '2']
    shown = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60.0).stdout
    assert [line.split()[0] for line in shown.splitlines()] == [f'uint8[{SIZE}]'] * 2
    manager.kill()
    eventually(lambda: not folder.exists(), 5.0)


def test_without_shared_memory_values_travel_inside_their_messages_and_the_status_counts_them(
    flow: Flow, run: Runs
) -> None:
    outputs = {'value': None}
    flow = type(flow)(flow.folder, shared_memory_limit='64KB')
    flow.node('source', 'large_source.py', SIZE, 100, inputs={'tick': 'dora/timer/millis/50'}, outputs=outputs)
    flow.node('sink', 'large_sink.py', inputs={'value': 'source/value'})
    manager = run(flow).running()
    ask = [sys.executable, '-m', 'adora_ros.cli', 'node', 'info', 'source', '--json']

    def fallbacks() -> bool:
        answer = subprocess.run(ask, capture_output=True, text=True, check=True, timeout=60.0)
        return bool(json.loads(answer.stdout)['payload_fallbacks'])

    eventually(fallbacks, 30.0)
    assert manager.wait() == 0, manager.report('failed')
    (warning,) = manager.texts('WARNING', 'source')
    assert warning.startswith('a value of ')
    assert '`shared_memory_limit`' in warning
    assert len(flow.marked('sink', 'right 100 of 100')) == 1
