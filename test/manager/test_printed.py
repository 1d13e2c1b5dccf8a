"""What nodes print as messages, log levels and the end of nodes that the rest has left behind."""

from __future__ import annotations

import ast
import json
from typing import TYPE_CHECKING

from manager.harness import Flow

if TYPE_CHECKING:
    from pathlib import Path

    from manager.harness import Runs

LINES = 500
ORDERS = (('out', 'logs'), ('logs', 'out'))


def test_lines_and_log_entries_reach_the_nodes_that_ask_for_them(tmp_path: Path, run: Runs) -> None:
    flow = Flow(tmp_path, exit_when_nodes_finish=True)
    queue = {'queue_size': LINES + 10}
    flow.node('talk', 'prints.py', LINES, outputs=['out', 'logs'], send_stdout_as='out', send_logs_as='logs')
    flow.node('quiet', 'prints.py', 0, min_log_level='info')
    flow.node('reader', 'events.py', inputs={name: {'source': f'talk/{name}', **queue} for name in ('out', 'logs')})
    logs = {'warn': 'dora/logs/warn', 'quiet': 'dora/logs/stdout/quiet', 'own': 'dora/logs/trace/watcher'}
    shell = {'path': 'shell', 'args': 'echo $((1 + 1)) $NAME', 'env': {'NAME': 'x'}, 'send_stdout_as': 'out'}
    flow.any_node('shell', outputs=['out'], **shell)
    ends = {'end': {'source': 'talk/out', **queue}, 'shell': 'shell/out'}
    flow.node('watcher', 'events.py', inputs={**ends, **logs})
    flow.node('stay', 'hang.py', 'sleep', inputs={'end': {'source': 'talk/out'}}, finish_grace_secs=0.5, stop_grace=0.5)
    manager = run(flow, env={'ADORA_ALLOW_SHELL_NODES': 'true'})
    assert manager.wait() == 0, manager.report('failed')

    assert manager.states() == {
        **dict.fromkeys(('talk', 'quiet', 'reader', 'shell', 'watcher'), 'finished'),
        'stay': 'stopped',
    }
    assert manager.texts('WARNING', 'stay') == ['stopped: the rest has finished for 0.5 s (finish_grace_secs)']
    numbers = [str(number) for number in range(LINES)]
    printed = [line.removesuffix('\n') for line in _values(flow.marks('reader'), 'out')]
    assert [line for line in printed if line != 'trouble'][3:] == ['plain', *numbers]
    entries = _messages(_values(flow.marks('reader'), 'logs'))
    plain = [('stdout', line) for line in ('plain', *numbers)]
    known = [('WARN', 'careful'), ('DEBUG', 'detail'), ('INFO', 'ready')]
    assert [entry for entry in entries if entry != ('stdout', 'trouble')] == [*known, *plain]
    closed = [mark for mark in flow.marks('reader') if 'INPUT_CLOSED' in mark]
    assert closed in [[f'0 INPUT_CLOSED {name}' for name in order] for order in ORDERS]
    watcher = flow.marks('watcher')
    assert _messages(_values(watcher, 'warn')) == [('WARN', 'careful')] * 2
    assert _messages(_values(watcher, 'quiet')) == [('WARN', 'careful'), ('INFO', 'ready')]
    assert _values(watcher, 'own') == []
    assert _values(watcher, 'shell') == ['2 x\n']
    folder = next((tmp_path / 'ros_log' / 'flow').glob('*/quiet.log'))
    lines = [line.split(' ', 2)[1:] for line in folder.read_text(encoding='utf-8').splitlines()]
    assert sorted(stream for stream, _ in lines) == ['stderr', 'stdout', 'stdout']
    assert ['stderr', 'trouble'] in lines


def _values(marks: list[str], name: str) -> list[str]:
    prefix = f'0 INPUT {name} '
    return [ast.literal_eval(mark[len(prefix) :])[0] for mark in marks if mark.startswith(prefix)]


def _messages(entries: list[str]) -> list[tuple[str, str]]:
    return [(entry['level'], entry['message']) for entry in map(json.loads, entries)]
