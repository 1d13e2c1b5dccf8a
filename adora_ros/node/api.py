"""dora's Python API for a node, on ROS 2."""

from __future__ import annotations

import atexit
import math
import sys
import time
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from adora_ros.errors import NodeError, TransportError
from adora_ros.inputs import Error, Event, External, Input, NodeRestarted, Stop, as_dict
from adora_ros.node import logbridge
from adora_ros.node.answers import Answers, is_response, is_result
from adora_ros.node.base import TIMEOUT_TEXT, BaseNode
from adora_ros.node.config import descriptor, node_config
from adora_ros.node.extensions import ExtensionTable
from adora_ros.node.inbox import Phase
from adora_ros.node.items import ExternalMessage, Item, Message, Tick
from adora_ros.node.log import log_line
from adora_ros.node.runtime import Runtime
from adora_ros.node.sample import Sample
from adora_ros.transport.metadata import TIMESTAMP_KEY, utc
from adora_ros.transport.rosarrow import to_arrow

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from adora_ros.node.output import Output


class ExternalSource(Protocol):
    """A ROS 2 subscription of :mod:`adora_ros.compat.ros2`."""

    @property
    def depth(self) -> int:
        """How many messages may wait."""

    def hand_over(self, take: Callable[[Any], None]) -> None:
        """Give every message to ``take`` from now on."""


class Node(BaseNode):
    """A node of a running dataflow.

    The constructor connects to the manager, becomes a ROS 2 lifecycle node and returns when the dataflow starts.
    Events are dicts in the shape of dora 1.1.

    Args:
        node_id: expected id of this node; it is taken from the environment in any case.
        daemon_port: has no effect; dora's scripts may give it.

    Raises:
        NodeError: the process was not started by a manager, or as another node than ``node_id``, or it has a Node.
        TransportError: the configuration in the environment is not readable.

    """

    _instance: Node | None = None

    def __init__(self, node_id: str | None = None, daemon_port: int | None = None) -> None:  # noqa: ARG002 - see Args
        self._config = node_config(node_id)
        if Node._instance is not None:
            msg = f'node {self._config.node_id!r} exists already in this process: use the one Node that was made first'
            raise NodeError(msg)
        self._runtime = Runtime(self._config)
        self._inbox = self._runtime.inbox
        self._life = self._runtime.life
        self._seen: dict[str, tuple[int, int]] = {}
        self._warned: set[str] = set()
        self._answers = Answers(self._inbox, self._decode, self._life.alive, self._life.interval)
        owner = f'{self._config.name}.{self._config.incarnation}'
        self._extensions: ExtensionTable = ExtensionTable(self._config.payload_folder, owner)
        Node._instance = self
        atexit.register(self.close)
        logbridge.install(self.log)
        self._runtime.start()
        while not self._inbox.wait_activated(self._life.interval):
            self._life.alive()
        self._life.alive()

    def next_event(self, timeout: float | None = None) -> Event | None:
        """Wait for the next event like :meth:`next`, and return it as a typed event of :mod:`adora_ros.inputs`."""
        deadline = _deadline(timeout)
        while True:
            self._life.alive()
            event = self._open(self._inbox.take(_slice(deadline, self._life.interval)))
            if event is not None:
                self._life.alive()
                return event
            if self._over():
                return None
            if time.monotonic() >= deadline:
                return Error(TIMEOUT_TEXT)

    async def recv_async(self, timeout: float | None = None) -> dict[str, Any] | None:
        """Wait for the next event like :meth:`next`, without blocking the asyncio loop.

        A cancelled wait loses no event.
        """
        from adora_ros.node.aio import Arrivals  # noqa: PLC0415 - asyncio takes as long to import as all of this

        deadline = _deadline(timeout)
        arrivals = Arrivals(self._inbox)
        with arrivals:
            while True:
                self._life.alive()
                arrivals.clear()
                event = self._available()
                if event is not None:
                    return as_dict(event)
                if self._over():
                    return None
                if time.monotonic() >= deadline:
                    return as_dict(Error(TIMEOUT_TEXT))
                await arrivals.wait(_slice(deadline, self._life.interval))

    def is_empty(self) -> bool:
        """Return whether :meth:`next` would have to wait."""
        return self._inbox.empty()

    def send_output(self, output_id: str, data: Any, metadata: Mapping[str, Any] | None = None) -> None:
        """Send a value on an output.

        While an operator has deactivated the node, and for an output that the dataflow does not declare, it is dropped
        with a warning, which comes once.

        Args:
            output_id: as in the YAML.
            data: an Arrow array or bytes; if the output declares a ``type``, a ROS message, a struct array of one row
                or a dict of the fields.
            metadata: values of type bool, int, float, str, datetime or lists of them, by name.

        Raises:
            TransportError: the output cannot carry the value or the metadata.
            NodeError: the node has been closed.

        """
        self._publish(output_id, metadata, lambda output: output.send(data, metadata))

    def send_output_raw(self, output_id: str, data_length: int, metadata: Mapping[str, Any] | None = None) -> Sample:
        """Return memory for a value of bytes, to be written in place and sent by its ``send()`` or as a ``with`` block.

        Args:
            output_id: as in the YAML.
            data_length: bytes.
            metadata: as in :meth:`send_output`.

        Raises:
            NodeError: the dataflow does not declare the output, or it has a ``type``.

        """
        declared = next((output for output in self._config.outputs if output.id == output_id), None)
        if declared is None or declared.type is not None:
            problem = "not in node's output list" if declared is None else f'of type {declared.type}, not of bytes'
            msg = f'Output `{output_id}` {problem}'
            raise NodeError(msg)
        output = self._runtime.ros.outputs.get(output_id)
        draft = None if output is None else output.draft(data_length)
        if output is None or draft is None:
            memory = bytearray(data_length)
            return Sample(memory, lambda: self.send_output(output_id, memory, metadata), bool)
        return Sample(
            draft.memory,
            lambda: self._publish(output_id, metadata, lambda output: output.send_draft(draft, metadata)),
            lambda: output.discard(draft),
        )

    def _publish(self, output_id: str, metadata: Mapping[str, Any] | None, send: Callable[[Output], str]) -> None:
        self._life.alive()
        if metadata:
            self._answers.note(metadata)
        self._pass_on(output_id, send)

    def _pass_on(self, output_id: str, send: Callable[[Output], str]) -> None:
        """Send on an output, from whatever thread; that is no proof that the user's loop is alive."""
        if self._runtime.closed:
            msg = f'output {output_id!r}: the node has been closed, send before close()'
            raise NodeError(msg)
        output = self._runtime.ros.outputs.get(output_id)
        if output is not None and self._inbox.phase is not Phase.PAUSED:
            if refusal := send(output):
                self._warn_once(f'{output_id} lost', f'output `{output_id}`: message lost: {refusal}')
        elif output_id not in self._runtime.declared:
            self._warn_once(output_id, f"Ignoring output `{output_id}` not in node's output list.")
        else:
            self._warn_once(f'{output_id} inactive', f'output `{output_id}` is dropped while the node is not active')

    def recv_service_response(self, request_id: str, server: str, timeout: float | None = None) -> dict[str, Any]:
        """Wait for the response to a request; all other events stay in order for :meth:`next`.

        The time that is waited closes no input, however long it is.

        Args:
            request_id: what :meth:`send_service_request` returned.
            server: id of the node that was asked, as in the YAML.
            timeout: longest wait in seconds, None for ever.

        Returns:
            The ``INPUT`` event.

        Raises:
            AnswerTimeoutError: no response came in time.
            ServerRestartedError: the server was restarted since the request and does not know of it.
            ServerEndedError: the server ended, or the dataflow stops.
            NodeError: no input of this node comes from ``server``.
            ValueError: ``timeout`` is negative or not finite.

        """
        return as_dict(self._answers.wait(request_id, server, is_response, _deadline(timeout)))

    def recv_action_result(self, goal_id: str, server: str, timeout: float | None = None) -> dict[str, Any]:
        """Wait for the result of a goal: a message with its ``goal_id`` and a final ``goal_status``.

        Feedback and all other events stay in order for :meth:`next`. Arguments, result and errors are those of
        :meth:`recv_service_response`.
        """
        return as_dict(self._answers.wait(goal_id, server, is_result, _deadline(timeout)))

    def merge_external_events(self, subscription: ExternalSource) -> None:
        """Give the messages of a ROS 2 subscription as events of kind ``external``, each in its turn.

        Raises:
            NodeError: the subscription has been merged before.

        """
        subscription.hand_over(self._inbox.add_external(subscription.depth))

    def log(self, level: str, message: str, target: str | None = None, fields: Mapping[str, str] | None = None) -> None:
        """Write a log line, as JSON on the standard output, where the manager picks it up.

        Args:
            level: ``error``, ``warn``, ``info``, ``debug`` or ``trace``; anything else counts as ``info``.
            message: the text.
            target: where it comes from, such as a module.
            fields: further values by name.

        """
        line = log_line(self._config.node_id, level, message, target, fields)
        sys.stdout.write(line + '\n')
        sys.stdout.flush()

    @property
    def ros_node(self) -> Any:
        """The rclpy node behind this one, for parameters, clients and whatever else ROS offers.

        Its callbacks run in a thread of the Node; it must not be spun.
        """
        return self._runtime.ros

    def node_config(self) -> dict[str, Any]:
        """Return inputs and outputs of this node in dora's shape."""
        inputs: dict[str, Any] = {}
        for item in self._config.inputs:
            options = {
                'queue_size': None if item.queue_size == _DEFAULT_QUEUE_SIZE else item.queue_size,
                'queue_policy': None if item.queue_policy == _DEFAULT_QUEUE_POLICY else item.queue_policy,
                'input_timeout': item.input_timeout,
                'first_message_timeout': item.first_message_timeout,
            }
            given = {key: value for key, value in options.items() if value is not None}
            inputs[item.id] = {'source': item.source, **given} if given else item.source
        return {'inputs': inputs, 'outputs': [output.id for output in self._config.outputs]}

    def dataflow_descriptor(self) -> dict[str, Any]:
        """Return the dataflow's YAML, parsed.

        Raises:
            NodeError: the manager did not pass it on.

        """
        return descriptor(self._config)

    def dataflow_id(self) -> str:
        """Return the uuid of the run."""
        return self._config.dataflow_id

    def stop_dataflow(self, reason: str = 'stop requested') -> None:
        """Ask for an ordered stop of the whole dataflow; this node gets its ``STOP`` like all others."""
        self._runtime.stop_dataflow(reason)

    def is_restart(self) -> bool:
        """Return whether an earlier incarnation of this node has ended."""
        return self.restart_count() > 0

    def restart_count(self) -> int:
        """Return how often this node has been restarted."""
        return self._config.restart_count

    def timestamp(self) -> datetime:
        """Return the time by the clock that stamps messages, in UTC."""
        return datetime.now(timezone.utc)

    def close(self) -> None:
        """Deliver what has been sent, then leave ROS. It happens by itself at the end of the process."""
        atexit.unregister(self.close)
        self._extensions.close()
        self._runtime.close()

    def _available(self) -> Event | None:
        self._life.alive()
        while (item := self._inbox.take(0.0)) is not None:
            event = self._open(item)
            if event is not None:
                return event
        return None

    def _over(self) -> bool:
        return self._inbox.ended or self._runtime.closed

    def _open(self, item: Item | None) -> Event | None:
        """Return the event for an item, None for a repeated message."""
        if isinstance(item, Message):
            return self._decode(item)
        if isinstance(item, Tick):
            return Input(item.input_id, pa.nulls(0), {TIMESTAMP_KEY: utc(item.timestamp)})
        if isinstance(item, ExternalMessage):
            return External(to_arrow(item.message), item.message)
        if isinstance(item, Stop):
            self._runtime.stand_down()
        elif isinstance(item, NodeRestarted):
            self._count_anew(item.id)
        return item

    def _count_anew(self, node: str) -> None:
        """Forget what has come from a node: on a machine that was switched off, it begins with incarnation 0 again."""
        for port in self._config.inputs:
            if port.node == node:
                self._seen.pop(port.id, None)

    def _decode(self, message: Message) -> Event | None:
        """Return what a message says, None if it is a repeated one."""
        if not message.opened:
            message.event = self._read(message)
            message.opened = True
        return message.event

    def _read(self, message: Message) -> Event | None:
        try:
            decoded = self._runtime.ros.codecs[message.input_id].from_message(
                message.payload, timestamp=message.timestamp
            )
        except TransportError as error:
            return Error(f'input {message.input_id!r}: {error}')
        if decoded.incarnation is not None and decoded.seq is not None:
            incarnation, seq = self._seen.get(message.input_id, (-1, -1))
            if decoded.incarnation == incarnation and decoded.seq <= seq:
                return None
            self._seen[message.input_id] = (decoded.incarnation, decoded.seq)
        return Input(message.input_id, decoded.value, decoded.metadata, decoded.message)

    def _warn_once(self, key: str, text: str) -> None:
        if key not in self._warned:
            self._warned.add(key)
            self.log_warn(text)


_DEFAULT_QUEUE_SIZE = 10
_DEFAULT_QUEUE_POLICY = 'drop_oldest'


def _deadline(timeout: float | None) -> float:
    if timeout is None:
        return math.inf
    if not math.isfinite(timeout) or timeout < 0:
        msg = f'invalid timeout of {timeout} seconds: use a number from 0 on, or None to wait for ever'
        raise ValueError(msg)
    return time.monotonic() + timeout


def _slice(deadline: float, interval: float) -> float:
    return max(min(deadline - time.monotonic(), interval), 0.0)
