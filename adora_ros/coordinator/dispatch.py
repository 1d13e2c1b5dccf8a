"""Carries out orders: asks managers over ROS, and notes what they refuse."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rcl_interfaces.msg import Parameter
from rcl_interfaces.srv import SetParametersAtomically

from adora_ros.coordinator import machines
from adora_ros.coordinator.orders import Order, StartShare
from adora_ros.coordinator.records import DataflowRecord, Wanted
from adora_ros.coordinator.storenode import to_message

if TYPE_CHECKING:
    from collections.abc import Callable

    from rclpy.node import Node

    from adora_ros.coordinator.orders import Orders
    from adora_ros.coordinator.registry import Registry
    from adora_ros.transport.rosthread import RosThread

ANSWER_TIMEOUT = 5.0
"""Seconds within which a manager has to answer; a stop is answered when all is over, which is not waited for."""
SHUTDOWN = 'shutdown'
"""Label of the transition that ends a lifecycle node from any of its states (``lifecycle_msgs/msg/Transition``)."""


class Dispatch:
    """Asks managers on behalf of the orders, on the event loop.

    Args:
        ros: The thread that serves ``node``.
        node: Makes the clients.
        registry: The records.
        orders: What is to be asked.
        guarded: Calls what may be refused for one record.
        warn: Takes one line about what went wrong.

    """

    def __init__(
        self,
        ros: RosThread,
        node: Node,
        registry: Registry,
        orders: Orders,
        *,
        guarded: Callable[[Callable[[], None]], None],
        warn: Callable[[str], None],
    ) -> None:
        self._ros = ros
        self._node = node
        self._registry = registry
        self._orders = orders
        self._guarded = guarded
        self._warn = warn
        self._tasks: dict[Order, asyncio.Task[None]] = {}

    def go_on(self, now: float) -> None:
        """Ask for what is due and is not being asked for.

        Args:
            now: Steady time in seconds.

        """
        for order in self._orders.due(now):
            if order not in self._tasks:
                self._tasks[order] = asyncio.get_running_loop().create_task(self._carry_out(order))

    def close(self) -> None:
        """Wait for no answer any more."""
        for task in self._tasks.values():
            task.cancel()

    async def _carry_out(self, order: Order) -> None:
        try:
            await (self._start(order) if isinstance(order, StartShare) else self._stop(order.service))
        except asyncio.TimeoutError:
            if isinstance(order, StartShare):
                self._warn(f'{order.node} gave no answer; it is asked again')
        finally:
            del self._tasks[order]

    async def _start(self, order: StartShare) -> None:
        record = self._registry.get(DataflowRecord, order.run)
        if record is None or record.wanted is not Wanted.RUN:
            return
        self._guarded(lambda: self._registry.renew_share(order.run, order.machine))
        start = machines.Start(
            run=record.uuid,
            name=record.name,
            file=record.file,
            descriptor=record.descriptor,
            rest=record.rest == order.machine,
        )
        parameter = Parameter(name=machines.START, value=to_message(machines.encode(start)))
        request = SetParametersAtomically.Request(parameters=[parameter])
        response = await self._call(SetParametersAtomically, f'{order.node}/set_parameters_atomically', request)
        if not response.result.successful:
            reason = response.result.reason
            self._guarded(lambda: self._registry.end_share(order.run, order.machine, reason))

    async def _stop(self, report_service: str) -> None:
        request = ChangeState.Request(transition=Transition(label=SHUTDOWN))
        await self._call(ChangeState, f'{report_service.rpartition("/")[0]}/change_state', request)

    async def _call(self, kind: Any, service: str, request: Any) -> Any:
        client: Any = self._node.create_client(kind, service)
        try:
            return await self._ros.call(client, request, ANSWER_TIMEOUT)
        finally:
            self._node.destroy_client(client)
