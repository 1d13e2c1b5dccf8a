"""The manager as a ROS node: lifecycle, services and topics, on one thread that only talks ROS.

The event loop owns everything else; calls go over with ``call_soon_threadsafe`` and back by publishing, which is safe
from any thread.
"""

from __future__ import annotations

import contextlib
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Protocol

from diagnostic_msgs.msg import DiagnosticArray
from rcl_interfaces.msg import FloatingPointRange, ParameterDescriptor
from rclpy.duration import Duration
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from std_srvs.srv import Trigger

from adora_ros.coordinator.protocol import HEARTBEAT_PERIOD
from adora_ros.manager.diagnostics import StatusMessages, dataflow_status, event_message
from adora_ros.transport.late import answer_later
from adora_ros.transport.rosthread import RosThread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rclpy.context import Context
    from rclpy.node import Node
    from rclpy.publisher import Publisher

    from adora_ros.dataflow import NodeSpec
    from adora_ros.manager.events import DataflowStatus, ManagerEvent, NodeStatus
    from adora_ros.transport.answers import Answers

EVENTS_QOS = QoSProfile(depth=100, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)
"""Latched, so that who comes late still learns the recent past."""
STATUS_QOS = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)
"""Latched: there is always a current state."""
DIAGNOSTICS_QOS = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)
"""What diagnostic_aggregator and rqt_robot_monitor subscribe with."""
FLUSH = 0.5
"""Seconds that the end of a manager waits for its last events to arrive."""
FLUSH_STEP = Duration(seconds=0.05)
_STOP_GRACE = 'stop_grace'
_UNSET = -1.0


class Control(Protocol):
    """What the node's lifecycle and services do to the manager; called on threads other than the event loop's."""

    def configure(self) -> str:
        """Load the dataflow; return an error text, empty if all went well."""

    def activate(self) -> str:
        """Start the dataflow; return an error text."""

    def deactivate(self) -> str:
        """Stop the dataflow and wait for its end; return an error text."""

    def cleanup(self) -> str:
        """Forget the dataflow; return an error text."""

    def shutdown(self) -> str:
        """Stop the dataflow if it runs, and end the manager; return an error text."""

    def keep(self, *, through_stop: bool) -> None:
        """Say whether a manager that would end with its dataflow is to stay, since it starts it again."""

    def give_up(self, error: str) -> None:
        """End a manager that could not start its dataflow again."""

    def command(self, verb: str, node: str) -> str:
        """Carry out ``restart``, ``stop`` or ``start`` for one node; return an error text."""


class ManagerNode(LifecycleNode):
    """The lifecycle node of a manager.

    Its transitions are made one after another on :attr:`transitions`, whoever asks for them: they may take as long as
    a dataflow takes to stop, and the ROS thread is needed for that.
    """

    def __init__(
        self, name: str, namespace: str, *, context: Context, control: Control, machine: str, answers: Answers
    ) -> None:
        super().__init__(name, namespace=namespace, context=context)
        self._answers = answers
        self.transitions = ThreadPoolExecutor(max_workers=1, thread_name_prefix='adora-transitions')
        self._answer_later(self._service_change_state)
        self._control = control
        self._dataflow = namespace.lstrip('/')
        self._machine = machine
        self._messages = StatusMessages(dataflow=self._dataflow, machine=machine)
        self._command_services: list[Any] = []
        self._is_ending = False
        # Plain publishers: a dataflow that is not active has a state, too.
        self._events = self.create_publisher(DiagnosticArray, 'events', EVENTS_QOS)
        self._status = self.create_publisher(DiagnosticArray, 'status', STATUS_QOS)
        self._diagnostics = self.create_publisher(DiagnosticArray, '/diagnostics', DIAGNOSTICS_QOS)
        description = ParameterDescriptor(description='Name of this machine in deploy.machine', read_only=True)
        self.declare_parameter('machine', machine, description)
        self.heartbeat_period = heartbeat_period(self)
        text = (
            'Seconds after which the next stop skips to SIGTERM, and to SIGKILL half as long later; unset if negative'
        )
        self.declare_parameter(_STOP_GRACE, _UNSET, ParameterDescriptor(description=text))
        self._answer_later(self.create_service(Trigger, '~/restart', self._restart))

    def publish_event(self, event: ManagerEvent) -> None:
        """Publish one event."""
        self._publish(self._events, event_message(event, dataflow=self._dataflow, machine=self._machine))

    def publish_status(self, dataflow: DataflowStatus, statuses: Iterable[NodeStatus]) -> None:
        """Publish the state of all nodes, and on ``status`` that of the dataflow behind them."""
        message = self._messages.message(statuses, stamp=time.time_ns())
        if message.status:
            self._publish(self._diagnostics, message)
        message.status = [*message.status, dataflow_status(dataflow, machine=self._machine)]
        self._publish(self._status, message)

    def _publish(self, publisher: Publisher[DiagnosticArray], message: DiagnosticArray) -> None:
        """Publish; supervision does not depend on whether DDS takes it."""
        try:
            if publisher is not self._diagnostics or publisher.get_subscription_count():  # it alone is not latched
                publisher.publish(message)
        except RuntimeError as error:
            with contextlib.suppress(RuntimeError):  # the node is being destroyed
                self.get_logger().warning(f'{publisher.topic_name}: not published: {error}', throttle_duration_sec=5.0)

    def flush(self, timeout: float) -> bool:
        """Wait until whoever listens has the last events and states; return whether that is so.

        Args:
            timeout: Seconds. One long wait may go on although everything has arrived, so it is made in short ones.

        """
        deadline = time.monotonic() + timeout
        publishers = (self._events, self._status, self._diagnostics)
        while not all(publisher.wait_for_all_acked(FLUSH_STEP) for publisher in publishers):
            if time.monotonic() >= deadline:
                return False
        return True

    def take_stop_grace(self) -> float | None:
        """Return what limits the grace of a stop that begins now, in seconds; it holds for that stop only."""
        grace = float(self.get_parameter(_STOP_GRACE).value)
        if grace < 0:
            return None
        self.set_parameters([Parameter(_STOP_GRACE, value=_UNSET)])
        return grace

    def offer_commands(self, nodes: Iterable[NodeSpec]) -> None:
        """Offer ``~/<node>/restart``, ``stop`` and ``start`` for every node."""
        for node in nodes:
            for verb in ('restart', 'stop', 'start'):
                callback = self._commander(verb, node.id)
                service = self.create_service(Trigger, f'~/{node.name}/{verb}', callback)
                self._answers.watch(self, service)
                self._command_services.append(service)

    def withdraw_commands(self) -> None:
        """Withdraw what :meth:`offer_commands` offered."""
        while self._command_services:
            self.destroy_service(self._command_services.pop())

    def _commander(self, verb: str, node: str) -> Callable[[Any, Any], Any]:
        def callback(_request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
            error = self._control.command(verb, node)
            response.success = not error
            response.message = error or f'{verb} of {node} requested'
            return response

        return callback

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Load and validate the dataflow."""
        return self._transition(super().on_configure(state), self._control.configure)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Start the dataflow."""
        return self._transition(super().on_activate(state), self._control.activate)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop the dataflow."""
        return self._transition(super().on_deactivate(state), self._control.deactivate)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Forget the dataflow."""
        return self._transition(super().on_cleanup(state), self._control.cleanup)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop the dataflow if it runs, and end the manager."""
        return self._transition(super().on_shutdown(state), self._control.shutdown)

    def _answer_later(self, service: Any) -> None:
        """Have a service answered by transitions."""
        self._answers.watch(self, service)
        answer_later(service, self.transitions.submit, warn=self.get_logger().error)

    def _restart(self, _request: Any, response: Any) -> Any:
        """Stop the dataflow and start it again, as it was loaded."""
        if self._state_machine.current_state[1] != 'active':
            response.message = 'the dataflow is not running'
            return response
        self._control.keep(through_stop=True)
        self.trigger_deactivate()
        error = ''
        if self._state_machine.current_state[1] != 'inactive':
            error = 'the dataflow could not be stopped'
        elif self.trigger_activate() is not TransitionCallbackReturn.SUCCESS:
            error = 'the dataflow could not be started again'
        self._control.keep(through_stop=False)
        if error:
            self._control.give_up(error)
        response.success = not error
        response.message = error or 'restarted'
        return response

    def begin_end(self) -> None:
        """Destroy nothing any more before the node itself, since it ends soon.

        When many nodes leave at once, each time is an occasion to lock up: see :mod:`adora_ros.transport.leaving`.
        """
        self._is_ending = True

    def destroy_client(self, client: Any) -> bool:
        """Destroy a client, unless the node ends soon."""
        return self._is_ending or super().destroy_client(client)

    def destroy_publisher(self, publisher: Any) -> bool:
        """Destroy a publisher, unless the node ends soon."""
        return self._is_ending or super().destroy_publisher(publisher)

    def destroy_service(self, service: Any) -> bool:
        """Destroy a service, unless the node ends soon."""
        return self._is_ending or super().destroy_service(service)

    def destroy_subscription(self, subscription: Any) -> bool:
        """Destroy a subscription, unless the node ends soon."""
        return self._is_ending or super().destroy_subscription(subscription)

    def destroy_node(self) -> None:
        """Leave ROS, with the state machine, without which the participant would stay, and end the transitions."""
        self._is_ending = False
        self.transitions.shutdown(wait=False)
        super().destroy_node()
        self._state_machine.destroy_when_not_in_use()

    def stand_down(self) -> None:
        """Deactivate unless somebody has done so."""
        if self._state_machine.current_state[1] == 'active':
            self.trigger_deactivate()

    def end(self) -> None:
        """Shut down unless somebody has done so."""
        if self._state_machine.current_state[1] != 'finalized':
            self.trigger_shutdown()

    def _transition(self, base: TransitionCallbackReturn, act: Callable[[], str]) -> TransitionCallbackReturn:
        if base is not TransitionCallbackReturn.SUCCESS:
            return base
        try:
            error = act()
        except Exception:
            # rclpy turns it into ERROR without a word.
            self.get_logger().error(traceback.format_exc())
            raise
        return TransitionCallbackReturn.FAILURE if error else TransitionCallbackReturn.SUCCESS


def heartbeat_period(node: Node) -> float:
    """Declare the parameter of that name and return its value in seconds."""
    limits = FloatingPointRange(from_value=0.05, to_value=3600.0, step=0.0)
    text = 'Silence after which the coordinator is told that the manager lives, in seconds'
    descriptor = ParameterDescriptor(description=text, read_only=True, floating_point_range=[limits])
    return float(node.declare_parameter('heartbeat_period', HEARTBEAT_PERIOD, descriptor).value)


class ManagerThread(RosThread):
    """The manager's node and the thread that serves it."""

    def __init__(self, name: str, namespace: str, *, control: Control, machine: str) -> None:
        super().__init__()

        def make(context: Context) -> ManagerNode:
            return ManagerNode(name, namespace, context=context, control=control, machine=machine, answers=self.answers)

        self.node = self.add(make)
        self.start()

    def close(self, timeout: float = 2.0) -> None:
        """Let the last events arrive, then end."""
        self.node.flush(FLUSH)
        super().close(timeout)
