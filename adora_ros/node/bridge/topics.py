"""Topics: what is heard goes to outputs, what comes on inputs is published."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rclpy.duration import Duration
from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
from rclpy.qos import qos_policy_name_from_kind

from adora_ros.dataflow.bridge import SUBSCRIBE
from adora_ros.node.bridge.link import interface, to_ros
from adora_ros.transport.qos import qos_profile
from adora_ros.transport.rosarrow import to_arrow

if TYPE_CHECKING:
    from collections.abc import Callable

    from rclpy.node import Node as RosNode

    from adora_ros.dataflow.bridge import BridgeTopic
    from adora_ros.inputs import Event, Input
    from adora_ros.node.bridge.link import BridgeNode

FLUSH_DEADLINE = 0.5
"""Seconds that the end of the bridge waits until the subscribers have what was published."""


class TopicLink:
    """See the module."""

    def __init__(self, node: BridgeNode, ros: RosNode) -> None:
        self._node = node
        self._publishers: dict[str, list[tuple[Any, type[Any]]]] = {}
        for topic in node.spec.topics:
            message_type = interface(topic.type)
            qos = qos_profile(topic.qos, depth=1)
            if topic.direction == SUBSCRIBE:
                subscription_events = SubscriptionEventCallbacks(incompatible_qos=self._mismatch(topic, 'publisher'))
                ros.create_subscription(
                    message_type, topic.topic, self._receiver(topic), qos, event_callbacks=subscription_events
                )
                continue
            publisher_events = PublisherEventCallbacks(incompatible_qos=self._mismatch(topic, 'subscriber'))
            publisher = ros.create_publisher(message_type, topic.topic, qos, event_callbacks=publisher_events)
            for port in topic.ports:
                self._publishers.setdefault(port, []).append((publisher, message_type))

    def on_input(self, event: Input) -> None:
        """See the protocol."""
        for publisher, message_type in self._publishers.get(event.id, ()):
            publisher.publish(to_ros(event.value, message_type))

    def on_event(self, event: Event) -> None:
        """See the protocol: nothing else is of interest."""

    def sweep(self, now: float) -> float | None:  # noqa: ARG002
        """See the protocol: nothing is expected."""
        return None

    def busy(self) -> bool:
        """See the protocol."""
        return False

    def stop(self) -> None:
        """See the protocol: what was published is delivered."""
        for publishers in self._publishers.values():
            for publisher, _ in publishers:
                publisher.wait_for_all_acked(Duration(seconds=FLUSH_DEADLINE))

    def _receiver(self, topic: BridgeTopic) -> Callable[[Any], None]:
        def receive(message: Any) -> None:
            value = to_arrow(message)
            for port in topic.ports:
                self._node.forward_to(port, value)

        return receive

    def _mismatch(self, topic: BridgeTopic, peer: str) -> Callable[[Any], None]:
        def incompatible(info: Any) -> None:
            policy = qos_policy_name_from_kind(info.last_policy_kind).lower()
            self._node.log_error(
                f'{topic.topic}: a {peer} and this bridge do not hear each other, their {policy} is not compatible; '
                'adapt the `qos` of `ros2`'
            )

        return incompatible
