"""Nodes that only speak ROS: when they are ready, and the way to their lifecycle."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rcl_interfaces.srv import GetParameters

from adora_ros.errors import LifecycleError

if TYPE_CHECKING:
    from adora_ros.dataflow import NodeSpec
    from adora_ros.manager.lifecycle import Subscribers
    from adora_ros.manager.ros import RosThread

ATTEMPT = 0.25
"""Seconds after which an unanswered question is asked again.

A request to a server that is gone is lost without a word, and a server that was killed counts as there until its
lease ends; so what has no side effect is simply repeated.
"""
CHANGE_CHECK = 1.0
"""Seconds after which an unanswered transition is looked into."""
LIFECYCLE_PATIENCE = 10.0
"""Seconds within which a node that is said to have a lifecycle has to answer as one."""
_TRANSITIONS = {
    'configure': Transition.TRANSITION_CONFIGURE,
    'activate': Transition.TRANSITION_ACTIVATE,
    'deactivate': Transition.TRANSITION_DEACTIVATE,
}


class ServiceDriver:
    """Drives a lifecycle node through its standard services, with clients of its own for each incarnation."""

    def __init__(self, ros: RosThread, full_name: str) -> None:
        self._ros = ros
        self._name = full_name
        self._get: Any = ros.node.create_client(GetState, f'{full_name}/get_state')
        self._change: Any = ros.node.create_client(ChangeState, f'{full_name}/change_state')

    def close(self) -> None:
        """Destroy the clients."""
        for client in (self._get, self._change):
            self._ros.node.destroy_client(client)

    async def state(self) -> str:
        """Return the node's state; the question is repeated until it is answered."""
        response = await ask_until_answered(self._ros, self._get, GetState.Request())
        return str(response.current_state.label)

    async def change(self, transition: str, subscribers: Subscribers) -> None:
        """Ask for one transition, again only if the node shows that it has not heard of it."""
        del subscribers
        before = await self.state()
        request = ChangeState.Request(transition=Transition(id=_TRANSITIONS[transition]))
        while True:
            try:
                response = await self._ros.call(self._change, request, CHANGE_CHECK)
            except asyncio.TimeoutError:
                after = await self.state()
                if after != before:
                    await self._settled(after)
                    return
                continue
            if not response.success:
                msg = f'{transition} failed in {self._name} (see its log)'
                raise LifecycleError(msg)
            return

    async def _settled(self, state: str) -> None:
        while state.endswith('ing'):
            await asyncio.sleep(ATTEMPT)
            state = await self.state()


async def ask_until_answered(ros: RosThread, client: Any, request: Any) -> Any:
    """Call a service that has no side effect until it answers."""
    while True:
        try:
            return await ros.call(client, request, ATTEMPT)
        except asyncio.TimeoutError:
            continue


class ForeignNode:
    """The way to one incarnation of a node that only speaks ROS."""

    def __init__(self, ros: RosThread, full_name: str) -> None:
        self.driver: ServiceDriver | None = ServiceDriver(ros, full_name)
        self._ros = ros
        self._name = full_name
        self._parameters: Any = ros.node.create_client(GetParameters, f'{full_name}/get_parameters')

    async def wait_ready(self, *, lifecycle: bool | None) -> None:
        """Wait until the node answers; :attr:`driver` is None afterwards if it has no lifecycle.

        Args:
            lifecycle: Whether it has a lifecycle; None finds out.

        Raises:
            LifecycleError: it is said to have a lifecycle and does not answer as such a node.

        """
        if lifecycle is None:
            lifecycle = await self._has_lifecycle()
        elif lifecycle:
            await self._answers_as_lifecycle_node()
        else:
            await self._answers_parameters()
        if not lifecycle:
            self._drop_driver()

    async def prove_life(self) -> None:
        """Wait for an answer of the node's executor, to a question without side effects."""
        if self.driver is None:
            await self._answers_parameters()
        else:
            await self.driver.state()

    def close(self) -> None:
        """Destroy the clients: a new incarnation gets new ones."""
        self._drop_driver()
        self._ros.node.destroy_client(self._parameters)

    def _drop_driver(self) -> None:
        if self.driver is not None:
            self.driver.close()
            self.driver = None

    async def _answers_parameters(self) -> None:
        await ask_until_answered(self._ros, self._parameters, GetParameters.Request())

    async def _answers_as_lifecycle_node(self) -> None:
        try:
            await asyncio.wait_for(self._state(), LIFECYCLE_PATIENCE)
        except asyncio.TimeoutError:
            msg = (
                f'{self._name}/get_state did not answer within {LIFECYCLE_PATIENCE:g} s: '
                'not a lifecycle node; set lifecycle: false'
            )
            raise LifecycleError(msg) from None

    async def _has_lifecycle(self) -> bool:
        """Return whether the node answers get_state, once it answers at all."""
        state = asyncio.ensure_future(self._state())
        plain = asyncio.ensure_future(self._answers_parameters())
        try:
            await asyncio.wait({state, plain}, return_when=asyncio.FIRST_COMPLETED)
            if not state.done() and self._ros.node.count_services(f'{self._name}/get_state'):
                await state
            return state.done()
        finally:
            state.cancel()
            plain.cancel()

    async def _state(self) -> None:
        if self.driver is not None:
            await self.driver.state()


class ForeignNodes:
    """The manager's way to all nodes that only speak ROS."""

    def __init__(self, ros: RosThread) -> None:
        self._ros = ros

    def open(self, node: NodeSpec) -> ForeignNode:
        """Return the way to a new incarnation of a ``ros:`` node."""
        return ForeignNode(self._ros, node.full_name)
