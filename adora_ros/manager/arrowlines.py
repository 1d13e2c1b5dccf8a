"""A topic that texts are published on as Arrow values."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from rclpy.duration import Duration

from adora_ros.transport.metadata import Stamp
from adora_ros.transport.ports import ArrowPort
from adora_ros.transport.qos import qos_profile

if TYPE_CHECKING:
    from rclpy.node import Node

DEPTH = 1000
"""Messages that are kept for a slow subscriber."""


class ArrowTextPublisher:
    """See :class:`adora_ros.manager.lines.TextPublisher`.

    Args:
        node: the node that publishes.
        topic: absolute topic name.

    """

    def __init__(self, node: Node, topic: str) -> None:
        self._node = node
        self._port = ArrowPort()
        self._publisher: Any = node.create_publisher(self._port.message_type, topic, qos_profile(depth=DEPTH))

    def publish(self, text: str, stamp: int) -> None:
        """Publish one text; DDS not taking it loses it and nothing else."""
        message = self._port.to_message(pa.array([text]), None, Stamp(stamp, None))
        with contextlib.suppress(RuntimeError):
            self._publisher.publish(message)

    def matched(self) -> int:
        """Return how many subscriptions are connected."""
        return int(self._publisher.get_subscription_count())

    def acknowledged(self, timeout: float) -> bool:
        """Return whether all of them have what was published."""
        return bool(self._publisher.wait_for_all_acked(Duration(seconds=timeout)))

    def close(self) -> None:
        """Leave the topic."""
        self._node.destroy_publisher(self._publisher)
