"""Runs the commands as a user does, on small dataflows."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from adora_ros.manager.events import EventKind, Health, Level, ManagerEvent, NodeStatus
from support import eventually

if TYPE_CHECKING:
    import signal
    from collections.abc import Mapping
    from pathlib import Path

    from adora_ros.supervision import NodeState

ADORA = (sys.executable, '-m', 'adora_ros.cli')
MANAGER = (sys.executable, '-m', 'adora_ros.cli.manager')
START = 20.0
"""Seconds that a start may take on a busy machine."""

LISTENER = """\
from adora_ros import Node

for event in Node():
    print(event['type'], flush=True)
"""
"""A node that waits for its end."""


@dataclass
class Project:
    """A folder with one dataflow, ``flow.yml``, and the scripts of its nodes."""

    folder: Path
    nodes: list[str] = field(default_factory=list)

    @property
    def file(self) -> Path:
        """The dataflow file."""
        return self.folder / 'flow.yml'

    def add(self, node: str, script: str, keys: str = '') -> Project:
        """Add a node: its script, and further keys as the inside of a YAML flow mapping."""
        (self.folder / f'{node}.py').write_text(script, encoding='utf-8')
        extra = f', {keys}' if keys else ''
        self.nodes.append(f'  - {{id: {node}, path: {node}.py{extra}}}\n')
        self.file.write_text('nodes:\n' + ''.join(self.nodes), encoding='utf-8')
        return self

    def add_listener(self, node: str = 'listener') -> Project:
        """Add a node that runs until it is stopped."""
        return self.add(node, LISTENER, 'inputs: {tick: dora/timer/millis/50}')


def run(
    *arguments: str, program: tuple[str, ...] = ADORA, timeout: float = 60.0, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, with some variables on top of the environment."""
    return subprocess.run(
        [*program, *arguments],
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


class Running:
    """A command that runs in the background, its output in a file."""

    def __init__(self, folder: Path, *arguments: str, program: tuple[str, ...] = ADORA) -> None:
        self._log = folder / 'console.txt'
        with self._log.open('w') as log:
            self.process = subprocess.Popen([*program, *arguments], stdout=log, stderr=subprocess.STDOUT)

    @property
    def text(self) -> str:
        """What has been printed so far."""
        return self._log.read_text(encoding='utf-8')

    @property
    def lines(self) -> list[str]:
        """The lines of :attr:`text`."""
        return self.text.splitlines()

    def wait_for(self, text: str, timeout: float = START, *, times: int = 1) -> None:
        """Wait until ``text`` has been printed ``times`` times, and not more often."""
        eventually(lambda: self.text.count(text) == times, timeout, f'{text!r} in the output of pid {self.process.pid}')

    def end(self, number: signal.Signals, timeout: float = 20.0) -> int:
        """Send a signal and return the exit code."""
        self.process.send_signal(number)
        return self.process.wait(timeout)

    def close(self) -> None:
        """Kill what is left."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def event(
    kind: EventKind = EventKind.NODE_UP,
    text: str = 'up',
    *,
    node: str = '',
    level: Level = Level.INFO,
    seq: int = 1,
    **details: str,
) -> ManagerEvent:
    """Return an event of 2024-05-06 07:08:09.123 UTC."""
    stamp = 1714979289_123_456_789
    return ManagerEvent(
        seq=seq, stamp=stamp, level=level, kind=kind, node=node, incarnation=0, text=text, details=details
    )


def status(node: str, state: NodeState, *, restarts: int = 0, last_exit: str = '') -> NodeStatus:
    """Return the last status of a node."""
    return NodeStatus(
        node=node,
        state=state,
        health=Health.OK,
        incarnation=restarts,
        pid=None,
        restarts=restarts,
        last_exit=last_exit,
        error='',
        next_restart_s=None,
        closed_inputs=(),
        last_activity_age_s=None,
        cpu_percent=None,
        rss_mb=None,
        up_s=None,
    )
