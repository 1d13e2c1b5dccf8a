"""InputTracker for rclpy nodes: a watchdog for each subscription, on a thread that nothing in the node holds up."""

from __future__ import annotations

import functools
import inspect
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from adora_ros import inputs
from adora_ros.errors import NodeError
from adora_ros.inputs import Expired, InputLimits, InputState, InputWatchdog
from adora_ros.node.calls import Caller, ExecutorCaller, ThreadCaller
from adora_ros.node.config import node_config
from adora_ros.node.watched import Watched, dataflow_namespace, with_incompatible_qos
from adora_ros.transport.contract import CONFIG_VARIABLE

if TYPE_CHECKING:
    from adora_ros.node.gate import Gate

LATE = 0.02
"""Seconds after a deadline from which on the watching thread counts as held up, by a suspended process for example."""
RESTARTED = 'NODE_RESTARTED'
"""What the manager's events topic calls a new incarnation that is up."""

Callback = Callable[[], object]


class InputTracker(inputs.InputTracker):
    """Knows the state and last value of inputs: of an rclpy node's subscriptions, or of a loop that feeds it events.

    Without a node it is the tracker of :mod:`adora_ros.inputs`. With one, each subscription made here is watched:

        tracker = InputTracker(node)
        tracker.create_subscription(
            Twist, 'cmd_vel', self.drive, 10, input_timeout=0.2, on_closed=self.brake, on_recovered=self.resume
        )

    Time is steady, so that simulated time and a set clock have no effect, and is watched by a thread of the tracker,
    so that a busy callback, a blocked executor and a dead network do not delay ``on_closed``. ``on_closed`` and
    ``on_recovered`` take turns. They run on a second thread, one at a time, so they must not rely on the executor's
    callback groups; publishing is safe. The message that recovers an input waits for ``on_recovered``, 0.1 s at most.
    With ``callbacks='executor'`` they run as tasks of the executor instead: nothing runs beside the node's callbacks,
    but a callback that blocks delays them.

    While a lifecycle node is not active nothing closes or recovers; activation arms the watchdogs anew.

    Args:
        node: an rclpy node, or for a loop of events the ids of inputs that are ``WAITING`` from the start.
        sources: id of the source node per input id. The dataflow says it by itself to a node that a manager started.
            With it, a restart of that node makes its closed inputs healthy again, until silence closes them anew;
            ``on_recovered`` still waits for a message.
        dataflow: name of the dataflow that ``sources`` are of; the first part of the node's namespace unless given.
        callbacks: ``thread`` or ``executor``.
        on_node_restarted: called with the id of a node in ``sources`` that has been restarted.
        clock: a steady clock in seconds.

    Raises:
        NodeError: there are ``sources``, and neither ``dataflow`` nor the node's namespace tells of which dataflow.

    """

    def __init__(
        self,
        node: Any = (),
        *,
        sources: Mapping[str, str] | None = None,
        dataflow: str | None = None,
        callbacks: Literal['thread', 'executor'] = 'thread',
        on_node_restarted: Callable[[str], object] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """See the class."""
        self._node: Any = node if hasattr(node, 'create_subscription') else None
        super().__init__(_input_ids(node), sources=sources, clock=clock)
        self._changed = threading.Condition(threading.Lock())
        self._entries: dict[str, Watched] = {}
        self._on_node_restarted = on_node_restarted
        self._executor_calls = callbacks == 'executor'
        self._source_of_topic: dict[str, str] = {}
        self._events: Any = None
        self._closed = False
        self._started = time.time_ns()
        self._gate: Gate | None = None
        self._caller: Caller | None = None
        if self._node is not None:
            self._attach(dataflow)

    def create_subscription(  # noqa: PLR0913 - those of rclpy, and each limit and callback has a name
        self,
        msg_type: type[Any],
        topic: str,
        callback: Callable[..., Any],
        qos_profile: Any,
        *,
        input_timeout: float | None = None,
        first_message_timeout: float | None = None,
        on_closed: Callback | None = None,
        on_recovered: Callback | None = None,
        on_incompatible_qos: Callable[[str], object] | None = None,
        input_id: str | None = None,
        event_callbacks: Any = None,
        **options: Any,
    ) -> Any:
        """Subscribe as ``node.create_subscription`` does, and watch.

        Args:
            msg_type: as in rclpy, and so are all that are not listed here.
            topic: as in rclpy.
            callback: as in rclpy.
            qos_profile: as in rclpy.
            input_timeout: seconds of silence after which the input closes, from its first message on.
            first_message_timeout: seconds of silence after which an input closes that has had no message yet.
            on_closed: called when silence has closed the input.
            on_recovered: called when a message has come after that.
            on_incompatible_qos: called with the policy, such as ``reliability``, in which a publisher offers less than
                this subscription asks for, so that it never gets a message from it. It is logged in any case.
            input_id: id for the questions to this tracker; the topic as given here unless given.
            event_callbacks: as in rclpy.
            options: as in rclpy.

        Returns:
            The subscription.

        Raises:
            NodeError: the tracker has no node or has been destroyed, or the id is taken.

        """
        node, caller = self._usable()
        name = topic if input_id is None else input_id
        limits = InputLimits(input_timeout=input_timeout, first_message_timeout=first_message_timeout)
        entry = Watched(name, topic, InputWatchdog({name: limits}), self._sources.get(name), on_closed, on_recovered)
        with self._changed:
            if name in self._entries:
                msg = f'input {name!r} is tracked already: give the second one an input_id'
                raise NodeError(msg)
            self._entries[name] = entry
            self._states.setdefault(name, InputState.WAITING)

        def incompatible(policy: str) -> None:
            entry.incompatible = policy
            node.get_logger().error(
                f'input {name!r}: a publisher of {entry.topic} offers a weaker {policy} than this subscription asks '
                'for and is not heard; adapt the QoS of one of the two'
            )
            if on_incompatible_qos is not None:
                caller.post(functools.partial(on_incompatible_qos, policy))

        try:
            entry.subscription = node.create_subscription(
                msg_type,
                topic,
                self._noting(entry, callback),
                qos_profile,
                event_callbacks=with_incompatible_qos(event_callbacks, incompatible),
                **options,
            )
        except BaseException:
            with self._changed:
                del self._entries[name]
            raise
        entry.topic = entry.subscription.topic_name
        entry.source = entry.source or self._source_of_topic.get(entry.topic)
        with self._changed:
            self._follow_lifecycle(entry)
            self._changed.notify_all()
        return entry.subscription

    def incompatible_qos(self, input_id: str) -> str | None:
        """Return the policy in which a publisher of an input does not fit the subscription, None if all do."""
        entry = self._entries.get(input_id)
        return None if entry is None else entry.incompatible

    @property
    def input_timeouts(self) -> int:
        """How often silence has closed an input of the node."""
        return sum(entry.watchdog.input_timeouts for entry in tuple(self._entries.values()))

    def destroy(self) -> None:
        """Destroy the subscriptions and end the threads; nothing is called any more."""
        if self._node is None or self._caller is None:
            return
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._caller.close()
        for entry in self._entries.values():
            self._node.destroy_subscription(entry.subscription)
        if self._events is not None:
            self._node.destroy_subscription(self._events)

    # The set-up

    def _attach(self, dataflow: str | None) -> None:
        from adora_ros.node.gate import Gate  # noqa: PLC0415 - rclpy is there if there is a node

        node = self._node
        self._caller = ExecutorCaller(node) if self._executor_calls else ThreadCaller(node)
        self._gate = Gate(node, self._wake)
        namespace = self._read_config() if dataflow is None else None
        if self._sources or self._source_of_topic:
            self._listen(namespace or dataflow_namespace(dataflow, node.get_namespace()))
        node.context.on_shutdown(self._wake)
        threading.Thread(target=self._watch, name='adora-inputs', daemon=True).start()

    def _read_config(self) -> str | None:
        """Take the sources from the manager's configuration; return the namespace of the dataflow, None without one."""
        if CONFIG_VARIABLE not in os.environ:
            return None
        config = node_config()
        self._source_of_topic = {i.topic: i.node for i in config.inputs if i.topic is not None and i.node is not None}
        return config.namespace

    def _listen(self, namespace: str) -> None:
        from diagnostic_msgs.msg import DiagnosticArray  # noqa: PLC0415 - only where a dataflow is followed
        from rclpy.callback_groups import ReentrantCallbackGroup  # noqa: PLC0415

        from adora_ros.transport.qos import qos_profile  # noqa: PLC0415

        self._events = self._node.create_subscription(
            DiagnosticArray,
            f'{namespace}/events',
            self._on_events,
            qos_profile({'durability': 'transient_local'}, depth=100),
            callback_group=ReentrantCallbackGroup(),
        )

    def _usable(self) -> tuple[Any, Caller]:
        if self._node is None or self._caller is None or self._closed:
            state = 'was destroyed' if self._closed else 'has no node'
            msg = f'this InputTracker {state}: make one with InputTracker(node)'
            raise NodeError(msg)
        return self._node, self._caller

    def _noting(self, entry: Watched, callback: Callable[..., Any]) -> Callable[..., Any]:
        """Return ``callback`` with a note before it, in the kind and with the signature that rclpy looks at."""
        note = self._note
        if inspect.iscoroutinefunction(callback):

            @functools.wraps(callback)
            async def receive_async(*args: Any) -> None:
                note(entry, args[0])
                await callback(*args)

            return receive_async

        @functools.wraps(callback)
        def receive(*args: Any) -> None:
            note(entry, args[0])
            callback(*args)

        return receive

    # What happens: messages on the executor's threads, time on the watching thread

    def _note(self, entry: Watched, value: Any) -> None:
        now = self._clock()
        recovered = False
        with self._changed:
            self._received(entry.id, value, now)
            settled = entry.watchdog.active and entry.watchdog.state(entry.id) is InputState.HEALTHY
            if not settled:
                self._follow_lifecycle(entry)
                self._changed.notify_all()
            if entry.watchdog.active:
                entry.watchdog.message(entry.id, now)
                self._states[entry.id] = InputState.HEALTHY
                recovered, entry.told = entry.told, False
        if recovered and self._caller is not None:
            self._caller.before_message(functools.partial(self._tell_recovered, entry))

    def _watch(self) -> None:
        while True:
            with self._changed:
                if self._closed or not self._is_alive():
                    break
                for entry in self._entries.values():
                    self._follow_lifecycle(entry)
                self._catch_up()
                self._expire()
                self._pause()
        if self._caller is not None:
            self._caller.close()

    def _follow_lifecycle(self, entry: Watched) -> None:
        if self._gate is None or not self._gate.is_open:
            entry.watchdog.deactivate()
        else:
            entry.watchdog.activate(self._clock())

    def _catch_up(self) -> None:
        """Let messages in first when this whole process stood still, for then its inputs were not silent."""
        deadline = self._next_deadline()
        if deadline is not None and self._clock() - deadline > LATE:
            self._changed.wait(LATE)

    def _expire(self) -> None:
        for entry in self._entries.values():
            for expired in entry.watchdog.expire(self._clock()):
                self._states[entry.id] = InputState.CLOSED
                if not entry.told and self._caller is not None:
                    entry.told = True
                    self._caller.post(functools.partial(self._tell_closed, entry, expired))

    def _pause(self) -> None:
        """Wait until something is due; nothing is missed, since the lock is held until the wait begins."""
        deadline = self._next_deadline()
        waits = (
            None if deadline is None else deadline - self._clock(),
            None if self._gate is None else self._gate.period,
            None if self._caller is None else self._caller.retry(),
        )
        wait = min((w for w in waits if w is not None), default=None)
        if not self._closed and (wait is None or wait > 0):
            self._changed.wait(wait)

    def _next_deadline(self) -> float | None:
        deadlines = (entry.watchdog.next_deadline() for entry in self._entries.values())
        return min((d for d in deadlines if d is not None), default=None)

    def _is_alive(self) -> bool:
        """Return whether the node can still be used."""
        try:
            with self._node.handle:
                return bool(self._node.context.ok())
        except RuntimeError:  # InvalidHandle
            return False

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _tell_closed(self, entry: Watched, expired: Expired) -> None:
        if self._closed or not self._is_alive():
            return
        if self._gate is not None and not self._gate.is_open:
            entry.told = False
            return
        if entry.on_closed is not None:
            entry.on_closed()
        self._node.get_logger().warning(f'input {entry.id!r} closed: {entry.topic} is silent for {expired.age:.2f} s')

    def _tell_recovered(self, entry: Watched) -> None:
        if self._closed or not self._is_alive():
            return
        if entry.on_recovered is not None:
            entry.on_recovered()
        self._node.get_logger().info(f'input {entry.id!r} recovered')

    # News of the dataflow

    def _on_events(self, message: Any) -> None:
        stamp = message.header.stamp
        if stamp.sec * 1_000_000_000 + stamp.nanosec < self._started:
            return
        for status in message.status:
            values = {pair.key: pair.value for pair in status.values}
            if values.get('event') == RESTARTED:
                self._node_restarted(values['node'])

    def _node_restarted(self, node_id: str) -> None:
        with self._changed:
            fed = [entry for entry in self._entries.values() if entry.source == node_id]
            for entry in fed:
                if entry.watchdog.revive(entry.id, self._clock()):
                    self._states[entry.id] = InputState.HEALTHY
            self._changed.notify_all()
        if fed and self._on_node_restarted is not None and self._caller is not None:
            self._caller.post(functools.partial(self._on_node_restarted, node_id))


def _input_ids(node: Any) -> Iterable[str]:
    """Return the ids of inputs that are known from the start."""
    if hasattr(node, 'create_subscription'):
        return ()
    if hasattr(node, 'node_config'):
        return tuple(node.node_config()['inputs'])
    return tuple(node)
