"""A ROS node such as anybody may write, turned by a thread of its own."""

from __future__ import annotations

import threading

import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

LATCHED = QoSProfile(depth=100, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)
LEAVING = 20.0
"""Seconds that the thread has to come to its end."""


class SpinningNode:
    """A plain rclpy node with a context and an executor of its own."""

    def __init__(self, name: str, domain: int) -> None:
        self.context = Context()
        rclpy.init(context=self.context, domain_id=domain)
        self.node = rclpy.create_node(name, context=self.context)
        self._executor = SingleThreadedExecutor(context=self.context)
        self._executor.add_node(self.node)
        self._closing = False
        self._thread = threading.Thread(target=self._spin, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Leave ROS."""
        self._closing = True
        self._thread.join(LEAVING)
        self._executor.shutdown()
        self.node.destroy_node()
        self.context.shutdown()

    def _spin(self) -> None:
        while not self._closing:
            self._executor.spin_once(0.1)
