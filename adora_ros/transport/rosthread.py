"""ROS beside an event loop: a context, its nodes, and one thread that only serves them."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import TYPE_CHECKING, Any, TypeVar

from rclpy.context import Context
from rclpy.experimental import EventsExecutor

from adora_ros.transport.answers import Answers
from adora_ros.transport.leaving import leave
from adora_ros.transport.rosinit import start_ros
from adora_ros.transport.within import within

if TYPE_CHECKING:
    from collections.abc import Callable

    from rclpy.executors import Executor
    from rclpy.node import Node
    from rclpy.task import Future

NodeT = TypeVar('NodeT', bound='Node')
T = TypeVar('T')

SPIN = 1.0
"""Seconds that the executor waits at most before it looks whether it is to end."""
LAST_ROUNDS = 4
"""Times that the end goes to the back of the executor's queue, where answers of asynchronous services go, too."""
READY_POLL = 0.02
"""Seconds between two looks whether a service is there."""


class Unanswered(Exception):  # noqa: N818 - it is no error
    """Raised by a service callback that leaves its request without an answer; not in an EventsExecutor."""


class RosThread:
    """A ROS context, nodes in it, and the thread that serves them.

    Args:
        context: A context that is there already and outlives the thread; one of its own unless given.
        executor: Class of the executor. With EventsExecutor, the fastest one, a callback must not be a coroutine that
            raises, which ends the process on Kilted, and a service callback not be a coroutine at all on Jazzy.

    """

    def __init__(self, context: Context | None = None, executor: Callable[..., Executor] = EventsExecutor) -> None:
        self._owns_context = context is None
        self.context = Context() if context is None else context
        if context is None:
            start_ros(self.context)
        self.executor = executor(context=self.context)
        self.answers = Answers()
        """Watches services whose last answers may be followed by the end of the thread."""
        self._nodes: list[Node] = []
        self._closing = False
        self._thread = threading.Thread(target=self._spin, name='adora-ros', daemon=True)

    def add(self, make: Callable[[Context], NodeT]) -> NodeT:
        """Make a node in the context, serve it, and return it."""
        node = make(self.context)
        self._nodes.append(node)
        self.executor.add_node(node)
        return node

    def start(self) -> None:
        """Start to serve."""
        self._thread.start()

    def close(self, timeout: float = 2.0) -> None:
        """End the thread, then the nodes, then the context: in another order the participant stays.

        The last two may be put off, see :func:`adora_ros.transport.leaving.leave`.
        """
        if self._thread.is_alive():
            self.executor.create_task(self._end, LAST_ROUNDS)
            self._thread.join(timeout)
        self.answers.settle()
        self.executor.shutdown()
        leave(self._leave)

    def _leave(self) -> None:
        for node in self._nodes:
            node.destroy_node()
        if self._owns_context:
            with contextlib.suppress(RuntimeError):
                self.context.shutdown()

    def _end(self, rounds: int) -> None:
        self._closing = not rounds
        if rounds:
            self.executor.create_task(self._end, rounds - 1)

    def _spin(self) -> None:
        """Turn the executor; its ``spin()`` would never call anything back."""
        while not self._closing:
            try:
                self.executor.spin_once(SPIN)
            except Unanswered:
                pass
            except Exception as error:  # noqa: BLE001 - a callback that fails must not end the service of all others
                self._nodes[0].get_logger().error(f'callback failed: {error!r}')

    async def settled(self, timeout: float) -> None:
        """Wait, on the event loop, until the callbacks of all that has been received were called.

        Args:
            timeout: Seconds to wait at most.

        """
        loop = asyncio.get_running_loop()
        done = asyncio.Event()
        # What callbacks hand over to the loop comes before this.
        self.executor.create_task(loop.call_soon_threadsafe, done.set)
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(done.wait(), timeout)

    def resume(self, future: Future[T], result: T) -> None:
        """Let the callback go on that awaits ``future``; may be called from any thread."""
        self.executor.create_task(self._resume, future, result)

    def _resume(self, future: Future[T], result: T) -> None:
        if not future.done():
            future.set_result(result)
            self.executor.wake()  # Kilted looks after the callbacks that wait only when it begins to wait itself

    async def call(self, client: Any, request: Any, timeout: float) -> Any:
        """Call a service from the event loop, as soon as it is there.

        Args:
            client: An rclpy client of one of the nodes.
            request: The request.
            timeout: Seconds to wait for the response.

        Raises:
            asyncio.TimeoutError: no response came; the pending request is forgotten.

        """
        return await within(timeout, self._call(client, request))

    async def _call(self, client: Any, request: Any) -> Any:
        while not client.service_is_ready():  # noqa: ASYNC110 - ROS has no event for it
            await asyncio.sleep(READY_POLL)
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Any] = loop.create_future()

        def done(future: Any) -> None:
            loop.call_soon_threadsafe(_settle, answer, future)

        future = client.call_async(request)
        future.add_done_callback(done)
        try:
            return await answer
        finally:
            client.remove_pending_request(future)


def _settle(answer: asyncio.Future[Any], future: Any) -> None:
    if answer.done():
        return
    if future.exception() is not None:
        answer.set_exception(future.exception())
    else:
        answer.set_result(future.result())
