"""What source and sink share: how to send and to receive with each system, and what they tell each other aside."""

from __future__ import annotations

import array
import json
import os
import resource
import socket
import struct
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

JOB_VARIABLE = 'BENCH_JOB'
"""JSON: ``size`` in bytes, ``count``, ``limit`` and ``gap`` in seconds, ``warm_up``, ``window``, ``sinks``, ``folder``,
``link``."""
NUMBER = struct.Struct('<Q')
"""What a value begins with."""
LAST = 2**64 - 1
"""Number of the message after which there are no more."""
RECEIPT = struct.Struct('<IQQ')
"""From a sink: who it is, number of the message, when it came in nanoseconds of CLOCK_MONOTONIC."""
TOPIC = 'bench/data'


def job() -> dict[str, Any]:
    """Return what is to be measured."""
    found: dict[str, Any] = json.loads(os.environ[JOB_VARIABLE])
    return found


def own_cpu() -> float:
    """Return the seconds of processor time that this process has used, all threads together."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def cpu_of(pid: int) -> float:
    """Return the seconds of processor time that a process has used."""
    fields = Path(f'/proc/{pid}/stat').read_text(encoding='utf-8').rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def write_result(folder: str, name: str, **result: object) -> None:
    """Leave a result where the benchmark looks for it."""
    file = Path(folder, f'{name}.json')
    part = file.with_suffix('.part')
    part.write_text(json.dumps(result), encoding='utf-8')
    part.rename(file)


class ArrowLink:
    """A node of adora_ros or of dora-rs, which have the same API."""

    def __init__(self, size: int) -> None:
        """Connect to the one that started this process."""
        import numpy as np  # noqa: PLC0415 - each link imports what it needs
        import pyarrow as pa  # noqa: PLC0415

        if 'ADORA_NODE_CONFIG' in os.environ:
            from adora_ros import Node  # noqa: PLC0415
        else:
            from dora import Node  # type: ignore[no-redef]  # noqa: PLC0415
        self._array = pa.array
        self._value: Any = np.zeros(size, np.uint8)
        self._node: Any = Node()

    def send(self, number: int) -> None:
        """Send a value."""
        NUMBER.pack_into(self._value, 0, number)
        self._node.send_output('data', self._array(self._value))

    def receive(self) -> Iterator[int]:
        """Yield the numbers of the values that come."""
        for event in self._node:
            if event['type'] == 'INPUT':
                (number,) = NUMBER.unpack_from(event['value'].to_numpy())
                yield number


class RosLink:
    """A node of plain rclpy.

    Args:
        size: of a value in bytes.
        kind: ``bytes`` for ``UInt8MultiArray``, ``image`` for ``sensor_msgs/msg/Image``.

    """

    def __init__(self, size: int, kind: str) -> None:
        """Join ROS."""
        import rclpy  # noqa: PLC0415 - each link imports what it needs
        from sensor_msgs.msg import Image  # noqa: PLC0415
        from std_msgs.msg import UInt8MultiArray  # noqa: PLC0415

        self._type = {'bytes': UInt8MultiArray, 'image': Image}[kind]
        self._value = array.array('B', bytes(size))
        rclpy.init()
        self._node = rclpy.create_node(f'bench_{os.getpid()}')
        self._publisher = self._node.create_publisher(self._type, TOPIC, 10)
        self._rclpy = rclpy

    def send(self, number: int) -> None:
        """Publish a value."""
        NUMBER.pack_into(self._value, 0, number)
        self._publisher.publish(self._type(data=self._value))

    def receive(self) -> Iterator[int]:
        """Yield the numbers of the values that come."""
        numbers: list[int] = []
        self._node.create_subscription(
            self._type, TOPIC, lambda message: numbers.append(NUMBER.unpack_from(message.data)[0]), 10
        )
        executor = self._rclpy.executors.SingleThreadedExecutor()
        executor.add_node(self._node)
        while True:
            executor.spin_once(1.0)
            while numbers:
                yield numbers.pop(0)


def connect(task: dict[str, Any]) -> ArrowLink | RosLink:
    """Return the link that a task asks for."""
    if task['link'] == 'arrow':
        return ArrowLink(task['size'])
    return RosLink(task['size'], task['link'])


class Receipts:
    """Where the source learns what has come to the sinks: a socket that has nothing to do with what is measured."""

    def __init__(self, folder: str, sinks: int) -> None:
        """Listen."""
        self._sinks = sinks
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(f'{folder}/source')
        self._arrived: dict[int, dict[int, int]] = {}

    def wait(self, number: int, timeout: float) -> dict[int, int]:
        """Return when a message came to each sink; those that are missing after ``timeout`` seconds are left out."""
        deadline = time.monotonic() + timeout
        while len(self._arrived.get(number, ())) < self._sinks and (left := deadline - time.monotonic()) > 0:
            self._socket.settimeout(left)
            try:
                sink, arrived, at = RECEIPT.unpack(self._socket.recv(RECEIPT.size))
            except TimeoutError:
                break
            self._arrived.setdefault(arrived, {}).setdefault(sink, at)
        return self._arrived.pop(number, {})
