"""Driving a node's lifecycle: read the state, ask for one transition, read again.

A transition is only asked for in a state in which it is legal, every call has a deadline, and after a failed or
overdue call the state is read again before anything is concluded, since it may have advanced all the same.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from adora_ros.errors import LifecycleError, LifecycleTimeoutError
from adora_ros.transport.contract import ManagerOp
from adora_ros.transport.within import within

if TYPE_CHECKING:
    from adora_ros.manager.control import ControlSocket

TRANSITION_DEADLINE = 30.0
"""Seconds that one transition may take."""
STATE_DEADLINE = 5.0
"""Seconds within which a node has to answer what state it is in."""
POLL = 0.05
"""Seconds between two looks at a node that is in the middle of a transition."""

_REACHED = {
    'configured': {'inactive', 'active'},
    'active': {'active'},
    'inactive': {'inactive', 'unconfigured', 'finalized'},
}
"""The states in which nothing is left to do, for each target."""
_STEPS = {
    ('unconfigured', 'configured'): ('configure', 'inactive'),
    ('unconfigured', 'active'): ('configure', 'inactive'),
    ('inactive', 'active'): ('activate', 'active'),
    ('active', 'inactive'): ('deactivate', 'inactive'),
}
_UNDER_WAY = {'configuring', 'activating', 'deactivating', 'cleaningup', 'errorprocessing'}

Subscribers = Mapping[str, Mapping[str, int]]
"""Full names of the consumers of each output, with the ids of their processes; 0 where one is not known."""


class LifecycleDriver(Protocol):
    """A way to a node's lifecycle."""

    async def state(self) -> str:
        """Return the node's primary or transition state by its ROS name, such as ``inactive``."""

    async def change(self, transition: str, subscribers: Subscribers) -> None:
        """Perform one transition.

        Raises:
            LifecycleError: it failed; the text is the node's own where there is one.

        """


async def drive(
    driver: LifecycleDriver,
    target: str,
    *,
    subscribers: Subscribers | None = None,
    deadline: float = TRANSITION_DEADLINE,
) -> None:
    """Bring a node to ``target`` by legal transitions only.

    Args:
        driver: The way to the node.
        target: ``configured`` (a node that is active already stays so), ``active``, or ``inactive`` (one that never was
            active stays as it is).
        subscribers: The consumers that an activated node waits for, see :data:`Subscribers`.
        deadline: Seconds for each transition.

    Raises:
        LifecycleError: a transition failed or no legal one leads to ``target``.
        LifecycleTimeoutError: a transition or an answer did not come in time.

    """
    tried: set[str] = set()
    while True:
        state = await _settled(driver, deadline)
        if state in _REACHED[target]:
            return
        if (state, target) not in _STEPS:
            msg = f'node is {state}, from where it cannot become {target}'
            raise LifecycleError(msg)
        transition, reached = _STEPS[state, target]
        if transition in tried:
            msg = f'node is {state} again after {transition}'
            raise LifecycleError(msg)
        tried.add(transition)
        await _change(driver, transition, reached, subscribers or {}, deadline)


async def _settled(driver: LifecycleDriver, deadline: float) -> str:
    """Return the primary state that a node is in, or comes to within ``deadline`` seconds."""
    loop = asyncio.get_running_loop()
    give_up = loop.time() + deadline
    while (state := await _state(driver)) in _UNDER_WAY:
        if loop.time() >= give_up:
            msg = f'node is still {state} after {deadline:g} s'
            raise LifecycleTimeoutError(msg)
        await asyncio.sleep(POLL)
    return state


async def _state(driver: LifecycleDriver) -> str:
    try:
        return await within(STATE_DEADLINE, driver.state())
    except asyncio.TimeoutError:
        msg = f'no answer to get_state within {STATE_DEADLINE:g} s'
        raise LifecycleTimeoutError(msg) from None


async def _change(
    driver: LifecycleDriver, transition: str, reached: str, subscribers: Subscribers, deadline: float
) -> None:
    try:
        await within(deadline, driver.change(transition, subscribers))
    except asyncio.TimeoutError:
        if await _state_or_none(driver) == reached:
            return
        msg = f'{transition} did not end within {deadline:g} s'
        raise LifecycleTimeoutError(msg) from None
    except LifecycleError:
        if await _state_or_none(driver) != reached:
            raise


async def _state_or_none(driver: LifecycleDriver) -> str | None:
    try:
        return await _state(driver)
    except LifecycleTimeoutError:
        return None


class ControlDriver:
    """Drives a Node API process over its control socket, which needs no discovery."""

    def __init__(self, control: ControlSocket, loop: asyncio.AbstractEventLoop) -> None:
        self._control = control
        self._loop = loop
        self._ids = itertools.count()
        self._pending: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self.last_state = 'unconfigured'

    async def state(self) -> str:
        """Return the state that the process reported last; it reports every change."""
        return self.last_state

    async def change(self, transition: str, subscribers: Subscribers) -> None:
        """Ask for one transition and wait for the reply."""
        number = next(self._ids)
        reply: asyncio.Future[dict[str, Any]] = self._loop.create_future()
        self._pending[number] = reply
        names = {output: dict(consumers) for output, consumers in subscribers.items()}
        self._control.send(ManagerOp.TRANSITION, id=number, transition=transition, subscribers=names)
        try:
            answer = await reply
        finally:
            del self._pending[number]
        if not answer['ok']:
            raise LifecycleError(answer.get('error') or f'{transition} failed')

    def replied(self, packet: dict[str, Any]) -> None:
        """Take a REPLY from the process; one that nobody waits for any more only tells the state."""
        self.last_state = packet['state']
        reply = self._pending.get(packet['id'])
        if reply is not None and not reply.done():
            reply.set_result(packet)
