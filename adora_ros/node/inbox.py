"""Where everything that a node is told comes together, under one lock.

Four threads meet here: ROS delivers messages, the control channel delivers what the manager says, the clock thread
delivers ticks and silence, and the user's loop takes it all. The order is that of
:class:`~adora_ros.node.queue.EventQueue`.
"""

from __future__ import annotations

import threading
import time
from enum import Enum
from typing import TYPE_CHECKING, Any

from adora_ros.errors import AnswerError, NodeError, ServerEndedError
from adora_ros.inputs import (
    Event,
    Expired,
    InputClosed,
    InputLimits,
    InputRecovered,
    InputState,
    InputWatchdog,
    NodeFailed,
    NodeRestarted,
    Stop,
    StopCause,
)
from adora_ros.node.clockwork import TimerSchedule
from adora_ros.node.items import ExternalMessage, Item, Message, Tick
from adora_ros.node.queue import EventQueue
from adora_ros.node.servers import Servers
from adora_ros.transport.contract import InputConfig, NodeOp, capacity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

EXTERNAL_PREFIX = '/'
"""Begins the names of the queues of merged subscriptions; no input can have such an id."""

LATE = 0.02
"""Seconds after a deadline from which on the clock thread counts as held up, by a suspended process for example."""


class Phase(str, Enum):
    """Whether the node takes part in its dataflow."""

    WAITING = 'waiting'
    """Not activated so far. Messages wait in their queues, so that no first one is lost."""
    ACTIVE = 'active'
    PAUSED = 'paused'
    """Deactivated by an operator: messages are dropped, for they would be stale by the next activation."""
    STOPPING = 'stopping'
    """Told to stop, for good."""


_DEAF = (Phase.PAUSED, Phase.STOPPING)
"""The phases in which messages are dropped."""


class _Over(Enum):
    """What a wait for an item ends with when none will come."""

    OVER = 'over'


class Inbox:
    """Queue, watchdog and timers of one node.

    Args:
        inputs: inputs of the node.
        post: hands a packet for the manager over without blocking; called in the order of the facts.
        flush: sends what has been posted; called by the clock thread, may block.
        clock: a steady clock in seconds.
        wall_clock: nanoseconds since the Unix epoch, for labels.

    """

    def __init__(
        self,
        inputs: Iterable[InputConfig],
        *,
        post: Callable[..., None],
        flush: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], int] = time.time_ns,
    ) -> None:
        inputs = tuple(inputs)
        self._post = post
        self._flush = flush
        self._clock = clock
        self._wall_clock = wall_clock
        self._queue: EventQueue[Message | Tick | ExternalMessage, Event] = EventQueue(
            {i.id: capacity(i.queue_size, i.queue_policy) for i in inputs}
        )
        self._backpressured = {i.id for i in inputs if i.queue_policy == 'backpressure'}
        self._watchdog = InputWatchdog(
            {
                i.id: InputLimits(input_timeout=i.input_timeout, first_message_timeout=i.first_message_timeout)
                for i in inputs
                if i.period is None
            }
        )
        self._timers = TimerSchedule({i.id: i.period for i in inputs if i.period is not None})
        self._fed_by: dict[str, list[str]] = {}
        for item in inputs:
            if item.node is not None:
                self._fed_by.setdefault(item.node, []).append(item.id)
        self._servers = Servers(self._fed_by)
        self._arrivals = 0
        self._externals = 0
        self._phase = Phase.WAITING
        self._lock = threading.Lock()
        self._readable = threading.Condition(self._lock)
        self._rearmed = threading.Condition(self._lock)
        self._listeners: list[Callable[[], None]] = []
        self._opened: set[str] = set()
        self._untold = False
        self._closed = False

    @property
    def phase(self) -> Phase:
        """Whether the node takes part in its dataflow."""
        return self._phase

    @property
    def ended(self) -> bool:
        """Whether the STOP event has been taken: nothing comes any more."""
        return self._queue.ended

    # From the lifecycle.

    def activate(self) -> None:
        """Begin or resume delivery; timers and watchdogs start anew."""
        with self._lock:
            if self._phase in {Phase.ACTIVE, Phase.STOPPING}:
                return
            now = self._clock()
            self._watchdog.activate(now)
            if self._phase is Phase.WAITING:
                for input_id in self._queue.dropped:
                    if self._queue.pending(input_id):
                        self._watchdog.message(input_id, now)
            self._timers.start(now)
            self._phase = Phase.ACTIVE
            self._wake_all()

    def pause(self) -> None:
        """Stop delivery until :meth:`activate`; what waits is dropped, but for control events."""
        with self._lock:
            if self._phase is Phase.ACTIVE:
                self._phase = Phase.PAUSED
                self._still()
                self._queue.discard()

    # From ROS.

    def message(self, input_id: str, payload: Any, *, flush: bool = False) -> None:
        """Take a message from the middleware; with ``flush``, those of its input that wait are dropped before."""
        with self._lock:
            if self._phase in _DEAF:
                return
            opened = input_id not in self._opened
            was_healthy = self._watchdog.state(input_id) is InputState.HEALTHY
            recovered = self._watchdog.message(input_id, self._clock())
            if recovered:
                self._queue.put_control(InputRecovered(input_id), (input_id,))
            if flush:
                self._queue.flush(input_id)
            self._queue.put(input_id, Message(input_id, payload, self._wall_clock()))
            self._notify()
            if opened:
                self._opened.add(input_id)
                self._tell(NodeOp.INPUT_OPENED, input=input_id)
            if recovered:
                self._tell(NodeOp.INPUT_RECOVERED, input=input_id)
            if self._backpressured:
                self._complain_of_overflow(input_id)
            if not was_healthy:
                self._rearmed.notify_all()

    def add_external(self, size: int) -> Callable[[Any], None]:
        """Make room for ``size`` messages of a merged subscription; return what takes them."""
        with self._lock:
            self._externals += 1
            queue_id = f'{EXTERNAL_PREFIX}{self._externals}'
            self._queue.add_input(queue_id, size)

        def take(message: Any) -> None:
            with self._lock:
                if self._phase not in _DEAF:
                    self._queue.put(queue_id, ExternalMessage(message))
                    self._notify()

        return take

    # From the manager.

    def close_input(self, input_id: str) -> None:
        """Note that an input can never deliver again; one that silence has closed is not closed again."""
        with self._lock:
            already = self._watchdog.state(input_id) is InputState.CLOSED
            self._watchdog.close(input_id)
            self._servers.closed(input_id)
            if not already:
                self._queue.put_control(InputClosed(input_id), (input_id,))
                self._notify()

    def node_restarted(self, node_id: str) -> None:
        """Note that a node which feeds this one has a new incarnation, even if it had ended for good."""
        fed = self._fed_by.get(node_id, ())
        with self._lock:
            for input_id in fed:
                self._watchdog.reopen(input_id)
            self._queue.put_control(NodeRestarted(node_id), fed)
            self._notify()
            self._servers.restarted(node_id, self._arrivals)

    def node_failed(self, node_id: str, error: str, input_ids: Iterable[str]) -> None:
        """Note that a node which feeds this one failed for good."""
        event = NodeFailed(node_id, error, tuple(input_ids))
        with self._lock:
            self._queue.put_control(event, event.affected_input_ids)
            self._servers.failed(node_id, error)
            self._notify()

    def stop(self, cause: StopCause) -> None:
        """End delivery: at once if somebody asked for it, after all that waits if no input is left."""
        with self._lock:
            self._queue.finish(Stop(cause), at_once=cause is StopCause.MANUAL)
            self._phase = Phase.STOPPING
            self._still()
            self._wake_all()

    # From the clock thread.

    def run_clock(self) -> None:
        """Deliver ticks and silence in time, until :meth:`close`."""
        while not self._closed:
            with self._lock:
                self._catch_up()
                self._advance(self._clock())
                self._untold = False
            self._flush()
            with self._lock:
                self._wait_for_deadline()
        self._flush()

    def close(self) -> None:
        """End the clock thread and every wait."""
        with self._lock:
            self._closed = True
            self._still()
            self._wake_all()

    # From the user's loop.

    def wait_activated(self, timeout: float) -> bool:
        """Wait until the node is active for the first time, or has to stop.

        Returns:
            Whether it is, within ``timeout`` seconds.

        """
        with self._lock:
            return self._readable.wait_for(lambda: self._phase is not Phase.WAITING, timeout)

    def take(self, timeout: float) -> Item | None:
        """Take the next item, None if there is none within ``timeout`` seconds or ever again."""
        with self._lock:
            item = self._next() if timeout <= 0.0 else self._readable.wait_for(self._next, timeout)
            return None if item is _Over.OVER else item

    def mark(self) -> int:
        """Return how much has arrived so far, to tell later what came before and after now."""
        with self._lock:
            return self._arrivals

    def waiting(self, server: str, since: int) -> tuple[int, list[Message], AnswerError | None]:
        """Return the mark, the messages of ``server`` that wait, and why it will not answer what it was asked.

        Args:
            server: id of a node.
            since: the mark when it was asked.

        Raises:
            NodeError: ``server`` does not feed this node.

        """
        inputs = self._servers.inputs(server)
        if not inputs:
            known = ', '.join(f'`{name}`' for name in self._servers.names()) or 'none'
            msg = f'no input of this node comes from `{server}`: the nodes that feed it are {known}'
            raise NodeError(msg)
        with self._lock:
            messages = [] if self._phase is Phase.WAITING else self._queue.waiting(inputs)
            return (
                self._arrivals,
                [message for _, message in messages if isinstance(message, Message)],
                self._loss(server, since),
            )

    def withdraw(self, message: Message) -> None:
        """Take a message that :meth:`waiting` returned out of its turn."""
        with self._lock:
            self._queue.remove(message.input_id, message)

    def wait_beyond(self, mark: int, timeout: float) -> None:
        """Wait until something has arrived after ``mark``, for at most ``timeout`` seconds."""
        with self._lock:
            self._readable.wait_for(lambda: self._arrivals > mark, timeout)

    def empty(self) -> bool:
        """Return whether :meth:`take` would have to wait."""
        with self._lock:
            return not self._deliverable()

    def add_listener(self, listener: Callable[[], None]) -> None:
        """Call ``listener`` from whatever thread makes an item available, or ends the stream."""
        with self._lock:
            self._listeners.append(listener)

    def remove_listener(self, listener: Callable[[], None]) -> None:
        """Undo :meth:`add_listener`."""
        with self._lock:
            self._listeners.remove(listener)

    # With the lock held.

    def _loss(self, server: str, since: int) -> AnswerError | None:
        loss = self._servers.loss(server, since)
        if loss is None and (self._phase is Phase.STOPPING or self._closed):
            return ServerEndedError('the dataflow stops')
        return loss

    def _complain_of_overflow(self, input_id: str) -> None:
        """Say once that an input which was to hold everything cannot."""
        if input_id in self._backpressured and self._queue.dropped[input_id]:
            self._backpressured.discard(input_id)
            text = (
                f'input {input_id!r}: {self._queue.pending(input_id)} messages wait, more are dropped although its '
                'queue_policy is backpressure: this node is slower than the source'
            )
            self._tell(NodeOp.WARNING, text=text)

    def _deliverable(self) -> bool:
        return self._phase is not Phase.WAITING and not self._queue.empty()

    def _next(self) -> Item | _Over | None:
        """Take the next item; None if there is none yet."""
        item = None if self._phase is Phase.WAITING else self._queue.pop()
        if item is None and (self._closed or self._queue.ended):
            return _Over.OVER
        return item

    def _catch_up(self) -> None:
        """Let ROS deliver first when this whole process stood still, for then its inputs were not silent."""
        deadline = self._watchdog.next_deadline()
        if deadline is not None and self._clock() - deadline > LATE:
            self._rearmed.wait(LATE)

    def _advance(self, now: float) -> None:
        for input_id in self._timers.due(now):
            self._queue.put(input_id, Tick(input_id, self._wall_clock()))
            self._notify()
        for expired in self._watchdog.expire(now):
            self._silent(expired)

    def _silent(self, expired: Expired) -> None:
        self._queue.put_control(InputClosed(expired.id), (expired.id,))
        self._notify()
        self._tell(NodeOp.INPUT_CLOSED, input=expired.id, age=round(expired.age, 6))

    def _tell(self, op: NodeOp, **keys: Any) -> None:
        """Have the clock thread tell the manager, since the user's loop comes first."""
        self._post(op, **keys)
        self._untold = True
        self._rearmed.notify_all()

    def _wait_for_deadline(self) -> None:
        deadlines = [d for d in (self._timers.next_deadline(), self._watchdog.next_deadline()) if d is not None]
        remaining = min(deadlines) - self._clock() if deadlines else None
        if not (self._closed or self._untold) and (remaining is None or remaining > 0):
            self._rearmed.wait(remaining)

    def _still(self) -> None:
        self._timers.stop()
        self._watchdog.deactivate()

    def _notify(self) -> None:
        self._arrivals += 1
        self._readable.notify_all()
        for listener in self._listeners:
            listener()

    def _wake_all(self) -> None:
        self._notify()
        self._rearmed.notify_all()
