"""What is still to be written to the terminal."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from adora_ros.manager.events import ManagerEvent

if TYPE_CHECKING:
    from adora_ros.manager.logs import Stream

OUTPUT_LIMIT = 4 * 1024 * 1024
"""Bytes of node output that may wait."""
LINE_COST = 64
"""Bytes that a line counts for beside its own."""
BATCH = 64 * 1024
"""Bytes of node output that are taken at a time; what is taken can no longer be dropped."""


@dataclass(frozen=True)
class Output:
    """Lines that a node printed."""

    node: str
    stream: Stream
    lines: tuple[bytes, ...]

    @property
    def cost(self) -> int:
        """Bytes that it counts for."""
        return sum(map(len, self.lines)) + LINE_COST * len(self.lines)


@dataclass(frozen=True)
class Dropped:
    """Stands in the place of ``count`` lines of output."""

    count: int


Item = ManagerEvent | Output | Dropped | str
"""A string is a text of the program's own, several lines perhaps."""


class Backlog:
    """A queue in order of arrival that never makes a writer wait.

    Events and texts are always kept. Of the output of nodes the oldest is dropped once there is too much of it; a
    :class:`Dropped` says how much. Any thread may put, one thread takes.
    """

    def __init__(self, *, limit: int = OUTPUT_LIMIT, batch: int = BATCH) -> None:
        self._limit = limit
        self._batch = batch
        self._changed = threading.Condition()
        self._arrivals = 0
        self._kept: deque[tuple[int, ManagerEvent | str]] = deque()
        self._output: deque[tuple[int, Output]] = deque()
        self._waiting = 0
        self._dropped = 0
        self._closed = False

    def put(self, item: ManagerEvent | str) -> None:
        """Add what must not be lost."""
        with self._changed:
            self._kept.append((self._next(), item))
            self._changed.notify()

    def put_output(self, output: Output) -> None:
        """Add output, at the expense of older output if there is too much."""
        with self._changed:
            self._output.append((self._next(), output))
            self._waiting += output.cost
            while self._waiting > self._limit:
                _, oldest = self._output.popleft()
                self._waiting -= oldest.cost
                self._dropped += len(oldest.lines)
            self._changed.notify()

    def close(self) -> None:
        """Let :meth:`take` come to an end once everything has been taken."""
        with self._changed:
            self._closed = True
            self._changed.notify()

    def take(self) -> list[Item]:
        """Wait for something to write and return it, in order; nothing once the backlog is closed and empty."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._kept or self._output or self._dropped)
            items: list[Item] = []
            size = 0
            while size < self._batch and (self._kept or self._output):
                if self._output and (not self._kept or self._output[0][0] < self._kept[0][0]):
                    size += self._take_output(items)
                else:
                    items.append(self._kept.popleft()[1])
            if not self._output:
                self._tell_dropped(items)
            return items

    def _take_output(self, items: list[Item]) -> int:
        self._tell_dropped(items)
        _, output = self._output.popleft()
        self._waiting -= output.cost
        items.append(output)
        return output.cost

    def _tell_dropped(self, items: list[Item]) -> None:
        if self._dropped:
            items.append(Dropped(self._dropped))
            self._dropped = 0

    def _next(self) -> int:
        self._arrivals += 1
        return self._arrivals
