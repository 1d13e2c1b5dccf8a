"""What the bridges to topics, services and actions have in common."""

from __future__ import annotations

import importlib
import time
from typing import TYPE_CHECKING, Any, Protocol

from adora_ros.dataflow import interfaces
from adora_ros.dataflow.bridge import BridgeSpec
from adora_ros.errors import AdoraError, NodeError, TransportError
from adora_ros.node.api import Node
from adora_ros.transport.metadata import TIMESTAMP_KEY
from adora_ros.transport.rosarrow import from_arrow, is_convertible, type_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from adora_ros.inputs import Event, Input

ANSWER_TIMEOUT = 30.0
"""Seconds for an answer: of a service, and of an action server to a goal; as in dora."""
LIMIT = 64
"""Most calls or goals under way at a time."""
POLL = 0.05
"""Seconds between two looks whether a server is there."""


class Link(Protocol):
    """One kind of bridge. What comes from the dataflow is given to it in the user's loop of its node."""

    def on_input(self, event: Input) -> None:
        """Take a value from the dataflow.

        Raises:
            TransportError: it is not what this side of the bridge carries.

        """

    def on_event(self, event: Event) -> None:
        """Take an event that is neither an input nor the stop."""

    def sweep(self, now: float) -> float | None:
        """Give up what is overdue, and return the seconds until there may be more to do; None if nothing waits."""

    def busy(self) -> bool:
        """Return whether an answer from ROS is still to come for something that the dataflow has asked."""

    def stop(self) -> None:
        """Leave nobody waiting, since the bridge ends."""


class BridgeNode(Node):
    """The node of a bridge.

    Raises:
        NodeError: the dataflow says nothing about a bridge.

    """

    def __init__(self) -> None:
        super().__init__()
        if self._config.bridge is None:
            msg = f'node {self._config.node_id!r} is no bridge: give it a `ros2` in the dataflow file'
            raise NodeError(msg)
        self.spec = BridgeSpec.from_dict(self._config.bridge)
        self.use_sim_time = self._config.use_sim_time

    def source_node(self, input_id: str) -> str | None:
        """Return the id of the node that feeds an input."""
        return next((item.node for item in self._config.inputs if item.id == input_id), None)

    def forward(self, part: str, value: Any, metadata: Mapping[str, Any] | None = None) -> None:
        """Send a value on the output for a part of the service or action, if there is one; from any thread."""
        port = self.spec.ports.get(part)
        if port is not None:
            self.forward_to(port, value, metadata)

    def forward_to(self, output_id: str, value: Any, metadata: Mapping[str, Any] | None = None) -> None:
        """Send a value on an output; from any thread."""
        try:
            self._pass_on(output_id, lambda output: output.send(value, metadata))
        except AdoraError as error:
            self.log_error(str(error))

    def alive(self) -> None:
        """Give the proof of life that :meth:`next` gives otherwise."""
        self._life.alive()


class Overdue:
    """Deadlines on the steady clock, by whatever they are for."""

    def __init__(self) -> None:
        self._deadlines: dict[Any, float] = {}

    def __len__(self) -> int:
        return len(self._deadlines)

    def set(self, key: Any, seconds: float) -> None:
        """Expect something within ``seconds`` from now."""
        self._deadlines[key] = time.monotonic() + seconds

    def renew(self, key: Any, seconds: float) -> None:
        """Wait for something longer, if it is still expected."""
        if key in self._deadlines:
            self.set(key, seconds)

    def met(self, key: Any) -> bool:
        """Return whether something was still expected; it is not from now on."""
        return self._deadlines.pop(key, None) is not None

    def take(self, now: float) -> list[Any]:
        """Return what is overdue, and expect it no longer."""
        return [key for key, deadline in list(self._deadlines.items()) if deadline <= now and self.met(key)]

    def remaining(self, now: float) -> float | None:
        """Return the seconds until something is overdue, None if nothing is expected."""
        deadlines = list(self._deadlines.values())
        return max(min(deadlines) - now, 0.0) if deadlines else None


def interface(full: str) -> Any:
    """Return the class of a ROS message, service or action.

    Args:
        full: type in its full form.

    Raises:
        TransportError: there is none of that name here.

    """
    package, kind, name = full.split('/')
    try:
        interfaces.check_installed(full)
        return getattr(importlib.import_module(f'{package}.{kind}'), name)
    except (ValueError, ImportError, AttributeError) as error:
        msg = f'type {full!r}: {error}'
        raise TransportError(msg) from error


def to_ros(value: Any, message_type: type[Any]) -> Any:
    """Return the ROS message for a value of the dataflow; nothing, such as the tick of a timer, is a default message.

    Raises:
        TransportError: the value is not one.

    """
    if is_convertible(value):
        return from_arrow(value, message_type)
    if len(value) == 0:
        return message_type()
    msg = f'a {type_name(message_type)} is made of a struct array of one row, not of {value.type}'
    raise TransportError(msg)


def without_timestamp(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata that belongs to an answer too."""
    return {key: value for key, value in metadata.items() if key != TIMESTAMP_KEY}
