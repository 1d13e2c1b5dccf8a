"""One run of a supervisor, from its start until nothing of it is left."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import threading
import time
from typing import TYPE_CHECKING, TypeVar

from benchmarks.supervision import stamps

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import TracebackType

    from benchmarks.supervision.flows import Flow
    from benchmarks.supervision.systems import System

T = TypeVar('T')

POLL = 0.02
"""Seconds between two looks at the stamps; what is measured does not depend on it."""
END_LIMIT = 30.0
"""Seconds that a supervisor may take to end."""
TAIL = 15
"""Lines of a supervisor's output to show when something is missing."""


class MissingError(Exception):
    """What a run was waited for did not happen."""


class Death:
    """Waits for the end of a process and takes its time."""

    def __init__(self, pid: int) -> None:
        self.ns: int | None = None
        try:
            handle = os.pidfd_open(pid)
        except ProcessLookupError as error:
            msg = f'process {pid} ended before it could be watched'
            raise MissingError(msg) from error
        self._thread = threading.Thread(target=self._wait, args=(handle,), daemon=True)
        self._thread.start()

    def _wait(self, handle: int) -> None:
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        poll.poll()
        self.ns = time.monotonic_ns()
        os.close(handle)

    def wait(self, timeout: float) -> int | None:
        """Return when the process ended, in nanoseconds of CLOCK_MONOTONIC, or None after ``timeout`` seconds."""
        self._thread.join(timeout)
        return self.ns


class Session:
    """Starts a supervisor on a dataflow; on leaving the context everything it started is gone."""

    def __init__(self, system: System, flow: Flow, folder: Path, domain: int) -> None:
        """Start.

        Args:
            system: The supervisor.
            flow: What it runs.
            folder: Empty; for the dataflow, the stamps of its nodes and logs.
            domain: ROS domain.

        """
        self._system = system
        self._flow = flow
        self._folder = folder
        self._lines: list[tuple[int, str]] = []
        file = folder / 'flow.yml'
        file.write_text(flow.to_yaml(system.keys), encoding='utf-8')
        self.started_ns = time.monotonic_ns()
        self._process = subprocess.Popen(
            system.command(file),
            env=system.environment(file, domain),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._death = Death(self._process.pid)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Session:  # noqa: PYI034  # Python 3.10 has no typing.Self
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    @property
    def pid(self) -> int:
        """The supervisor's process id."""
        return self._process.pid

    def node_pids(self) -> set[int]:
        """Return the process ids of all nodes that started."""
        return {stamp.pid for node in self._flow.nodes for stamp in self.stamps(node.id)}

    def stamps(self, node: str) -> list[stamps.Stamp]:
        """Return what a node wrote down so far."""
        return stamps.read(self._folder, node)

    def exit_lines(self, node: str) -> list[int]:
        """Return when the supervisor's lines about exits of ``node`` came, in nanoseconds of CLOCK_MONOTONIC."""
        return [ns for ns, line in list(self._lines) if self._system.tells_exit(line, node)]

    def wait(self, condition: Callable[[], T], timeout: float, what: str) -> T:
        """Wait until ``condition()`` is true and return its value.

        Raises:
            MissingError: the supervisor ended, or ``timeout`` seconds passed.

        """
        deadline = time.monotonic() + timeout
        while not (value := condition()):
            ended = self._death.ns is not None
            if ended or time.monotonic() >= deadline:
                tail = '\n'.join(line for _, line in self._lines[-TAIL:])
                how = 'the supervisor ended first' if ended else f'not within {timeout:g} s'
                msg = f'{what}: {how}; its last lines:\n{tail}'
                raise MissingError(msg)
            time.sleep(POLL)
        return value

    def stop(self) -> float:
        """Send SIGINT to the supervisor and return the seconds until it has ended.

        Raises:
            MissingError: it has not ended after :data:`END_LIMIT`.

        """
        asked = time.monotonic_ns()
        os.kill(self.pid, signal.SIGINT)
        ended = self._death.wait(END_LIMIT)
        if ended is None:
            msg = f'the end: not within {END_LIMIT:g} s after SIGINT'
            raise MissingError(msg)
        return (ended - asked) / stamps.NANOSECONDS

    def _read(self) -> None:
        pipe = self._process.stdout
        assert pipe is not None  # noqa: S101  # it was asked for
        rest = b''
        while chunk := os.read(pipe.fileno(), 1 << 16):
            now = time.monotonic_ns()
            *lines, rest = (rest + chunk).split(b'\n')
            self._lines += [(now, line.decode(errors='replace')) for line in lines]

    def _end(self) -> None:
        if self._death.ns is None:
            os.kill(self.pid, signal.SIGINT)
            self._death.wait(END_LIMIT)
        if self._death.ns is None:
            self._process.kill()
        self._process.wait()
        for pid in self.node_pids():
            if self._is_ours(pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def _is_ours(self, pid: int) -> bool:
        """Return whether a process that a stamp names is still that node, rather than another with its number."""
        try:
            with open(f'/proc/{pid}/environ', 'rb') as file:  # noqa: PTH123  # one file of /proc
                return f'BENCH_STAMPS={self._folder}'.encode() in file.read().split(b'\0')
        except OSError:
            return False
