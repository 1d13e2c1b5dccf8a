"""What the coordinator says of other machines, for those that run a share of the same dataflows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

if TYPE_CHECKING:
    from collections.abc import Callable

    from rclpy.node import Node

EVENTS = '/adora/events'
QOS = QoSProfile(depth=100, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.VOLATILE)
"""What happened before somebody listened is no news of now."""
LOST = 'PeerDaemonDisconnected'
BACK = 'PeerDaemonConnected'


class PeerLog:
    """Listens to the coordinator's events about machines other than this one.

    Args:
        node: The node that listens.
        machine: Name of this machine.
        on_line: Takes the line to log; called on the ROS thread.
        on_change: Takes the machine, and whether it is heard of; called on the ROS thread.

    """

    def __init__(
        self,
        node: Node,
        machine: str,
        on_line: Callable[[str], object],
        on_change: Callable[[str, bool], object] = lambda _machine, _heard: None,
    ) -> None:
        self._machine = machine
        self._on_line = on_line
        self._on_change = on_change
        node.create_subscription(DiagnosticArray, EVENTS, self._take, QOS)

    def _take(self, message: DiagnosticArray) -> None:
        for status in message.status:
            values = {pair.key: pair.value for pair in status.values}
            machine = values.get('machine', '')
            if values.get('event') in {LOST, BACK} and machine != self._machine:
                self._on_line(status.message)
                self._on_change(machine, values['event'] == BACK)
