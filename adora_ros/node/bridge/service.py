"""A service: the dataflow calls it, or answers its calls."""

from __future__ import annotations

import functools
import time
import uuid
from collections import deque
from typing import TYPE_CHECKING, Any

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.task import Future

from adora_ros.node.bridge.link import (
    ANSWER_TIMEOUT,
    LIMIT,
    POLL,
    Overdue,
    interface,
    to_ros,
    without_timestamp,
)
from adora_ros.transport.metadata import REQUEST_ID
from adora_ros.transport.qos import qos_profile
from adora_ros.transport.rosarrow import to_arrow
from adora_ros.transport.rosthread import RosThread, Unanswered

if TYPE_CHECKING:
    from rclpy.node import Node as RosNode

    from adora_ros.inputs import Event, Input
    from adora_ros.node.bridge.link import BridgeNode

SERVICE_DEPTH = 10
"""History depth of services in ROS 2."""


class ServiceClient:
    """Calls a service for each request, and sends each response with the metadata of its request."""

    def __init__(self, node: BridgeNode, ros: RosNode) -> None:
        self._node = node
        self._type = interface(node.spec.type)
        qos = qos_profile(node.spec.qos, depth=SERVICE_DEPTH)
        self._client: Any = ros.create_client(self._type, node.spec.name, qos_profile=qos)
        self._waiting: deque[tuple[float, Any, dict[str, Any]]] = deque()
        """Deadline, request and metadata of the calls for which the service is not there yet."""
        self._calls = Overdue()

    def on_input(self, event: Input) -> None:
        """See the protocol."""
        request = to_ros(event.value, self._type.Request)
        if len(self._waiting) + len(self._calls) >= LIMIT:
            self._node.log_warn(f'{self._name}: {LIMIT} calls are under way, this one is dropped')
            return
        self._waiting.append((time.monotonic() + ANSWER_TIMEOUT, request, without_timestamp(event.metadata)))
        self._call()

    def on_event(self, event: Event) -> None:
        """See the protocol: nothing else is of interest."""

    def sweep(self, now: float) -> float | None:
        """See the protocol."""
        self._call()
        while self._waiting and self._waiting[0][0] <= now:
            self._waiting.popleft()
            self._node.log_warn(f'{self._name}: there is no such service for {ANSWER_TIMEOUT:g} s, a call is given up')
        for future in self._calls.take(now):
            self._client.remove_pending_request(future)
            self._node.log_warn(f'{self._name}: no response within {ANSWER_TIMEOUT:g} s, the call is given up')
        return POLL if self._waiting else self._calls.remaining(now)

    def busy(self) -> bool:
        """See the protocol."""
        return bool(self._waiting or self._calls)

    def stop(self) -> None:
        """See the protocol: nobody waits."""

    @property
    def _name(self) -> str:
        return f'service {self._node.spec.name}'

    def _call(self) -> None:
        while self._waiting and self._client.service_is_ready():
            _, request, metadata = self._waiting.popleft()
            future = self._client.call_async(request)
            self._calls.set(future, ANSWER_TIMEOUT)
            future.add_done_callback(functools.partial(self._respond, metadata))

    def _respond(self, metadata: dict[str, Any], future: Any) -> None:
        if self._calls.met(future) and future.exception() is None:
            self._node.forward('response', to_arrow(future.result()), metadata)


class ServiceServer:
    """Offers a service; each request goes out with a ``request_id``, which its response has to carry."""

    def __init__(self, node: BridgeNode, ros: RosNode, thread: RosThread) -> None:
        self._node = node
        self._thread = thread
        self._type = interface(node.spec.type)
        self._futures: dict[str, Future[Any]] = {}
        self._due = Overdue()
        qos = qos_profile(node.spec.qos, depth=SERVICE_DEPTH)
        many = ReentrantCallbackGroup()
        service = ros.create_service(self._type, node.spec.name, self._serve, qos_profile=qos, callback_group=many)
        thread.answers.watch(ros, service)

    def on_input(self, event: Input) -> None:
        """See the protocol."""
        request_id = event.metadata.get(REQUEST_ID)
        if request_id not in self._futures:
            what = f'for `{request_id}`, which waits for none' if request_id else f'without the metadata `{REQUEST_ID}`'
            self._node.log_warn(f'{self._name}: a response {what}, is dropped')
            return
        response = to_ros(event.value, self._type.Response)
        if self._due.met(request_id):
            self._thread.resume(self._futures[request_id], response)

    def on_event(self, event: Event) -> None:
        """See the protocol: nothing else is of interest."""

    def sweep(self, now: float) -> float | None:
        """See the protocol."""
        for request_id in self._due.take(now):
            self._node.log_warn(f'{self._name}: no response within {ANSWER_TIMEOUT:g} s, a request stays unanswered')
            self._thread.resume(self._futures[request_id], None)
        return self._due.remaining(now)

    def busy(self) -> bool:
        """See the protocol: it is ROS that waits."""
        return False

    def stop(self) -> None:
        """See the protocol; a service has no way to refuse a request."""

    @property
    def _name(self) -> str:
        return f'service {self._node.spec.name}'

    async def _serve(self, request: Any, _: Any) -> Any:
        if len(self._futures) >= LIMIT:
            self._node.log_warn(f'{self._name}: {LIMIT} requests wait, this one stays unanswered')
            raise Unanswered
        request_id = str(uuid.uuid4())
        future = self._futures[request_id] = Future(executor=self._thread.executor)
        self._due.set(request_id, ANSWER_TIMEOUT)
        try:
            self._node.forward('request', to_arrow(request), {REQUEST_ID: request_id})
            response = await future
        finally:
            del self._futures[request_id]
        if response is None:
            raise Unanswered
        return response
