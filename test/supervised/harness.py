"""What the tests of stubborn nodes and dying managers have in common."""

from __future__ import annotations

import contextlib
import os
import pty
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from adora_ros.transport.contract import RUN_VARIABLE
from support import eventually, processes_with

if TYPE_CHECKING:
    from manager.harness import Flow

ROOT = Path(__file__).parents[2]
EMBEDDING = Path(__file__).with_name('embedding.py')
GRACE = 0.4
"""``stop_grace`` of nodes that do not obey: they are gone half as long again later."""
SLACK = 3.0
"""Seconds that anything may take longer than it should on a machine that is busy with other tests."""


def left(run_id: str) -> list[int]:
    """Return the process ids of everything that a run has left, grandchildren and daemons included."""
    return processes_with(RUN_VARIABLE, run_id)


def is_alive(pid: int) -> bool:
    """Return whether a process exists and is no zombie."""
    try:
        stat = Path(f'/proc/{pid}/stat').read_text(encoding='ascii', errors='replace')
    except OSError:
        return False
    return stat.rpartition(')')[2].split()[0] not in {'Z', 'X'}


def guardian_of(manager: int) -> int:
    """Return the process id of the guardian of a manager."""

    def find() -> int:
        children = Path(f'/proc/{manager}/task/{manager}/children').read_text(encoding='ascii').split()
        for child in children:
            with contextlib.suppress(OSError):  # it has just ended
                if b'guardian.py' in Path(f'/proc/{child}/cmdline').read_bytes():
                    return int(child)
        return 0

    return eventually(find, 10.0, 'the guardian')


class Terminal:
    """``adora run`` in a terminal of its own.

    Args:
        flow: What it runs.
        arguments: Further arguments.

    """

    def __init__(self, flow: Flow, *arguments: str) -> None:
        self._master, slave = pty.openpty()
        self.output = bytearray()
        self.process = subprocess.Popen(
            ['setsid', '--ctty', sys.executable, '-m', 'adora_ros.cli', 'run', str(flow.file), *arguments],
            env={**os.environ, 'PYTHONPATH': str(ROOT)},
            stdin=slave,
            stdout=slave,
            stderr=slave,
        )
        os.close(slave)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def text(self) -> str:
        """What it has shown so far."""
        return bytes(self.output).decode(errors='replace')

    def wait_for(self, text: str) -> None:
        """Wait until it has shown ``text``."""
        eventually(lambda: text in self.text, 30.0, f'{text!r} on the terminal')

    def press_ctrl_c(self) -> None:
        """Press Ctrl-C."""
        os.write(self._master, b'\x03')

    def wait(self, timeout: float = 30.0) -> int:
        """Wait for the end and return the exit code."""
        code = self.process.wait(timeout)
        self._reader.join(timeout)
        return code

    def close(self) -> None:
        """End it, whatever it is doing."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self._reader.join(10.0)

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._master, 65536)
            except OSError:
                break
            self.output += data
        os.close(self._master)


def wait_for_mark(flow: Flow, node: str, words: str, timeout: float = 30.0) -> None:
    """Wait until the first incarnation of a node, and no other, has left a mark."""
    eventually(lambda: flow.marked(node, words) == [0], timeout, f'the mark {words!r} of {node}')


class Stopwatch:
    """Measures from its creation."""

    def __init__(self) -> None:
        self._start = time.monotonic()

    def __call__(self) -> float:
        """Return the seconds since then."""
        return time.monotonic() - self._start
