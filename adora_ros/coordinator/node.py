"""``/adora/coordinator``: takes the reports of managers, and tells what becomes of dataflows and machines."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rcl_interfaces.msg import FloatingPointRange, ParameterDescriptor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from std_msgs.msg import String
from std_srvs.srv import Trigger

from adora_ros.coordinator import machines
from adora_ros.coordinator.limits import Limits
from adora_ros.coordinator.protocol import MACHINE_TIMEOUT, RECOVERY_TIMEOUT, TOPIC

if TYPE_CHECKING:
    from collections.abc import Callable

    from rclpy.context import Context
    from rclpy.publisher import Publisher

REPORTS_QOS = QoSProfile(
    depth=5000, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL
)
"""Deep enough for the reports of many managers that come at once."""
EVENTS_QOS = QoSProfile(depth=100, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)
"""Latched, so that who comes late still learns the recent past."""
DIAGNOSTICS_QOS = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)
"""What diagnostic_aggregator and rqt_robot_monitor subscribe with."""
NANOSECONDS = 1_000_000_000


class CoordinatorNode(Node):
    """The coordinator's node, with its parameters ``machine_timeout`` and ``recovery_timeout`` in seconds."""

    def __init__(
        self,
        *,
        context: Context,
        on_report: Callable[[str], None],
        on_machine: Callable[[str], None],
        overview: Callable[[], str],
    ) -> None:
        """Listen to managers.

        Args:
            context: Where the node lives.
            on_report: Takes each report as it was sent; called on the ROS thread.
            on_machine: The same for those of managers that wait.
            overview: Returns what the service ``~/list`` answers; called on the ROS thread.

        """
        super().__init__('coordinator', namespace='/adora', context=context)
        self.limits = Limits(
            machine_timeout=self._seconds(
                'machine_timeout',
                MACHINE_TIMEOUT,
                'Silence after which a manager, and with its last one a machine, is gone',
            ),
            recovery_timeout=self._seconds(
                'recovery_timeout',
                RECOVERY_TIMEOUT,
                'Time that managers have to report after the coordinator restarted',
            ),
        )
        self._events = self.create_publisher(DiagnosticArray, '/adora/events', EVENTS_QOS)
        self._diagnostics = self.create_publisher(DiagnosticArray, '/diagnostics', DIAGNOSTICS_QOS)
        self.create_subscription(String, TOPIC, lambda message: on_report(message.data), REPORTS_QOS)
        self.create_subscription(String, machines.TOPIC, lambda message: on_machine(message.data), REPORTS_QOS)
        self._overview = overview
        self.create_service(Trigger, '~/list', self._answer_list)

    def _answer_list(self, _request: Any, response: Any) -> Any:
        response.message = self._overview()
        response.success = True
        return response

    def publish_event(self, kind: str, text: str, *, warn: bool = False, **details: object) -> None:
        """Publish one thing that happened.

        Args:
            kind: What, such as ``PeerDaemonDisconnected``.
            text: One line for people.
            warn: Whether it is bad news.
            **details: Further facts by name.

        """
        pairs = {'event': kind, **details}
        status = DiagnosticStatus(
            level=DiagnosticStatus.WARN if warn else DiagnosticStatus.OK,
            name='adora: coordinator',
            message=text,
            values=[KeyValue(key=key, value=str(value)) for key, value in pairs.items()],
        )
        self._publish(self._events, status)

    def publish_diagnostics(self, status: DiagnosticStatus) -> None:
        """Publish one item of ``/diagnostics``."""
        self._publish(self._diagnostics, status)

    def _publish(self, publisher: Publisher[DiagnosticArray], status: DiagnosticStatus) -> None:
        message = DiagnosticArray(status=[status])
        stamp = time.time_ns()
        message.header.stamp = Time(sec=stamp // NANOSECONDS, nanosec=stamp % NANOSECONDS)
        try:
            publisher.publish(message)
        except RuntimeError as error:
            self.get_logger().warning(f'{publisher.topic_name}: not published: {error}', throttle_duration_sec=5.0)

    def _seconds(self, name: str, default: float, description: str) -> float:
        limits = FloatingPointRange(from_value=0.1, to_value=86400.0, step=0.0)
        descriptor = ParameterDescriptor(
            description=f'{description}, in seconds', read_only=True, floating_point_range=[limits]
        )
        return float(self.declare_parameter(name, default, descriptor).value)
