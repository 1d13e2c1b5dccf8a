"""What nodes print: one thread that empties every pipe into log files and hands lines to whoever shows them."""

from __future__ import annotations

import contextlib
import os
import queue
import re
import selectors
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timezone
from enum import Enum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pathlib import Path

CHUNK = 64 * 1024
"""Bytes read at a time."""
LINE_LIMIT = 64 * 1024
"""Bytes after which an unfinished line is passed on all the same."""
DEFAULT_LOG_SIZE = 50 * 1024 * 1024
"""Bytes at which a log file is rotated if the dataflow does not say."""


class Stream(str, Enum):
    """Where a process wrote a line."""

    STDOUT = 'stdout'
    STDERR = 'stderr'


_ROS_LINE = re.compile(r'\[(?P<level>[A-Z]+)\] \[[0-9.]+\] \[[^]]*\]: ')
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


class LogFile:
    """A file that is rotated by size: ``x.log``, then ``x.1.log`` and so on, the oldest dropped.

    An error (a full disk, say) loses lines of the log and nothing else; :attr:`error` keeps its text, and writing is
    tried again with the next lines.
    """

    def __init__(self, path: Path, *, max_size: int | None = None, max_files: int = 5) -> None:
        """Open nothing yet.

        Args:
            path: The file.
            max_size: Bytes at which it is rotated; None for :data:`DEFAULT_LOG_SIZE`.
            max_files: Rotated files to keep.

        """
        self.path = path
        self.error: str | None = None
        self._max_size = DEFAULT_LOG_SIZE if max_size is None else max_size
        self._max_files = max_files
        self._fd = -1
        self._size = 0

    def write(self, data: bytes) -> None:
        """Append ``data``, which ends with a line end."""
        try:
            if self._fd < 0:
                self._open()
            if self._size and self._size + len(data) > self._max_size:
                self._rotate()
            os.write(self._fd, data)
        except OSError as error:
            self.error = f'{self.path}: {error.strerror}'
            return
        self.error = None
        self._size += len(data)

    def close(self) -> None:
        """Close the file."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _open(self) -> None:
        self._fd = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self._size = os.fstat(self._fd).st_size

    def _rotated(self, number: int) -> Path:
        return self.path.with_name(f'{self.path.stem}.{number}{self.path.suffix}')

    def _rotate(self) -> None:
        self.close()
        with contextlib.suppress(FileNotFoundError):
            self._rotated(self._max_files).unlink()
        for number in range(self._max_files - 1, 0, -1):
            with contextlib.suppress(FileNotFoundError):
                self._rotated(number).rename(self._rotated(number + 1))
        if self._max_files > 0:
            self.path.rename(self._rotated(1))
        else:
            self.path.unlink()
        self._open()


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

    def __init__(self, listener: OutputListener) -> None:
        self._listener = listener
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

    def _wake(self) -> None:
        with contextlib.suppress(BlockingIOError):
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
                return

    def _take_new(self) -> None:
        while True:
            try:
                new = self._new.get_nowait()
            except queue.Empty:
                return
            if isinstance(new, _Pipe):
                self._selector.register(new.fd, selectors.EVENT_READ, new)
            elif isinstance(new, _Line):
                new.file.write(new.text)
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
            pipe.file.write(_stamped(lines, pipe.stream))
            self._listener(pipe.node, pipe.stream, lines)
        if ended:
            if pipe.tap is not None:
                pipe.tap.ended()
            self._selector.unregister(pipe.fd)
            os.close(pipe.fd)
            self._close_unused(pipe.file)

    def _close_unused(self, file: LogFile) -> None:
        in_use = any(key.data is not None and key.data.file is file for key in self._selector.get_map().values())
        if file in self._released and not in_use:
            self._released.discard(file)
            file.close()


def _complaint(lines: list[bytes]) -> str:
    """Return the last of some lines that is not harmless, without the prefix that ROS 2 gives it; empty if all are."""
    for line in reversed(lines):
        text = line.decode(errors='replace').strip()
        match = _ROS_LINE.match(text)
        if text and (match is None or match['level'] not in _HARMLESS):
            return text if match is None else text[match.end() :]
    return ''


def _stamped(lines: list[bytes], stream: Stream) -> bytes:
    prefix = f'{_now()} {stream.value} '.encode()
    return prefix + (b'\n' + prefix).join(lines) + b'\n'


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec='milliseconds')
