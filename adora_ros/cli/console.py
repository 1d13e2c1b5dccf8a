"""Shows a run as it happens, without ever making it wait for the terminal."""

from __future__ import annotations

import contextlib
import os
import select
import threading
import time
from typing import TYPE_CHECKING, Protocol

from adora_ros.cli.backlog import Backlog, Dropped, Item, Output
from adora_ros.cli.progress import ProgressLine
from adora_ros.cli.uptime import UpTimes
from adora_ros.manager.events import Level, ManagerEvent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from adora_ros.cli.render import Renderer
    from adora_ros.manager.logs import Stream

FLUSH = 2.0
"""Seconds that the end of a run may wait for a terminal or pipe that takes nothing."""


class Sink(Protocol):
    """Where text goes; may block, and raises OSError once nobody reads it."""

    def write(self, text: str) -> object:
        """Write all of ``text``."""


class FileDescriptorSink:
    """Writes straight to a file descriptor.

    A buffered stream has a lock, which a thread that hangs in a full pipe would hold until after the program's end.
    """

    def __init__(self, fd: int, encoding: str) -> None:
        self._fd = fd
        self._encoding = encoding

    def write(self, text: str) -> None:
        """Write all of ``text``, however long that takes.

        Raises:
            OSError: nobody reads it any more.

        """
        data = memoryview(text.encode(self._encoding, 'backslashreplace'))
        while data:
            try:
                data = data[os.write(self._fd, data) :]
            except BlockingIOError:
                select.select([], [self._fd], [])


class Console:
    """A :class:`adora_ros.manager.options.Listener` whose thread writes what there is to show.

    When nobody reads the text any more it goes nowhere, and the run goes on.
    """

    def __init__(
        self,
        sink: Sink,
        renderer: Renderer,
        *,
        verbose: bool = False,
        show_output: bool = True,
        show_progress: bool = False,
        backlog: Backlog | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Start the thread.

        Args:
            sink: Where the text goes.
            renderer: What it looks like.
            verbose: Whether to show events of level DEBUG.
            show_output: Whether to show what nodes print.
            show_progress: Whether to show how far a start is; only a terminal can.
            backlog: What waits to be written.
            clock: Steady time in seconds.

        """
        self._sink = sink
        self._renderer = renderer
        self._verbose = verbose
        self._show_output = show_output
        self._progress = ProgressLine(is_shown=show_progress)
        self._backlog = backlog or Backlog()
        self._clock = clock
        self._up_times = UpTimes()
        self._thread = threading.Thread(target=self._run, name='adora-console', daemon=True)
        self._thread.start()

    def event(self, event: ManagerEvent) -> None:
        """Show one event."""
        self._up_times.take(event, self._clock())
        if self._verbose or event.level is not Level.DEBUG:
            self._backlog.put(event)

    def output(self, node: str, stream: Stream, lines: list[bytes]) -> None:
        """Show lines that a node printed."""
        if self._show_output:
            self._backlog.put_output(Output(node, stream, tuple(lines)))

    def up_times(self) -> Mapping[str, float]:
        """Return for how many seconds the last incarnation of each node that came up has worked."""
        return self._up_times.seconds(self._clock())

    def finish(self, text: str = '', *, timeout: float = FLUSH) -> bool:
        """Write a last text, then end; return whether all was written within ``timeout`` seconds."""
        if text:
            self._backlog.put(text)
        self._backlog.close()
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while items := self._backlog.take():
            text = ''.join(f'{line}\n' for item in items for line in self._lines(item))
            with contextlib.suppress(OSError):
                self._sink.write(self._progress.below(text))

    def _lines(self, item: Item) -> Iterator[str]:
        if isinstance(item, ManagerEvent):
            self._progress.take(item)
            yield self._renderer.event(item)
        elif isinstance(item, Output):
            for line in item.lines:
                yield self._renderer.output(item.node, item.stream, line)
        elif isinstance(item, Dropped):
            yield self._renderer.dropped(item.count)
        else:
            yield item
