"""What the scripts of this folder share: stamps, and a node of whatever started them."""

from __future__ import annotations

import json
import os
import time
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

FOLDER_VARIABLE = 'BENCH_STAMPS'
ROS_VARIABLE = 'BENCH_ROS_NODE'


class Stamps:
    """The file that a node writes down in what happens to it."""

    def __init__(self, node: str) -> None:
        self._folder = Path(os.environ[FOLDER_VARIABLE])
        self._node = node
        self._file = os.open(
            self._folder / f'{node}.jsonl', os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600
        )

    def write(self, event: str, ns: int | None = None, **details: object) -> None:
        """Write down ``event``, which happened at ``ns`` of CLOCK_MONOTONIC, by default now."""
        record = {'event': event, 'pid': os.getpid(), 'ns': time.monotonic_ns() if ns is None else ns, **details}
        os.write(self._file, json.dumps(record).encode() + b'\n')

    def hear(self, pid: int) -> None:
        """Let the process ``pid`` know that a message of it has come."""
        (self._folder / f'{self._node}.heard.{pid}').touch()

    def has_heard(self, node: str, pid: int) -> bool:
        """Return whether a message of process ``pid`` has come to ``node``."""
        return (self._folder / f'{node}.heard.{pid}').exists()


class RosNode:
    """The few calls that the scripts need, on plain rclpy; for ``ros2 launch``, which has no API for nodes."""

    def __init__(self) -> None:
        """Make a node as :data:`ROS_VARIABLE` says."""
        import rclpy  # noqa: PLC0415  # only where this class is used
        from std_msgs.msg import Int64MultiArray  # noqa: PLC0415

        config = json.loads(os.environ[ROS_VARIABLE])
        self._rclpy = rclpy
        self._message = Int64MultiArray
        self._events: deque[dict[str, Any]] = deque()
        rclpy.init()
        self._node = rclpy.create_node(config['id'])
        self._publishers = {
            name: self._node.create_publisher(Int64MultiArray, f'{config["id"]}/{name}', 10)
            for name in config['outputs']
        }
        for name, source in config['inputs'].items():
            if source.startswith('dora/timer/millis/'):
                self._node.create_timer(int(source.rpartition('/')[2]) / 1000, self._taker(name))
            else:
                self._node.create_subscription(Int64MultiArray, source, self._taker(name), 10)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield events until ROS is shut down."""
        try:
            while self._rclpy.ok():
                self._rclpy.spin_once(self._node)
                while self._events:
                    yield self._events.popleft()
        except (KeyboardInterrupt, self._rclpy.executors.ExternalShutdownException):
            return

    def send_output(self, name: str, value: Sequence[int]) -> None:
        """Publish numbers."""
        self._publishers[name].publish(self._message(data=value))

    def _taker(self, name: str) -> Callable[..., None]:
        def take(message: Any = None) -> None:
            value = [] if message is None else list(message.data)
            self._events.append({'type': 'INPUT', 'id': name, 'value': value})

        return take


class ArrowNode:
    """A node of adora_ros or of dora-rs, which have the same API."""

    def __init__(self) -> None:
        """Connect to the one that started this process."""
        import pyarrow as pa  # noqa: PLC0415  # only where this class is used

        self._array = pa.array
        if 'ADORA_NODE_CONFIG' in os.environ:
            from adora_ros import Node  # noqa: PLC0415
        else:
            from dora import Node  # type: ignore[no-redef]  # noqa: PLC0415
        self._node: Any = Node()

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield events until the node is stopped."""
        for event in self._node:
            if event['type'] == 'INPUT':
                event['value'] = event['value'].to_pylist()
            yield event

    def send_output(self, name: str, value: Sequence[int]) -> None:
        """Send numbers."""
        self._node.send_output(name, self._array(value))


def connect() -> ArrowNode | RosNode:
    """Return the node of this process."""
    return RosNode() if ROS_VARIABLE in os.environ else ArrowNode()
