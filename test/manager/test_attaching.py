"""Nodes whose process somebody else starts."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from manager.harness import NODES, ROOT
from support import eventually

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from manager.harness import Flow, Runs

FIRST = 200
"""Messages, 0.02 s apart, that the first process takes: it is there until the second one has asked."""


class Outside:
    """A process that wants to be a node.

    Args:
        node: Id of the node.
        count: After how many inputs it leaves.

    """

    def __init__(self, node: str, count: int) -> None:
        self.lines: list[str] = []
        self.process = subprocess.Popen(
            [sys.executable, str(NODES / 'outside.py'), node, str(count)],
            env={**os.environ, 'PYTHONPATH': str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def wait_for(self, prefix: str) -> str:
        """Return the first line that begins with ``prefix``."""
        found = eventually(lambda: [line for line in self.lines if line.startswith(prefix)], 30.0, prefix)
        return found[0]

    def end(self) -> int:
        """Let the process end, and return its exit code."""
        with contextlib.suppress(BrokenPipeError), self.process.stdin or contextlib.nullcontext() as stdin:
            if stdin is not None:
                stdin.write('\n')
        return self.process.wait(30.0)

    def close(self) -> None:
        """Leave nothing of the process."""
        self.process.kill()
        with self.process:
            self._reader.join(30.0)

    def _read(self) -> None:
        for line in self.process.stdout or ():
            self.lines.append(line.rstrip('\n'))


@pytest.fixture
def outside() -> Iterator[Callable[[str, int], Outside]]:
    started: list[Outside] = []

    def start(node: str, count: int) -> Outside:
        started.append(Outside(node, count))
        return started[-1]

    yield start
    for process in started:
        process.close()


def test_a_process_from_outside_comes_goes_and_is_never_killed(
    flow: Flow, run: Runs, outside: Callable[[str, int], Outside]
) -> None:
    lost = outside('plot', 1)
    assert 'no dataflow on this host waits for a node' in lost.wait_for('refused')
    flow.node('src', 'count.py', 100000, 0.02, outputs=['data'])
    flow.any_node('plot', path='dynamic', inputs={'in': 'src/data'}, outputs=['ack'])
    flow.node('sink', 'events.py', inputs={'ack': 'plot/ack', 'tick': 'dora/timer/secs/100'})
    manager = run(flow).running()
    first = outside('plot', FIRST)
    first.wait_for('attached 0')
    second = outside('plot', 1)
    assert 'is taken' in second.wait_for('refused')
    first.wait_for('left')
    eventually(lambda: '0 INPUT_CLOSED ack' in flow.marks('sink'), 30.0)
    assert sum(mark.startswith('0 INPUT ack') for mark in flow.marks('sink')) == FIRST
    third = outside('plot', 1000000)
    third.wait_for('attached 1')
    eventually(lambda: '0 NODE_RESTARTED plot' in flow.marks('sink'), 30.0)
    eventually(lambda: sum(mark.startswith('0 INPUT ack') for mark in flow.marks('sink')) > FIRST + 5, 30.0)
    assert manager.interrupt() == 130
    assert manager.states() == {'src': 'stopped', 'plot': 'stopped', 'sink': 'stopped'}
    assert third.wait_for('STOP') == 'STOP MANUAL'
    third.wait_for('left')
    assert (first.end(), third.end()) == (0, 0)
    assert manager.errors() == []


def test_a_dataflow_ends_without_its_nodes_from_outside(
    flow: Flow, run: Runs, outside: Callable[[str, int], Outside]
) -> None:
    flow.node('src', 'count.py', 40, 0.05, outputs=['data'])
    flow.any_node('plot', path='dynamic', inputs={'in': {'source': 'src/data', 'queue_size': 100}}, outputs=['ack'])
    flow.any_node('never', path='dynamic', inputs={'in': 'src/data'})
    manager = run(flow).running()
    plot = outside('plot', 1000000)
    plot.wait_for('attached')
    assert manager.wait() == 0, manager.report('failed')
    assert manager.states()['src'] == 'finished'
    assert manager.states()['never'] == 'stopped'
    plot.wait_for('left')
    assert {line for line in plot.lines if line.startswith('STOP')} <= {'STOP MANUAL', 'STOP ALL_INPUTS_CLOSED'}
    assert plot.end() == 0
