"""A ROS context and an executor that turns its nodes in a thread."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import rclpy
from rclpy.context import Context
from rclpy.executors import MultiThreadedExecutor, SingleThreadedExecutor
from rclpy.experimental import EventsExecutor
from rclpy.lifecycle import LifecycleNode
from rclpy.node import Node

from support import eventually

if TYPE_CHECKING:
    from collections.abc import Callable

EXECUTORS = ('single', 'multi', 'events')
_MAKERS: dict[str, Callable[[Context], Any]] = {
    'single': lambda context: SingleThreadedExecutor(context=context),
    'multi': lambda context: MultiThreadedExecutor(2, context=context),
    'events': lambda context: EventsExecutor(context=context),
}
DEADLINE = 20.0
"""Seconds for anything on a busy machine."""


class Turning:
    """Nodes of one context.

    Args:
        domain: ROS domain.
        kind: one of :data:`EXECUTORS`.

    """

    def __init__(self, domain: int, kind: str) -> None:
        self.kind = kind
        self.context = Context()
        rclpy.init(context=self.context, domain_id=domain)
        self.executor = _MAKERS[kind](self.context)
        self._nodes: list[Node] = []
        self._closing = False
        self._thread = threading.Thread(target=self._turn, daemon=True)

    def node(self, name: str, **options: Any) -> Node:
        """Return a new node, which is turned from :meth:`start` on."""
        node = Node(name, context=self.context, **options)
        self._add(node)
        return node

    def lifecycle_node(self, kind: type[LifecycleNode] = LifecycleNode, name: str = 'alive') -> LifecycleNode:
        """Return a new lifecycle node of a class."""
        node = kind(name, context=self.context)
        self._add(node)
        return node

    def publisher(self, node: Node, kind: type[Any], subscription: Any, qos: Any = 10) -> Any:
        """Return a publisher of another node that is connected with a subscription."""
        publisher = self.node('talker', namespace='/elsewhere').create_publisher(kind, subscription.topic_name, qos)
        eventually(lambda: publisher.get_subscription_count() > 0, DEADLINE)
        eventually(lambda: node.count_publishers(subscription.topic_name) > 0, DEADLINE)
        return publisher

    def start(self) -> None:
        """Begin to turn."""
        self._thread.start()

    def close(self) -> None:
        """Leave ROS."""
        self._closing = True
        if self._thread.is_alive():
            self.executor.create_task(lambda: None)
            self._thread.join(DEADLINE)
        self.executor.shutdown()
        for node in self._nodes:
            node.destroy_node()
        self.context.try_shutdown()

    def _add(self, node: Node) -> None:
        self._nodes.append(node)
        self.executor.add_node(node)

    def _turn(self) -> None:
        while not self._closing:
            self.executor.spin_once(0.1)


class Diary:
    """What was called, when, and on which thread."""

    def __init__(self) -> None:
        self.entries: list[tuple[str, float, str]] = []

    def __call__(self, what: str) -> Callable[..., None]:
        """Return a callback that writes ``what``."""

        def write(*_: Any) -> None:
            self.entries.append((what, time.monotonic(), threading.current_thread().name))

        return write

    @property
    def words(self) -> list[str]:
        """What was called, in order."""
        return [entry[0] for entry in list(self.entries)]

    def time(self, what: str, index: int = -1) -> float:
        """Return when ``what`` was called, by default the last time."""
        return [entry[1] for entry in list(self.entries) if entry[0] == what][index]

    def thread(self, what: str) -> str:
        """Return the name of the thread on which ``what`` was called."""
        return next(entry[2] for entry in self.entries if entry[0] == what)

    def wait(self, what: str, count: int = 1) -> float:
        """Wait until ``what`` was called ``count`` times, and return when."""
        eventually(lambda: self.words.count(what) >= count, DEADLINE, f'{count} x {what}: {self.words}')
        return self.time(what, count - 1)
