"""A ROS node such as anybody may write, turned by a thread of its own."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, TypeVar, cast

import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from support import eventually

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar('T')
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

    def on_thread(self, function: Callable[..., T], *args: Any) -> T:
        """Call a function on the node's thread; that of an action client elsewhere may be overtaken by its answer."""
        task: Any = self._executor.create_task(function, *args)
        eventually(task.done, LEAVING)
        return cast('T', task.result())

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
