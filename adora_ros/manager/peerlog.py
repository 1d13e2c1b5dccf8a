"""What the coordinator says of other machines, for those that run a share of the same dataflows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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


def listen_to_machines(node: Node, machine: str, on_change: Callable[[str, str, bool], object]) -> Any:
    """Listen to what the coordinator says of machines other than this one, and return the subscription.

    Args:
        node: The node that listens.
        machine: Name of this machine.
        on_change: Takes a machine, the line to log, and whether the machine is heard of; called on the ROS thread.

    """

    def take(message: DiagnosticArray) -> None:
        for status in message.status:
            values = {pair.key: pair.value for pair in status.values}
            other = values.get('machine', '')
            if values.get('event') in {LOST, BACK} and other != machine:
                on_change(other, status.message, values['event'] == BACK)

    return node.create_subscription(DiagnosticArray, EVENTS, take, QOS)
