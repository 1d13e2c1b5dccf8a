"""What nodes print: one thread that empties every pipe into log files and hands lines to whoever shows them."""

from __future__ import annotations

import contextlib
import os
import queue
import re
import selectors
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timezone
from enum import Enum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from adora_ros.manager.logfile import LogFile

CHUNK = 64 * 1024
"""Bytes read at a time."""
LINE_LIMIT = 64 * 1024
"""Bytes after which an unfinished line is passed on all the same."""
COMPLAINT_PERIOD = 60.0
"""Seconds for which nothing more is said of log files that cannot be written."""


class Stream(str, Enum):
    """Where a process wrote a line."""

    STDOUT = 'stdout'
    STDERR = 'stderr'


ROS_LINE = re.compile(r'\[(?P<level>[A-Z]+)\] \[[0-9.]+\] \[[^]]*\]: ')
"""The beginning of a line in the default console format of ROS 2."""
_HARMLESS = {'DEBUG', 'INFO'}

OutputListener = Callable[[str, Stream, 'list[bytes]'], None]
"""Called on the log thread with node id, stream and complete lines without their ends; must not block."""


class LineTap(Protocol):
    """Sees the lines of one process before they are logged; called on the log thread."""

    def take(self, stream: Stream, lines: list[bytes]) -> list[bytes]:
        """Return those that are to be logged."""

    def ended(self) -> None:
        """One of the two pipes of the process has ended."""


@dataclass
class _Pipe:
    """One pipe of one process."""

    fd: int
    node: str
    stream: Stream
    file: LogFile
    tap: LineTap | None = None
    partial: bytearray = field(default_factory=bytearray)

    def read(self) -> tuple[list[bytes], bool]:
        """Return the lines that are complete now, and whether the pipe has ended."""
        try:
            data = os.read(self.fd, CHUNK)
        except BlockingIOError:
            return [], False
        self.partial += data
        lines = self.partial.split(b'\n')
        self.partial = lines.pop() if data and len(lines[-1]) < LINE_LIMIT else bytearray()
        complete = [bytes(line) for line in lines]
        if not data and complete == [b'']:
            complete = []
        return complete, not data


@dataclass(frozen=True)
class _Line:
    """A line of the manager's own."""

    file: LogFile
    text: bytes


@dataclass(frozen=True)
class _Release:
    """A file that gets no further pipes and lines."""

    file: LogFile


class LogPump:
    """Empties the pipes of all nodes on a thread of its own, so that no amount of output delays supervision."""

    def __init__(self, listener: OutputListener, *, complain: Callable[[str], None] = lambda _text: None) -> None:
        """Start the thread.

        Args:
            listener: Gets what nodes print.
            complain: Told in one line, on the log thread, that log files cannot be written, and that they can again.

        """
        self._listener = listener
        self._complain = complain
        self._troubled: set[LogFile] = set()
        self._complained_at = -COMPLAINT_PERIOD
        self._in_trouble = False
        self._selector = selectors.DefaultSelector()
        self._wake_read, self._wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._selector.register(self._wake_read, selectors.EVENT_READ)
        self._new: queue.SimpleQueue[_Pipe | _Line | _Release] = queue.SimpleQueue()
        self._released: set[LogFile] = set()
        self._complaints: dict[str, str] = {}
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name='adora-logs', daemon=True)
        self._thread.start()

    def attach(self, node: str, outputs: tuple[int, int], file: LogFile, tap: LineTap | None = None) -> None:
        """Take over the pipes of a process; they are closed at their end."""
        self._complaints.pop(node, None)
        for fd, stream in zip(outputs, Stream, strict=True):
            os.set_blocking(fd, False)
            self._new.put(_Pipe(fd, node, stream, file, tap))
        self._wake()

    def last_complaint(self, node: str) -> str:
        """Return the last line of a node's standard error, those of level INFO and DEBUG aside; empty without one."""
        return self._complaints.get(node, '')

    def write(self, file: LogFile, line: str) -> None:
        """Append a line of the manager's own to a log file."""
        self._new.put(_Line(file, f'{_now()} {line}\n'.encode()))
        self._wake()

    def release(self, file: LogFile) -> None:
        """Close a log file once the last pipe that leads into it has ended."""
        self._new.put(_Release(file))
        self._wake()

    def close(self, timeout: float = 2.0) -> None:
        """Read what is left, then end the thread; wait at most ``timeout`` seconds for that."""
        self._closing.set()
        self._wake()
        self._thread.join(timeout)
        if self._wake_write >= 0 and not self._thread.is_alive():
            os.close(self._wake_write)
            self._wake_write = -1

    def _wake(self) -> None:
        with contextlib.suppress(OSError):  # it is awake already, or has ended
            os.write(self._wake_write, b'.')

    def _run(self) -> None:
        while True:
            ready = self._selector.select(0 if self._closing.is_set() else None)
            self._take_new()
            for key, _mask in ready:
                if key.data is None:
                    os.read(self._wake_read, CHUNK)
                else:
                    self._serve(key.data)
            if self._closing.is_set() and not ready and self._new.empty():
                break
        for key in tuple(self._selector.get_map().values()):
            os.close(key.fd)
        self._selector.close()

    def _take_new(self) -> None:
        while True:
            try:
                new = self._new.get_nowait()
            except queue.Empty:
                return
            if isinstance(new, _Pipe):
                self._selector.register(new.fd, selectors.EVENT_READ, new)
            elif isinstance(new, _Line):
                self._log(new.file, new.text)
            else:
                self._released.add(new.file)
                self._close_unused(new.file)

    def _serve(self, pipe: _Pipe) -> None:
        lines, ended = pipe.read()
        complaint = _complaint(lines) if pipe.stream is Stream.STDERR else ''
        if complaint:
            self._complaints[pipe.node] = complaint
        if lines and pipe.tap is not None:
            lines = pipe.tap.take(pipe.stream, lines)
        if lines:
            self._log(pipe.file, _stamped(lines, pipe.stream))
            self._listener(pipe.node, pipe.stream, lines)
        if ended:
            if pipe.tap is not None:
                pipe.tap.ended()
            self._selector.unregister(pipe.fd)
            os.close(pipe.fd)
            self._close_unused(pipe.file)

    def _log(self, file: LogFile, data: bytes) -> None:
        """Write to a file; say once that files cannot be written, and once that they can again."""
        file.write(data)
        if file.error is not None:
            self._troubled.add(file)
            if not self._in_trouble and time.monotonic() - self._complained_at >= COMPLAINT_PERIOD:
                self._in_trouble = True
                self._complained_at = time.monotonic()
                self._complain(f'{file.error}; log lines are lost until it can be written, nothing else is')
        elif self._troubled:
            self._troubled.discard(file)
            if not self._troubled and self._in_trouble:
                self._in_trouble = False
                self._complain('the log files can be written again')

    def _close_unused(self, file: LogFile) -> None:
        in_use = any(key.data is not None and key.data.file is file for key in self._selector.get_map().values())
        if file in self._released and not in_use:
            self._released.discard(file)
            self._troubled.discard(file)
            file.close()


def _complaint(lines: list[bytes]) -> str:
    """Return the last of some lines that is not harmless, without the prefix that ROS 2 gives it; empty if all are."""
    for line in reversed(lines):
        text = line.decode(errors='replace').strip()
        match = ROS_LINE.match(text)
        if text and (match is None or match['level'] not in _HARMLESS):
            return text if match is None else text[match.end() :]
    return ''


def _stamped(lines: list[bytes], stream: Stream) -> bytes:
    prefix = f'{_now()} {stream.value} '.encode()
    return prefix + (b'\n' + prefix).join(lines) + b'\n'


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec='milliseconds')
