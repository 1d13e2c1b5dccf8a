"""``start``: a manager in the background, which outlives the terminal."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adora_ros.cli.foreground import options_of
from adora_ros.cli.loglines import CONSOLE
from adora_ros.cli.logview import show_run
from adora_ros.dataflow.share import machines, share
from adora_ros.errors import CommandError, ManagerError
from adora_ros.manager.eventstream import DETACH
from adora_ros.transport.rundir import dataflow_folder
from adora_ros.transport.unixsockets import peer

if TYPE_CHECKING:
    import argparse

    from adora_ros.manager.options import Options

STEP = 0.1
"""Seconds between two looks whether the manager still lives."""
BAD_INPUT = 2


@dataclass
class Progress:
    """What a manager has said so far.

    Attributes:
        run: The uuid of the run.
        folder: Where its logs are.
        stop_within: Seconds that stopping takes at most.
        nodes: The nodes that were started and are not up.
        failed: What became of nodes that failed.
        up: Whether the dataflow is up.
        ended: Whether it has ended.
        error: Why it failed.

    """

    run: str = ''
    folder: str = ''
    stop_within: float = 0.0
    nodes: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    up: bool = False
    ended: bool = False
    error: str = ''

    def take(self, event: dict[str, Any]) -> None:
        """Take one event, an :class:`adora_ros.manager.events.ManagerEvent` as JSON."""
        kind, node, details = event['kind'], event['node'], event['details']
        if kind == 'DATAFLOW_STARTING':
            self.run, self.folder = details['run'], details['folder']
            self.stop_within = float(details['stop_within'])
        elif kind == 'NODE_STARTING':
            self.nodes.append(node)
        elif kind in {'NODE_UP', 'NODE_ENDED'} and node in self.nodes:
            self.nodes.remove(node)
        elif kind == 'DATAFLOW_RUNNING':
            self.up = True
        elif kind == 'DATAFLOW_ENDED':
            self.ended, self.error = True, details['error']
        if kind == 'NODE_ENDED' and details['state'] == 'failed':
            self.failed[node] = details['reason']


def start(arguments: argparse.Namespace) -> int:
    """Start a dataflow in the background.

    Raises:
        DataflowError: it cannot be run.
        ManagerError: its name is taken, or no logs can be written.
        CommandError: it did not come up; nothing of it is left.

    """
    options = options_of(arguments, arguments.file)
    dataflow = options.load_for_all()
    for warning in dataflow.warnings:
        sys.stderr.write(f'{warning}\n')
    if machines(dataflow) and not options.machine:
        from adora_ros.cli.machines import start_on_machines  # noqa: PLC0415 - it needs rclpy

        return start_on_machines(dataflow, arguments)
    share(dataflow, options.machine)
    manager = BackgroundManager(options)
    try:
        progress = manager.wait_until_up(arguments.timeout)
    except BaseException:
        manager.abandon()
        raise
    if progress.ended and progress.error:
        manager.process.wait()
        msg = f'{options.dataflow_name} failed: {progress.error}; logs: {progress.folder}'
        raise CommandError(msg)
    for node, reason in progress.failed.items():
        sys.stderr.write(f'adora: warning: node {node} failed: {reason}\n')
    sys.stdout.write(progress.run if arguments.quiet else f'started {options.dataflow_name}: {progress.run}')
    sys.stdout.write('\n')
    sys.stdout.flush()
    manager.detach()
    if arguments.detach:
        return 0
    return manager.attend()


class BackgroundManager:
    """A manager in a session of its own."""

    def __init__(self, options: Options) -> None:
        """Start it.

        Raises:
            ManagerError: no logs can be written.

        """
        self.progress = Progress()
        self._connection: socket.socket | None = None
        self._text = b''
        name = f'adora-start-{uuid.uuid4()}'
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(f'\0{name}')
        self._listener.listen(1)
        handle, draft = tempfile.mkstemp(prefix='start-', suffix='.log', dir=dataflow_folder(options.dataflow_name))
        self._console = Path(draft)
        self.process = subprocess.Popen(
            manager_command(options, f'@{name}'),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=handle,
            start_new_session=True,
        )
        os.close(handle)

    def wait_until_up(self, timeout: float) -> Progress:
        """Follow the manager until the dataflow is up or has ended.

        Raises:
            ManagerError: it could not run the dataflow at all.
            CommandError: it did not come up in time, or the manager died.

        """
        deadline = time.monotonic() + timeout
        while not (self.progress.up or self.progress.ended):
            if time.monotonic() >= deadline:
                missing = ', '.join(self.progress.nodes)
                where = f'; logs: {self.progress.folder}' if self.progress.folder else ''
                msg = f'not up within {timeout:g} s{f" ({missing})" if missing else ""}, and stopped{where}'
                raise CommandError(msg)
            if not self._read() and self.process.poll() is not None:
                raise self._last_words()
        return self.progress

    def detach(self) -> None:
        """Let the manager go on without this process."""
        if self._connection is not None:
            with contextlib.suppress(OSError):
                self._connection.sendall(DETACH)
            self._connection.close()
        self._listener.close()

    def abandon(self) -> None:
        """Have the manager stop what it has started, and wait for its end."""
        if self._connection is not None:
            self._connection.close()
        else:
            self.process.terminate()
        self._listener.close()
        try:
            self.process.wait(self.progress.stop_within + 10.0)
        except subprocess.TimeoutExpired:
            self.process.kill()  # its guardian ends the nodes
            self.process.wait()
        if not self.progress.run:
            self._console.unlink(missing_ok=True)

    def attend(self) -> int:
        """Show what it logs until it ends, pass Ctrl-C on, and return its exit code."""
        signal.signal(signal.SIGINT, lambda number, _frame: self.process.send_signal(number))
        show_run(Path(self.progress.folder), goes_on=lambda: self.process.poll() is None)
        return self.process.wait()

    def _read(self) -> bool:
        """Take what has come within a moment; return whether there was anything."""
        source = self._connection or self._listener
        if not select.select([source], [], [], STEP)[0]:
            return False
        if self._connection is None:
            self._accept()
            return True
        data = self._connection.recv(65536)
        *lines, self._text = (self._text + data).split(b'\n')
        for line in lines:
            self._take(json.loads(line))
        if not data:
            self.process.wait()
        return bool(data)

    def _accept(self) -> None:
        """Take the connection of our own process; others are refused."""
        connection, _ = self._listener.accept()
        if peer(connection)[0] == self.process.pid:
            self._connection = connection
        else:
            connection.close()

    def _take(self, event: dict[str, Any]) -> None:
        self.progress.take(event)
        if event['kind'] == 'DATAFLOW_STARTING':
            self._console = self._console.rename(Path(self.progress.folder) / CONSOLE)

    def _last_words(self) -> Exception:
        """Return why a manager ended that never ran the dataflow."""
        lines = [line for line in self._console.read_text(encoding='utf-8', errors='replace').splitlines() if line]
        text = lines[-1].removeprefix('manager: error: ') if lines else f'exit code {self.process.returncode}'
        if self.process.returncode == BAD_INPUT:
            return ManagerError(text)
        return CommandError(f'the manager ended: {text}')


def manager_command(options: Options, address: str) -> list[str]:
    """Return the command line of a manager with these options that tells ``address`` of its events."""
    command = [sys.executable, '-m', 'adora_ros.cli.manager', '--dataflow', str(options.file.absolute())]
    command += ['--events', address, '--quiet', '--name', options.name or options.file.stem]
    for flag, value in (('--machine', options.machine), ('--namespace', options.outer_namespace)):
        command += [flag, value] if value else []
    command += ['--use-sim-time'] if options.use_sim_time else []
    for name, value in options.env.items():
        command += ['--env', f'{name}={value}']
    if options.exit_when_nodes_finish is not None:
        command.append(f'--{"" if options.exit_when_nodes_finish else "no-"}exit-when-nodes-finish')
    if options.stop_after is not None:
        command += ['--stop-after', f'{options.stop_after}s']
    return command
