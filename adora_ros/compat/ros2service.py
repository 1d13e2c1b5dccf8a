"""The services of dora's ROS 2 bridge, on rclpy."""

from __future__ import annotations

import itertools
import queue
from typing import TYPE_CHECKING, Any

from rclpy.task import Future

from adora_ros.compat.ros2waits import take, wait
from adora_ros.errors import AnswerTimeoutError, NodeError
from adora_ros.transport.rosarrow import from_arrow, to_arrow

if TYPE_CHECKING:
    import pyarrow as pa
    from rclpy.node import Node
    from rclpy.qos import QoSProfile

    from adora_ros.transport.rosthread import RosThread

AVAILABLE = 20.0
"""Seconds that a client waits for its service."""
CALL = 30.0
"""Seconds that a call waits unless it says otherwise."""


class Ros2ServiceClient:
    """Calls a service with Arrow values."""

    def __init__(self, node: Node, service_type: type[Any], name: str, qos: QoSProfile) -> None:
        self._type = service_type
        self._name = name
        self._client: Any = node.create_client(service_type, name, qos_profile=qos)
        if not self._client.wait_for_service(AVAILABLE):
            msg = f'service {name} was not there within {AVAILABLE:g} s: start its server first'
            raise NodeError(msg)

    def call(self, request: Any, timeout_s: float | None = None) -> pa.StructArray:
        """Call the service and return its response.

        Args:
            request: a struct array of one row, or a dict of its fields.
            timeout_s: seconds to wait, 30 unless given.

        Raises:
            AnswerTimeoutError: no response came in time.
            TransportError: the request does not fit the service.

        """
        limit = CALL if timeout_s is None else timeout_s
        future = self._client.call_async(from_arrow(request, self._type.Request))
        response = wait(future, limit)
        if response is None:
            self._client.remove_pending_request(future)
            msg = f'service {self._name} did not answer within {limit:g} s'
            raise AnswerTimeoutError(msg)
        return to_arrow(response)


class Ros2ServiceServer:
    """A service whose requests the script takes and answers when it has time."""

    def __init__(self, thread: RosThread, node: Node, service_type: type[Any], name: str, qos: QoSProfile) -> None:
        self._thread = thread
        self._type = service_type
        self._name = name
        self._numbers = itertools.count(1)
        self._requests: queue.SimpleQueue[tuple[int, Any]] = queue.SimpleQueue()
        self._answers: dict[int, Future[Any]] = {}

        async def serve(request: Any, _: Any) -> Any:
            number = next(self._numbers)
            answer: Future[Any] = Future(executor=node.executor)
            self._answers[number] = answer
            self._requests.put((number, request))
            return await answer

        self._service = node.create_service(service_type, name, serve, qos_profile=qos)

    def take_request(self, timeout_s: float | None = None) -> tuple[int, pa.StructArray] | None:
        """Wait for a request, for ``timeout_s`` seconds, 1 unless given.

        Returns:
            The request and its id for :meth:`send_response`, None if there was none in time.

        """
        taken = take(self._requests, timeout_s)
        return None if taken is None else (taken[0], to_arrow(taken[1]))

    def send_response(self, request_id: int, response: Any) -> None:
        """Answer a request with a struct array of one row, or a dict of the fields.

        Raises:
            NodeError: there is no such request, or it has been answered.
            TransportError: the response does not fit the service.

        """
        message = from_arrow(response, self._type.Response)
        answer = self._answers.pop(request_id, None)
        if answer is None:
            msg = f'service {self._name} has no request {request_id} to answer: answer each one once'
            raise NodeError(msg)
        self._thread.resume(answer, message)
