"""The manager as a ROS node: lifecycle, services and topics, on one thread that only talks ROS.

The event loop owns everything else; calls go over with ``call_soon_threadsafe`` and back by publishing, which is safe
from any thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
import traceback
from typing import TYPE_CHECKING, Any, Protocol

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rcl_interfaces.msg import ParameterDescriptor
from rclpy.context import Context
from rclpy.experimental import EventsExecutor
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions
from std_srvs.srv import Trigger

from adora_ros.manager.diagnostics import event_message, status_message

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rclpy.publisher import Publisher

    from adora_ros.dataflow import NodeSpec
    from adora_ros.manager.events import ManagerEvent, NodeStatus

EVENTS_QOS = QoSProfile(depth=100, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)
"""Latched, so that who comes late still learns the recent past."""
STATUS_QOS = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)
"""Latched: there is always a current state."""
DIAGNOSTICS_QOS = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)
"""What diagnostic_aggregator and rqt_robot_monitor subscribe with."""
SPIN = 1.0
"""Seconds that the executor waits at most before it looks whether it is to end."""


class Control(Protocol):
    """What the node's lifecycle and services do to the manager; called on the ROS thread."""

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

    def command(self, verb: str, node: str) -> str:
        """Carry out ``restart``, ``stop`` or ``start`` for one node; return an error text."""


class ManagerNode(LifecycleNode):
    """The lifecycle node of a manager."""

    def __init__(self, name: str, namespace: str, *, context: Context, control: Control, machine: str) -> None:
        super().__init__(name, namespace=namespace, context=context)
        self._control = control
        self._dataflow = namespace.lstrip('/')
        self._machine = machine
        self._command_services: list[Any] = []
        # Plain publishers: a dataflow that is not active has a state, too.
        self._events = self.create_publisher(DiagnosticArray, 'events', EVENTS_QOS)
        self._status = self.create_publisher(DiagnosticArray, 'status', STATUS_QOS)
        self._diagnostics = self.create_publisher(DiagnosticArray, '/diagnostics', DIAGNOSTICS_QOS)
        description = ParameterDescriptor(description='Name of this machine in deploy.machine', read_only=True)
        self.declare_parameter('machine', machine, description)

    def publish_event(self, event: ManagerEvent) -> None:
        """Publish one event."""
        self._publish(self._events, event_message(event, dataflow=self._dataflow, machine=self._machine))

    def publish_status(self, statuses: Iterable[NodeStatus]) -> None:
        """Publish the state of all nodes."""
        message = status_message(statuses, dataflow=self._dataflow, machine=self._machine, stamp=time.time_ns())
        self._publish(self._status, message)
        self._publish(self._diagnostics, message)

    def _publish(self, publisher: Publisher[DiagnosticArray], message: DiagnosticArray) -> None:
        """Publish; supervision does not depend on whether DDS takes it."""
        try:
            publisher.publish(message)
        except RuntimeError as error:
            self.get_logger().warning(f'{publisher.topic_name}: not published: {error}', throttle_duration_sec=5.0)

    def offer_commands(self, nodes: Iterable[NodeSpec]) -> None:
        """Offer ``~/<node>/restart``, ``stop`` and ``start`` for every node."""
        for node in nodes:
            for verb in ('restart', 'stop', 'start'):
                callback = self._commander(verb, node.id)
                self._command_services.append(self.create_service(Trigger, f'~/{node.name}/{verb}', callback))

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


class RosThread:
    """A ROS context, the manager's node in it, and the thread that serves them."""

    def __init__(self, name: str, namespace: str, *, control: Control, machine: str) -> None:
        self.context = Context()
        rclpy.init(context=self.context, signal_handler_options=SignalHandlerOptions.NO)
        self.node = ManagerNode(name, namespace, context=self.context, control=control, machine=machine)
        self.executor = EventsExecutor(context=self.context)
        self.executor.add_node(self.node)
        self._closing = False
        self._thread = threading.Thread(target=self._spin, name='adora-ros', daemon=True)
        self._thread.start()

    def close(self, timeout: float = 2.0) -> None:
        """End the thread, then the node, then the context: in another order the participant stays."""
        self._closing = True
        self.executor.create_task(lambda: None)
        self._thread.join(timeout)
        self.executor.shutdown()
        self.node.destroy_node()
        with contextlib.suppress(RuntimeError):
            self.context.shutdown()

    def _spin(self) -> None:
        """Turn the executor; its ``spin()`` would never call anything back."""
        while not self._closing:
            try:
                self.executor.spin_once(SPIN)
            except Exception as error:  # noqa: BLE001 - a callback that fails must not end the service of all others
                self.node.get_logger().error(f'callback failed: {error!r}')

    async def call(self, client: Any, request: Any, timeout: float) -> Any:
        """Call a service from the event loop.

        Args:
            client: An rclpy client of :attr:`node`.
            request: The request.
            timeout: Seconds to wait for the response.

        Raises:
            asyncio.TimeoutError: no response came; the pending request is forgotten.

        """
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Any] = loop.create_future()

        def done(future: Any) -> None:
            loop.call_soon_threadsafe(_settle, answer, future)

        future = client.call_async(request)
        future.add_done_callback(done)
        try:
            return await asyncio.wait_for(answer, timeout)
        finally:
            client.remove_pending_request(future)


def _settle(answer: asyncio.Future[Any], future: Any) -> None:
    if answer.done():
        return
    if future.exception() is not None:
        answer.set_exception(future.exception())
    else:
        answer.set_result(future.result())
