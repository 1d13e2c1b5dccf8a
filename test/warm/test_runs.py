"""Dataflows whose nodes are started warm."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from support import eventually, processes_with

if TYPE_CHECKING:
    from manager.harness import Flow, Run, Runs

TICK = {'tick': 'dora/timer/secs/100'}


def starts(manager: Run, node: str) -> list[bool]:
    """Return for each incarnation of a node whether it was started warm."""
    return [event['details']['warm'] == 'True' for event in manager.all('NODE_STARTING', node)]


def children(pid: int) -> dict[int, str]:
    """Return the command lines of the children of a process."""
    found = {}
    for task in Path(f'/proc/{pid}/task').iterdir():
        for child in map(int, (task / 'children').read_text(encoding='ascii').split()):
            line = Path(f'/proc/{child}/cmdline').read_bytes()
            found[child] = line.replace(b'\0', b' ').decode()
    return found


def test_nodes_are_started_and_restarted_warm_and_end_with_a_manager_that_is_killed(flow: Flow, run: Runs) -> None:
    crashing: dict[str, Any] = {'restart_policy': 'on-failure', 'max_restarts': 2}
    flow.node('crashing', 'crash.py', '0.1', outputs=['data'], **crashing)
    flow.node('receiving', 'events.py', inputs={'data': 'crashing/data', **TICK})
    flow.node('deaf', 'ignore.py', 'SIGINT', 'SIGTERM')
    flow.node('cold', 'silent.py', inputs=TICK, warm=False)
    flow.node('seeded', 'silent.py', inputs=TICK, env={'PYTHONHASHSEED': 1}, warm=True)
    manager = run(flow, warm=True).running()
    manager.event('NODE_ENDED', 'crashing')
    assert starts(manager, 'crashing') == [True] * 3
    assert [e['text'] for e in manager.all('NODE_EXITED', 'crashing')] == ['exited: exit code 3'] * 3
    assert starts(manager, 'receiving') == starts(manager, 'deaf') == [True]
    assert starts(manager, 'cold') == starts(manager, 'seeded') == [False]
    why = 'started cold: PYTHONHASHSEED of its environment must be there when Python starts'
    assert manager.texts('WARNING', 'seeded') == [why]
    assert not manager.texts('WARNING', 'cold')

    pid = manager.process.pid
    (warm,) = (child for child, line in children(pid).items() if 'warm/main.py' in line)
    assert {flow.pid(node, 0) for node in ('receiving', 'deaf')} <= set(children(pid))
    os.kill(warm, signal.SIGSTOP)
    run_id = manager.run_id
    begin = time.monotonic()
    manager.process.kill()
    eventually(lambda: not processes_with('ADORA_RUN', run_id) and not Path(f'/proc/{warm}').exists(), 10.0)
    assert time.monotonic() - begin < 2.0


def test_a_stop_while_nodes_are_being_started(flow: Flow, run: Runs) -> None:
    for number in range(6):
        flow.node(f'n{number}', 'silent.py', inputs=TICK, warm=bool(number % 2))
    manager = run(flow, warm=True, stop_at='DATAFLOW_STARTING')
    assert manager.wait() == 0
    assert set(manager.states().values()) == {'stopped'}
    assert not processes_with('ADORA_RUN', manager.run_id)
