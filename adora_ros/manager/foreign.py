"""Nodes that only speak ROS: when they are ready, and the way to their lifecycle."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rcl_interfaces.srv import GetParameters
from type_description_interfaces.srv import GetTypeDescription

from adora_ros.errors import LifecycleError, TransitionFailedError
from adora_ros.manager.lifecycle import TRANSITION_DEADLINE
from adora_ros.transport.within import within

if TYPE_CHECKING:
    from adora_ros.dataflow import NodeSpec
    from adora_ros.manager.lifecycle import Subscribers
    from adora_ros.manager.ros import ManagerThread

ATTEMPT = 0.25
"""Seconds after which an unanswered question is asked again; each time twice as long, up to :data:`LAST_ATTEMPT`.

A request to a server that is gone is lost without a word, and a server that was killed counts as there until its
lease ends; so what has no side effect is simply repeated.
"""
LAST_ATTEMPT = 1.0
"""Seconds between two askings of a node that has not answered for a while: many such nodes must not keep us busy."""
CHANGE_CHECK = 1.0
"""Seconds after which an unanswered transition is looked into."""
LIFECYCLE_PATIENCE = 10.0
"""Seconds within which a node that is said to have a lifecycle has to answer as one."""
SETTLE = 10.0
"""Seconds without a new service of a node after which it counts as completely discovered.

Only for nodes that do not tell what types they use. Discovery brings the services of a node one by one, on a busy
machine with seconds between two, and a lifecycle node taken for a plain one would stay unconfigured for ever.
"""
SETTLE_LIKELY = 30.0
"""The same for a node that uses :data:`LIFECYCLE_TYPE`: one without a lifecycle that listens to those of others."""
TELLS_TYPES = 'start_type_description_service'
"""Parameter of every node since Jazzy: whether it offers ``get_type_description``."""
LOOK = 0.5
"""Seconds between two looks at the services of a node that is being discovered, which take milliseconds each."""
LIFECYCLE_TYPE = 'lifecycle_msgs/msg/TransitionEvent'
"""What every lifecycle node publishes, and hardly any other node uses."""
_TRANSITIONS = {
    'configure': Transition.TRANSITION_CONFIGURE,
    'activate': Transition.TRANSITION_ACTIVATE,
    'deactivate': Transition.TRANSITION_DEACTIVATE,
}


class ServiceDriver:
    """Drives a lifecycle node through its standard services, with clients of its own for each incarnation."""

    def __init__(self, ros: ManagerThread, full_name: str) -> None:
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
            success = await self._ask(request, before)
            if success is not None:
                break
        if not success:
            msg = f'{transition} failed in {self._name}'
            raise TransitionFailedError(msg)

    async def _ask(self, request: ChangeState.Request, before: str) -> bool | None:
        """Ask once; return whether the transition succeeded, None if the node has not heard of it."""
        answer = asyncio.ensure_future(self._ros.call(self._change, request, TRANSITION_DEADLINE))
        try:
            await asyncio.wait({answer}, timeout=CHANGE_CHECK)
            if not answer.done():
                after = await self.state()
                if after != before:
                    return await self._settled(after) != before
                # A node that answers now was busy with the transition until now, or has not heard of it.
                await asyncio.wait({answer}, timeout=ATTEMPT)
            return bool(answer.result().success) if answer.done() else None
        finally:
            answer.cancel()

    async def _settled(self, state: str) -> str:
        while state.endswith('ing'):
            await asyncio.sleep(ATTEMPT)
            state = await self.state()
        return state


def _lifecycle_type_hash(ros: ManagerThread) -> str | None:
    """Return the hash of :data:`LIFECYCLE_TYPE`, which the manager publishes itself, once its own graph shows it."""
    topic = f'{ros.node.get_fully_qualified_name()}/transition_event'
    return next((str(info.topic_type_hash) for info in ros.node.get_publishers_info_by_topic(topic)), None)


async def ask_until_answered(ros: ManagerThread, client: Any, request: Any) -> Any:
    """Call a service that has no side effect until it answers."""
    attempt = ATTEMPT
    while True:
        try:
            return await ros.call(client, request, attempt)
        except asyncio.TimeoutError:
            attempt = min(2 * attempt, LAST_ATTEMPT)


class ForeignNode:
    """The way to one incarnation of a node that only speaks ROS."""

    def __init__(self, ros: ManagerThread, full_name: str, found: dict[str, bool]) -> None:
        self.driver: ServiceDriver | None = ServiceDriver(ros, full_name)
        self._ros = ros
        self._name = full_name
        self._found = found
        self._parameters: Any = ros.node.create_client(GetParameters, f'{full_name}/get_parameters')
        self._types: Any = ros.node.create_client(GetTypeDescription, f'{full_name}/get_type_description')

    async def wait_ready(self, *, lifecycle: bool | None) -> None:
        """Wait until the node answers; :attr:`driver` is None afterwards if it has no lifecycle.

        Args:
            lifecycle: Whether it has a lifecycle; None finds out, once for all incarnations.

        Raises:
            LifecycleError: it is said to have a lifecycle and does not answer as such a node.

        """
        if lifecycle is None:
            lifecycle = self._found.get(self._name)
        if lifecycle is None:
            lifecycle = self._found[self._name] = await self._has_lifecycle()
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
        for client in (self._parameters, self._types):
            self._ros.node.destroy_client(client)

    def _drop_driver(self) -> None:
        if self.driver is not None:
            self.driver.close()
            self.driver = None

    async def _answers_parameters(self) -> None:
        await ask_until_answered(self._ros, self._parameters, GetParameters.Request())

    async def _answers_as_lifecycle_node(self) -> None:
        try:
            await within(LIFECYCLE_PATIENCE, self._state())
        except asyncio.TimeoutError:
            msg = (
                f'{self._name}/get_state did not answer within {LIFECYCLE_PATIENCE:g} s: '
                'not a lifecycle node; set lifecycle: false'
            )
            raise LifecycleError(msg) from None

    async def _has_lifecycle(self) -> bool:
        """Return whether the node has a lifecycle, from its own answers wherever it gives them."""
        state = asyncio.ensure_future(self._state())
        types = asyncio.ensure_future(self._uses_lifecycle_type())
        tells = asyncio.ensure_future(self._tells_types())
        try:
            await self._discover(state, types, tells)
            return state.done()
        finally:
            for question in (state, types, tells):
                question.cancel()

    async def _discover(
        self, state: asyncio.Future[None], types: asyncio.Future[bool], tells: asyncio.Future[bool]
    ) -> None:
        """Wait until the node answers get_state, denies having it, or offers no service that it did not before."""
        loop = asyncio.get_running_loop()
        services, since = self._services(), loop.time()
        while not state.done() and not (types.done() and not types.result()):
            patience = None
            if types.done():
                patience = SETTLE_LIKELY
            elif tells.done() and not tells.result():
                patience = SETTLE
            if patience is not None and services and loop.time() - since > patience:
                return
            open_questions = [question for question in (state, types, tells) if not question.done()]
            await asyncio.wait(open_questions, timeout=LOOK, return_when=asyncio.FIRST_COMPLETED)
            before, services = services, self._services()
            if services != before or f'{self._name}/get_state' in services:
                since = loop.time()

    async def _tells_types(self) -> bool:
        """Return whether the node says that it offers ``get_type_description``."""
        request = GetParameters.Request(names=[TELLS_TYPES])
        answer = await ask_until_answered(self._ros, self._parameters, request)
        return any(value.bool_value for value in answer.values)

    async def _uses_lifecycle_type(self) -> bool:
        """Return whether the node uses a type that belongs to a lifecycle, once it tells."""
        while (type_hash := _lifecycle_type_hash(self._ros)) is None:  # noqa: ASYNC110 - the graph has no event
            await asyncio.sleep(LOOK)
        request = GetTypeDescription.Request(type_name=LIFECYCLE_TYPE, type_hash=type_hash, include_type_sources=False)
        answer = await ask_until_answered(self._ros, self._types, request)
        return bool(answer.successful)

    def _services(self) -> frozenset[str]:
        """Return the services of the node that have been discovered; none before its name has been."""
        namespace, _, name = self._name.rpartition('/')
        try:
            found = self._ros.node.get_service_names_and_types_by_node(name, namespace or '/')
        except RuntimeError:  # NodeNameNonExistentError
            return frozenset()
        return frozenset(service for service, _types in found)

    async def _state(self) -> None:
        if self.driver is not None:
            await self.driver.state()


class ForeignNodes:
    """The manager's way to all nodes that only speak ROS."""

    def __init__(self, ros: ManagerThread) -> None:
        self._ros = ros
        self._found: dict[str, bool] = {}

    def open(self, node: NodeSpec) -> ForeignNode:
        """Return the way to a new incarnation of a ``ros:`` node."""
        return ForeignNode(self._ros, node.full_name, self._found)

    def listens(self, node: NodeSpec, topic: str) -> bool:
        """Return whether a node is seen to subscribe to a topic; after a kill, its predecessor may be what is seen."""
        seen = self._ros.node.get_subscriptions_info_by_topic(topic)
        return any(f'{info.node_namespace.rstrip("/")}/{info.node_name}' == node.full_name for info in seen)
