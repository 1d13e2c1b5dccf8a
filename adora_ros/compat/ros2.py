"""dora's ROS 2 bridge for Python nodes, on rclpy.

``Ros2Context`` makes ordinary ROS 2 nodes, in a context and a thread of their own. Values are Arrow struct arrays of
one row, in the mapping of :mod:`adora_ros.transport.rosarrow`.
"""

from __future__ import annotations

import atexit
import threading
import warnings
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import rclpy
from rclpy.context import Context
from rclpy.exceptions import ParameterException
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node as RclpyNode
from rclpy.parameter import Parameter
from rclpy.signals import SignalHandlerOptions

from adora_ros.compat.ros2action import Ros2ActionClient, Ros2ActionServer
from adora_ros.compat.ros2service import Ros2ServiceClient, Ros2ServiceServer
from adora_ros.compat.ros2waits import interface_class
from adora_ros.errors import NodeError, UnsupportedError
from adora_ros.transport.ports import message_class
from adora_ros.transport.rosarrow import from_arrow, to_arrow
from adora_ros.transport.rosthread import RosThread

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pyarrow as pa

    from adora_ros.compat.ros2qos import Ros2QosPolicies

SIM_TIME = 'use_sim_time'


@dataclass(frozen=True)
class Ros2NodeOptions:
    """Options of a node."""

    rosout: bool | None = None
    """Whether what it logs goes to ``/rosout``."""


@dataclass(frozen=True)
class Ros2Topic:
    """A topic with its message class and QoS."""

    name: str
    message_type: type[Any]
    qos: Ros2QosPolicies


class Ros2Transport:
    """Which middleware is used: in ROS 2 that is ``RMW_IMPLEMENTATION``."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    @staticmethod
    def dds() -> Ros2Transport:
        """Return the transport."""
        return Ros2Transport('dds')

    @staticmethod
    def zenoh(compatibility: str, config_uri: str | None = None) -> Ros2Transport:
        """Refuse.

        Raises:
            UnsupportedError: always.

        """
        msg = f'zenoh({compatibility!r}, {config_uri!r}): set RMW_IMPLEMENTATION=rmw_zenoh_cpp for the whole dataflow'
        raise UnsupportedError(msg)


class Ros2Context:
    """Makes ROS 2 nodes.

    Args:
        ros_paths: has no effect: message types are those of the sourced workspaces.
        transport: as given by :meth:`Ros2Transport.dds`.
        domain_id: the ROS domain, that of ``ROS_DOMAIN_ID`` unless given.

    """

    def __init__(
        self,
        ros_paths: Sequence[Any] | None = None,
        transport: Ros2Transport | None = None,
        domain_id: int | None = None,
    ) -> None:
        if ros_paths is not None:
            warnings.warn(
                'ros_paths has no effect: message types are those of the sourced workspaces',
                RuntimeWarning,
                stacklevel=2,
            )
        self.transport_kind = (transport or Ros2Transport.dds()).kind
        self._context = Context()
        rclpy.init(context=self._context, domain_id=domain_id, signal_handler_options=SignalHandlerOptions.NO)
        self._thread = RosThread(self._context, SingleThreadedExecutor)  # services of ours are coroutines
        self._thread.start()
        atexit.register(self._close)

    def new_node(
        self,
        name: str,
        namespace: str,
        options: Ros2NodeOptions,
        parameters: Mapping[str, Any] | None = None,
    ) -> Ros2Node:
        """Make a node that declares ``parameters``.

        Raises:
            NodeError: a parameter or a name is not one that ROS 2 takes.

        """
        given = {key: _parameter_value(key, value) for key, value in (parameters or {}).items()}
        if SIM_TIME in given:
            msg = f'{SIM_TIME} is a parameter of every node: set it later with set_parameter()'
            raise NodeError(msg)

        def declaring(context: Context) -> RclpyNode:
            node = RclpyNode(
                name,
                context=context,
                namespace=namespace,
                use_global_arguments=False,
                enable_rosout=bool(options.rosout),
            )
            try:
                for key, value in given.items():
                    node.declare_parameter(key, value)
            except BaseException:
                node.destroy_node()
                raise
            return node

        try:
            node = self._thread.add(declaring)
        except (ValueError, TypeError, ParameterException) as error:
            msg = f'node {name!r} in {namespace!r}: {" ".join(str(error).split())}'
            raise NodeError(msg) from error
        return Ros2Node(node, self._thread)

    def _close(self) -> None:
        self._thread.close()
        self._context.try_shutdown()


class Ros2Node:
    """A ROS 2 node.

    Args:
        node: the rclpy node.
        thread: what serves it.

    """

    def __init__(self, node: RclpyNode, thread: RosThread) -> None:
        self.ros_node = node
        self._thread = thread

    def create_topic(self, name: str, message_type: str, qos: Ros2QosPolicies) -> Ros2Topic:
        """Return a topic; ``message_type`` is like ``std_msgs/UInt8`` or ``std_msgs::UInt8``.

        Raises:
            TransportError: there is no such message type.

        """
        return Ros2Topic(name, message_class(message_type.replace('::', '/')), qos)

    def create_publisher(self, topic: Ros2Topic, qos: Ros2QosPolicies | None = None) -> Ros2Publisher:
        """Return a publisher of a topic."""
        publisher = self.ros_node.create_publisher(topic.message_type, topic.name, (qos or topic.qos).profile())
        return Ros2Publisher(publisher, topic.message_type)

    def create_subscription(self, topic: Ros2Topic, qos: Ros2QosPolicies | None = None) -> Ros2Subscription:
        """Return a subscription of a topic, for :meth:`adora_ros.Node.merge_external_events` or to be polled."""
        return Ros2Subscription(self.ros_node, topic, qos or topic.qos)

    def create_service_client(self, service_name: str, service_type: str, qos: Ros2QosPolicies) -> Ros2ServiceClient:
        """Return a client of a service, as soon as the service is there.

        Raises:
            NodeError: it was not there within 20 s.
            TransportError: there is no such service type.

        """
        return Ros2ServiceClient(self.ros_node, interface_class('srv', service_type), service_name, qos.profile())

    def create_service_server(self, service_name: str, service_type: str, qos: Ros2QosPolicies) -> Ros2ServiceServer:
        """Return the server of a service, to be polled with ``take_request()``.

        Raises:
            TransportError: there is no such service type.

        """
        return Ros2ServiceServer(
            self._thread, self.ros_node, interface_class('srv', service_type), service_name, qos.profile()
        )

    def create_action_client(self, action_name: str, action_type: str, qos: Ros2QosPolicies) -> Ros2ActionClient:
        """Return a client of an action.

        Raises:
            TransportError: there is no such action type.

        """
        return Ros2ActionClient(self.ros_node, interface_class('action', action_type), action_name, qos.profile())

    def create_action_server(self, action_name: str, action_type: str, qos: Ros2QosPolicies) -> Ros2ActionServer:
        """Return the server of an action, to be polled with ``take_goal()``.

        Raises:
            TransportError: there is no such action type.

        """
        return Ros2ActionServer(
            self._thread, self.ros_node, interface_class('action', action_type), action_name, qos.profile()
        )

    def set_parameter(self, name: str, value: Any) -> None:
        """Set a parameter.

        Raises:
            NodeError: it was not declared, or has another type.

        """
        if not self.has_parameter(name):
            msg = f'parameter {name!r} is not declared: give it to new_node(parameters=...)'
            raise NodeError(msg)
        (result,) = self.ros_node.set_parameters([Parameter(name, value=_parameter_value(name, value))])
        if not result.successful:
            msg = f'parameter {name!r} cannot be {value!r}: {result.reason}'
            raise NodeError(msg)

    def get_parameter(self, name: str) -> Any:
        """Return the value of a parameter, None if there is none of that name."""
        if not self.has_parameter(name):
            return None
        parameter = self.ros_node.get_parameter(name)
        if parameter.type_ is Parameter.Type.BYTE_ARRAY:
            return b''.join(parameter.value)
        value = parameter.value
        return value if isinstance(value, (bool, int, float, str)) or value is None else list(value)

    def list_parameters(self) -> list[str]:
        """Return the names of all parameters."""
        return sorted(self.ros_node.list_parameters([], 0).names)

    def has_parameter(self, name: str) -> bool:
        """Return whether there is a parameter of that name."""
        return bool(self.ros_node.has_parameter(name))


class Ros2Publisher:
    """Publishes Arrow values as ROS messages."""

    def __init__(self, publisher: Any, message_type: type[Any]) -> None:
        self._publisher = publisher
        self._message_type = message_type

    def publish(self, data: Any) -> None:
        """Publish a struct array of one row; fields that are missing keep their defaults.

        Raises:
            TransportError: the value does not fit the message.

        """
        self._publisher.publish(from_arrow(data, self._message_type))


@dataclass
class _Waiting:
    messages: deque[Any]
    take: Callable[[Any], None] | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)


class Ros2Subscription:
    """Messages of a topic, which wait here until they are polled or the subscription is merged."""

    def __init__(self, node: RclpyNode, topic: Ros2Topic, qos: Ros2QosPolicies) -> None:
        self.depth = qos.waiting
        """How many messages may wait; the oldest makes room."""
        self._waiting = waiting = _Waiting(deque(maxlen=self.depth))

        def receive(message: Any) -> None:
            with waiting.lock:
                if waiting.take is None:
                    waiting.messages.append(message)
                else:
                    waiting.take(message)

        self._subscription = node.create_subscription(topic.message_type, topic.name, receive, qos.profile())

    def next(self) -> pa.StructArray | None:
        """Return the oldest message that waits, None if there is none.

        Raises:
            NodeError: the subscription has been merged.

        """
        with self._waiting.lock:
            self._check()
            if not self._waiting.messages:
                return None
            message = self._waiting.messages.popleft()
        return to_arrow(message)

    def hand_over(self, take: Callable[[Any], None]) -> None:
        """Give every message to ``take``, those that wait first.

        Raises:
            NodeError: the subscription has been merged before.

        """
        with self._waiting.lock:
            self._check()
            while self._waiting.messages:
                take(self._waiting.messages.popleft())
            self._waiting.take = take

    def _check(self) -> None:
        if self._waiting.take is not None:
            msg = 'the subscription has been merged into the events of the node: its messages come from next()'
            raise NodeError(msg)


def _parameter_value(name: str, value: Any) -> Any:
    if isinstance(value, bytes):
        return [bytes([byte]) for byte in value]
    if any(isinstance(item, int) and not -(2**63) <= item < 2**63 for item in _items(value)):
        msg = f'parameter {name!r}: a whole number of ROS 2 has 64 bits'
        raise NodeError(msg)
    if isinstance(value, (list, tuple)):
        kinds = {type(item) for item in value}
        if len(kinds) > 1 or not kinds <= {bool, int, float, str}:
            msg = f'parameter {name!r}: a list holds values of one type out of bool, int, float and str'
            raise NodeError(msg)
        return list(value)
    if isinstance(value, (bool, int, float, str)):
        return value
    msg = f'parameter {name!r} is a {type(value).__name__}: use bool, int, float, str, bytes or a list'
    raise NodeError(msg)


def _items(value: Any) -> Sequence[Any]:
    return value if isinstance(value, (list, tuple)) else (value,)
