"""Dataflows of a test, and the managers that run them as processes of their own."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from support import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT = Path(__file__).parents[2]
NODES = ROOT / 'test' / 'nodes'
PROGRAM = Path(__file__).with_name('program.py')
DEADLINE = 60.0
"""Seconds for anything that happens within a run on a busy machine."""

Record = dict[str, Any]


def descriptors(pid: int | str = 'self') -> set[str]:
    """Return the file descriptors that a process has open; the one that it takes to look is among them."""
    return {entry.name for entry in Path(f'/proc/{pid}/fd').iterdir()}


class Flow:
    """A dataflow file under construction and the marks that its nodes leave.

    Args:
        folder: Where the file goes.
        name: Stem of the file, and so the name of the dataflow.
        root: Further keys of the file.

    """

    def __init__(self, folder: Path, name: str = 'flow', **root: Any) -> None:
        self.folder = folder
        self.file = folder / f'{name}.yml'
        self._root = root
        self._nodes: list[dict[str, Any]] = []

    def node(self, node: str, script: str, *args: object, **keys: Any) -> Flow:
        """Add a node that runs a script of ``test/nodes``."""
        return self.any_node(node, path=str(NODES / script), args=' '.join(map(str, args)), **keys)

    def ros_node(self, node: str, script: str, *, ros: Mapping[str, Any] | None = None, **keys: Any) -> Flow:
        """Add a ``ros:`` node that runs a script of ``test/nodes``."""
        return self.any_node(node, ros={'executable': str(NODES / script), **(ros or {})}, **keys)

    def any_node(self, node: str, **keys: Any) -> Flow:
        """Add a node."""
        self._nodes.append({'id': node, **keys})
        self.file.write_text(yaml.safe_dump({'nodes': self._nodes, **self._root}), encoding='utf-8')
        return self

    def marks(self, node: str) -> list[str]:
        """Return what all incarnations of a node have marked, in order."""
        file = self.folder / f'{node}.marks'
        return file.read_text(encoding='utf-8').splitlines() if file.exists() else []

    def marked(self, node: str, words: str) -> list[int]:
        """Return the incarnations of a node that left a mark."""
        return [int(line.split()[0]) for line in self.marks(node) if line.partition(' ')[2] == words]

    def pid(self, node: str, incarnation: int) -> int:
        """Wait for an incarnation to mark its process id."""

        def find() -> int | None:
            prefix = f'{incarnation} pid '
            return next((int(line[len(prefix) :]) for line in self.marks(node) if line.startswith(prefix)), None)

        return eventually(find, DEADLINE, f'pid of {node}/{incarnation}') or 0


class Run:
    """A manager in a process of its own.

    Args:
        flow: What it runs.
        env: Variables on top of the test's environment.
        options: Fields of its options.

    """

    def __init__(self, flow: Flow, *, env: Mapping[str, str] | None = None, **options: Any) -> None:
        self.events: list[Record] = []
        self.output: list[Record] = []
        self.outcome: Record = {}
        self.error = ''
        self.raw: list[str] = []
        arguments = [f'{name}={json.dumps(value)}' for name, value in options.items()]
        self.process = subprocess.Popen(
            [sys.executable, str(PROGRAM), str(flow.file), *arguments],
            env={**os.environ, 'PYTHONPATH': str(ROOT), **(env or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def run_id(self) -> str:
        """The uuid of the run."""
        return str(self.event('DATAFLOW_STARTING')['details']['run'])

    def event(self, kind: str, node: str | None = None, *, count: int = 1, timeout: float = DEADLINE) -> Record:
        """Wait for the event that is number ``count`` of its kind, and return it."""

        def find() -> Record | None:
            found = self.all(kind, node)
            if len(found) >= count:
                return found[count - 1]
            assert self.process.poll() is None or self._reader.is_alive(), self.report('the manager has ended')
            return None

        try:
            return eventually(find, timeout) or {}
        except AssertionError as error:
            raise AssertionError(self.report(f'no {kind} {node or ""} number {count}: {error}')) from None

    def all(self, kind: str, node: str | None = None) -> list[Record]:
        """Return the events of a kind so far."""
        return [e for e in list(self.events) if e['kind'] == kind and node in {None, e['node']}]

    def texts(self, kind: str, node: str | None = None) -> list[str]:
        """Return the texts of the events of a kind so far."""
        return [event['text'] for event in self.all(kind, node)]

    def kinds(self, node: str) -> list[str]:
        """Return the kinds of all events about a node so far, those of level DEBUG aside."""
        return [e['kind'] for e in list(self.events) if e['node'] == node and e['level'] != 'debug']

    def errors(self) -> list[Record]:
        """Return the events of level ERROR so far."""
        return [e for e in list(self.events) if e['level'] == 'error']

    def running(self) -> Run:
        """Wait until all nodes were started."""
        self.event('DATAFLOW_RUNNING')
        return self

    def interrupt(self) -> int:
        """Stop the run as Ctrl-C does and return its exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.wait()

    def wait(self, timeout: float = DEADLINE) -> int:
        """Wait for the end and return the exit code."""
        try:
            code = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise AssertionError(self.report(f'the manager has not ended within {timeout} s')) from None
        self._reader.join(timeout)
        return code

    def states(self) -> dict[str, str]:
        """Return the final state of each node, once the run has ended."""
        assert self.outcome, self.report('no outcome')
        return {status['node']: status['state'] for status in self.outcome['statuses']}

    def restarts(self) -> dict[str, int]:
        """Return how often each node was restarted, once the run has ended."""
        return {status['node']: status['restarts'] for status in self.outcome['statuses']}

    def report(self, text: str) -> str:
        """Return ``text`` and all that the manager said."""
        return '\n'.join([text, *self.raw])

    def kill(self) -> None:
        """End the manager, whatever it is doing; its guardian ends the rest."""
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait()
        self._reader.join(DEADLINE)

    def _read(self) -> None:
        with self.process.stdout or contextlib.nullcontext() as stream:
            for line in stream or ():
                self.raw.append(line.rstrip('\n'))
                self._take(line)

    def _take(self, line: str) -> None:
        try:
            kind, value = next(iter(json.loads(line).items()))
        except (ValueError, AttributeError):
            return
        if kind == 'event':
            self.events.append(value)
        elif kind == 'output':
            self.output.append(value)
        elif kind == 'outcome':
            self.outcome = value
        elif kind == 'error':
            self.error = value


class Runs:
    """The managers that a test starts."""

    def __init__(self) -> None:
        self._runs: list[Run] = []

    def __call__(self, flow: Flow, *, env: Mapping[str, str] | None = None, **options: Any) -> Run:
        """Start a manager."""
        run = Run(flow, env=env, **options)
        self._runs.append(run)
        return run

    def close(self) -> None:
        """End those that still run."""
        for run in self._runs:
            run.kill()


@contextlib.contextmanager
def runs() -> Iterator[Runs]:
    """Yield something that starts managers, and end them."""
    started = Runs()
    try:
        yield started
    finally:
        started.close()
