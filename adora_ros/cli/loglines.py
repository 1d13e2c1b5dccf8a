"""Lines of log files: read, told apart by level, merged by time and followed."""

from __future__ import annotations

import heapq
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from adora_ros.cli.arguments import LEVELS
from adora_ros.manager.loglines import json_object
from adora_ros.manager.logs import ROS_LINE, Stream

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

MANAGER = 'manager'
"""Whose name the manager's own log has."""
CONSOLE = 'console.log'
"""What a manager in the background writes on its standard error; its lines have no form."""
UNLABELLED_STDERR = 'warn'
"""Level of a line on the standard error that has none, such as one of a traceback."""
_SUFFIX = '.log'
_NUMBERED = re.compile(r'(?P<node>.+)\.(?P<number>\d+)\.log')
_SYNONYMS = {'warning': 'warn', 'fatal': 'error', 'critical': 'error'}
CHUNK = 256 * 1024


@dataclass(frozen=True, kw_only=True)
class LogLine:
    """One line.

    Attributes:
        stamp: Wall time at which the manager read it, ISO 8601 in UTC.
        node: Whose it is.
        level: One of :data:`LEVELS`.
        stream: Where it was written; the manager's own are on the standard output.
        text: The line.

    """

    stamp: str
    node: str
    level: str
    stream: Stream
    text: str


def node_files(folder: Path) -> dict[str, list[Path]]:
    """Return the log files of each node of a run, the oldest first."""
    numbered: dict[str, list[tuple[int, Path]]] = {}
    names = {path.name: path for path in folder.glob(f'*{_SUFFIX}')}
    for name, path in names.items():
        match = _NUMBERED.fullmatch(name)
        if match is not None:
            numbered.setdefault(match['node'], []).append((-int(match['number']), path))
        elif name != CONSOLE:
            numbered.setdefault(name[: -len(_SUFFIX)], []).append((0, path))
    return {node: [path for _, path in sorted(files)] for node, files in sorted(numbered.items())}


def parse(node: str, raw: bytes, last_stamp: str = '') -> LogLine:
    """Return a line of a log file; one that is damaged gets the stamp of the line before it."""
    text = raw.decode('utf-8', 'replace').rstrip('\n')
    stamp, _, rest = text.partition(' ')
    word, _, body = rest.partition(' ')
    if node == MANAGER and word in LEVELS:
        return LogLine(stamp=stamp, node=node, level=word, stream=Stream.STDOUT, text=body)
    if node != MANAGER and word in {stream.value for stream in Stream}:
        stream = Stream(word)
        return LogLine(stamp=stamp, node=node, level=level_of(body, stream), stream=stream, text=body)
    return LogLine(stamp=last_stamp, node=node, level='stdout', stream=Stream.STDOUT, text=text)


def level_of(text: str, stream: Stream) -> str:
    """Return the level of what a node printed: that of a ROS line or of ``Node.log``, else by its stream."""
    level = ''
    entry = json_object(text)
    if entry is not None and {'level', 'message'} <= entry.keys():
        level = str(entry['level']).lower()
    elif (match := ROS_LINE.match(text)) is not None:
        level = match['level'].lower()
    level = _SYNONYMS.get(level, level)
    if level in LEVELS:
        return level
    return UNLABELLED_STDERR if stream is Stream.STDERR else 'stdout'


class Tail:
    """The lines of one node's log, and those that are added to it, over rotations."""

    def __init__(self, node: str, folder: Path) -> None:
        self._node = node
        self._path = folder / f'{node}{_SUFFIX}'
        self._fd = -1
        self._inode = 0
        self._partial = b''
        self._stamp = ''

    def past(self, files: Iterable[Path]) -> Iterator[LogLine]:
        """Yield what the files have now, and remember where the last one ends."""
        for path in files:
            if path == self._path:
                yield from self.new()
                continue
            try:
                with path.open('rb') as file:
                    for raw in file:
                        yield self._parse(raw)
            except FileNotFoundError:
                continue  # rotated away

    def new(self) -> Iterator[LogLine]:
        """Yield the lines that have been added."""
        while True:
            if self._fd < 0 and not self._open():
                return
            while data := os.read(self._fd, CHUNK):
                *lines, self._partial = (self._partial + data).split(b'\n')
                for raw in lines:
                    yield self._parse(raw)
            if not self._is_rotated():
                return
            self.close()

    def close(self) -> None:
        """Close the file."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _open(self) -> bool:
        try:
            self._fd = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        self._inode = os.fstat(self._fd).st_ino
        return True

    def _is_rotated(self) -> bool:
        try:
            return self._path.stat().st_ino != self._inode
        except FileNotFoundError:
            return False

    def _parse(self, raw: bytes) -> LogLine:
        line = parse(self._node, raw, self._stamp)
        self._stamp = line.stamp
        return line


class Logs:
    """The logs of one run.

    Args:
        folder: The folder of the run.
        nodes: ROS names of the nodes; all of them and the manager if empty.

    """

    def __init__(self, folder: Path, nodes: Iterable[str] = ()) -> None:
        self._folder = folder
        self._nodes = frozenset(nodes)
        self._tails: dict[str, Tail] = {}

    def past(self) -> Iterator[LogLine]:
        """Yield what there is, ordered by time."""
        files = self._files()
        return heapq.merge(*(self._tail(node).past(files[node]) for node in files), key=lambda line: line.stamp)

    def new(self) -> list[LogLine]:
        """Return what has been added since, ordered by time."""
        lines = [line for node in self._files() for line in self._tail(node).new()]
        return sorted(lines, key=lambda line: line.stamp)

    def close(self) -> None:
        """Close all files."""
        for tail in self._tails.values():
            tail.close()

    @property
    def known(self) -> tuple[str, ...]:
        """The nodes that have logs."""
        return tuple(node_files(self._folder))

    def _files(self) -> dict[str, list[Path]]:
        return {
            node: files for node, files in node_files(self._folder).items() if not self._nodes or node in self._nodes
        }

    def _tail(self, node: str) -> Tail:
        return self._tails.setdefault(node, Tail(node, self._folder))
