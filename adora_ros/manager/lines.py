"""What nodes print as messages of the dataflow: ``send_stdout_as``, ``send_logs_as`` and the ``dora/logs`` inputs.

The log thread hands lines over; a thread of its own publishes them, so that no amount of output delays the log files
or supervision.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from adora_ros.dataflow import LogSource, NodeSource
from adora_ros.manager.loglines import LogEntry, parse_line
from adora_ros.manager.logs import LineTap, Stream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from adora_ros.dataflow import Dataflow, NodeSpec

PENDING_LIMIT = 1000
"""Lines of one output that wait to be published; more push out the oldest."""
MATCH_PATIENCE = 3.0
"""Seconds from the end of the start of a dataflow for which lines wait for a subscriber that is not there."""
POLL = 0.02
"""Seconds between two looks whether a subscriber is there."""
ACK_STEP = 0.05
"""Seconds of one wait for the subscribers to have everything."""
ACK_PATIENCE = 2.0
"""Seconds of all such waits; a subscriber that was killed has not been missed for as long as its lease."""


class TextPublisher(Protocol):
    """Publishes texts as Arrow values on one topic."""

    def publish(self, text: str, stamp: int) -> None:
        """Publish one text with its time in nanoseconds since the Unix epoch."""

    def matched(self) -> int:
        """Return how many subscriptions are connected."""

    def acknowledged(self, timeout: float) -> bool:
        """Return whether, within ``timeout`` seconds, all of them have what was published."""

    def close(self) -> None:
        """Leave the topic."""


@dataclass(eq=False)
class _Channel:
    """One topic."""

    publisher: TextPublisher
    consumers: int
    """Inputs of the dataflow that read it."""
    pending: deque[tuple[str, int]] = field(default_factory=lambda: deque(maxlen=PENDING_LIMIT))
    open: bool = False
    lost: int = 0
    busy: bool = False


@dataclass(eq=False)
class _Routes:
    """Where the lines of one node go."""

    spec: NodeSpec
    stdout: _Channel | None
    logs: _Channel | None
    listeners: list[tuple[LogSource, _Channel]]
    open_pipes: int = 0

    def channels(self) -> Iterator[_Channel]:
        """Yield every channel."""
        yield from (channel for channel in (self.stdout, self.logs) if channel is not None)
        yield from (channel for _, channel in self.listeners)


class Lines:
    """Routes the lines of all nodes of one run.

    Args:
        dataflow: the dataflow.
        run_id: uuid of the run.
        machine: name of this machine; empty if it has none.
        open_topic: returns a publisher for a topic.
        complain: takes a text about lines that were lost; called on the thread of this object.

    """

    def __init__(
        self,
        dataflow: Dataflow,
        *,
        run_id: str,
        machine: str,
        open_topic: Callable[[str], TextPublisher],
        complain: Callable[[str], object],
    ) -> None:
        self._run_id = run_id
        self._machine = machine
        self._complain = complain
        self._changed = threading.Condition()
        self._deadline: float | None = None
        self._closing = False
        self._channels: list[_Channel] = []
        self._routes = _routes(dataflow, self._open(open_topic))
        self._thread: threading.Thread | None = None
        if self._channels:
            self._thread = threading.Thread(target=self._run, name='adora-lines', daemon=True)
            self._thread.start()

    def tap(self, node: str) -> LineTap | None:
        """Return what sees the lines of a new process of a node; None if nobody has use for them."""
        routes = self._routes[node]
        if routes.spec.min_log_level is None and not any(routes.channels()):
            return None
        with self._changed:
            routes.open_pipes += len(Stream)
        return _Tap(self, routes)

    def started(self, *, patience: float = MATCH_PATIENCE) -> None:
        """Note that the dataflow is up: lines wait at most ``patience`` seconds longer for a subscriber."""
        with self._changed:
            if self._deadline is None or not patience:
                self._deadline = time.monotonic() + patience
            self._changed.notify_all()

    async def drain(self, node: str, timeout: float) -> None:
        """Wait until the subscribers have all that a node's ended process has printed.

        Args:
            node: id of the node.
            timeout: seconds for the subscribers to be there.

        """
        routes = self._routes[node]
        channels = tuple(dict.fromkeys(routes.channels()))
        if not channels:
            return
        deadline = time.monotonic() + timeout
        while not self._is_published(routes, channels) and time.monotonic() < deadline:  # noqa: ASYNC110 - threads
            await asyncio.sleep(POLL)
        await asyncio.get_running_loop().run_in_executor(None, _acknowledged, channels)

    def _is_published(self, routes: _Routes, channels: tuple[_Channel, ...]) -> bool:
        with self._changed:
            return self._closing or not (routes.open_pipes or any(c.pending or c.busy for c in channels))

    def close(self) -> None:
        """Publish what waits, then leave the topics."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()
        for channel in self._channels:
            channel.publisher.close()

    # On the log thread

    def take(self, routes: _Routes, stream: Stream, lines: list[bytes]) -> list[bytes]:
        """Route lines and return those that are to be logged."""
        now = time.time_ns()
        kept = []
        outgoing: list[tuple[_Channel, str]] = []
        for line in lines:
            text = line.decode('utf-8', 'replace')
            entry = parse_line(text, now)
            if routes.stdout is not None:
                outgoing.append((routes.stdout, f'{text}\n'))
            counts = entry.passes(routes.spec.min_log_level)
            if counts:
                outgoing += ((channel, self._json(entry, routes)) for channel in _readers(routes, entry))
            if counts or (stream is Stream.STDERR and entry.level == 'stdout'):
                kept.append(line)
        self._put(outgoing, now)
        return kept

    def pipe_ended(self, routes: _Routes) -> None:
        """Note the end of a pipe."""
        with self._changed:
            routes.open_pipes -= 1
            self._changed.notify_all()

    def _json(self, entry: LogEntry, routes: _Routes) -> str:
        return entry.to_json(dataflow_id=self._run_id, node_id=routes.spec.id, machine=self._machine)

    def _put(self, outgoing: Iterable[tuple[_Channel, str]], now: int) -> None:
        with self._changed:
            for channel, text in outgoing:
                channel.lost += len(channel.pending) == PENDING_LIMIT
                channel.pending.append((text, now))
            self._changed.notify_all()

    # On the thread of this object

    def _run(self) -> None:
        while True:
            with self._changed:
                if not self._has_work():
                    self._changed.wait(POLL if self._is_waiting() else None)
                if self._closing and not any(channel.pending for channel in self._channels):
                    return
                ready = [channel for channel in self._channels if channel.pending and self._is_open(channel)]
                batches = [(channel, tuple(channel.pending)) for channel in ready]
                for channel in ready:
                    channel.pending.clear()
                    channel.busy = True
            for channel, batch in batches:
                self._publish(channel, batch)

    def _publish(self, channel: _Channel, batch: tuple[tuple[str, int], ...]) -> None:
        for text, stamp in batch:
            channel.publisher.publish(text, stamp)
        with self._changed:
            channel.busy = False
            lost, channel.lost = channel.lost, 0
            self._changed.notify_all()
        if lost:
            self._complain(f'{lost} lines were printed faster than they can be sent and are only in the log file')

    def _has_work(self) -> bool:
        return self._closing or any(channel.pending and channel.open for channel in self._channels)

    def _is_waiting(self) -> bool:
        return any(channel.pending and not channel.open for channel in self._channels)

    def _is_open(self, channel: _Channel) -> bool:
        """Return whether lines can go out: every subscriber is there, or is not waited for any longer."""
        if not channel.open:
            late = self._deadline is not None and time.monotonic() >= self._deadline
            channel.open = late or self._closing or channel.publisher.matched() >= channel.consumers
        return channel.open

    def _open(self, open_topic: Callable[[str], TextPublisher]) -> Callable[[str, int], _Channel]:
        def channel(topic: str, consumers: int) -> _Channel:
            made = _Channel(open_topic(topic), consumers)
            self._channels.append(made)
            return made

        return channel


class _Tap:
    """See :class:`LineTap`."""

    def __init__(self, lines: Lines, routes: _Routes) -> None:
        self._lines = lines
        self._routes = routes

    def take(self, stream: Stream, lines: list[bytes]) -> list[bytes]:
        """Route the lines."""
        return self._lines.take(self._routes, stream, lines)

    def ended(self) -> None:
        """Count the pipe."""
        self._lines.pipe_ended(self._routes)


def _acknowledged(channels: Iterable[_Channel]) -> None:
    deadline = time.monotonic() + ACK_PATIENCE
    for channel in channels:
        while not channel.publisher.acknowledged(ACK_STEP) and time.monotonic() < deadline:
            pass


def _readers(routes: _Routes, entry: LogEntry) -> Iterator[_Channel]:
    if routes.logs is not None:
        yield routes.logs
    for source, channel in routes.listeners:
        if entry.passes(source.level):
            yield channel


def _routes(dataflow: Dataflow, channel: Callable[[str, int], _Channel]) -> dict[str, _Routes]:
    listeners = [
        (node.id, port.source, channel(str(port.topic), 1))
        for node in dataflow.nodes
        for port in node.inputs
        if isinstance(port.source, LogSource)
    ]
    found = {}
    for node in dataflow.nodes:
        own = {
            port.id: channel(port.topic, _consumers(dataflow, node.id, port.id))
            for port in node.outputs
            if port.by_manager
        }
        found[node.id] = _Routes(
            spec=node,
            stdout=own.get(node.send_stdout_as or ''),
            logs=own.get(node.send_logs_as or ''),
            listeners=[
                (source, made)
                for reader, source, made in listeners
                if reader != node.id and source.node in {None, node.id}
            ],
        )
    return found


def _consumers(dataflow: Dataflow, node: str, output: str) -> int:
    return sum(
        isinstance(port.source, NodeSource) and (port.source.node, port.source.output) == (node, output)
        for consumer in dataflow.nodes
        for port in consumer.inputs
    )
