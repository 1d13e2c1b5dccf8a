"""The actions of dora's ROS 2 bridge, on rclpy."""

from __future__ import annotations

import queue
import threading
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from action_msgs.msg import GoalInfo
from action_msgs.srv import CancelGoal
from rclpy.action import ActionClient, ActionServer, CancelResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.task import Future
from unique_identifier_msgs.msg import UUID

from adora_ros.compat.ros2waits import keep, take, wait
from adora_ros.errors import AnswerTimeoutError, NodeError
from adora_ros.transport.metadata import ABORTED, SUCCEEDED
from adora_ros.transport.rosactions import STATUSES, settle
from adora_ros.transport.rosarrow import from_arrow, to_arrow

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa
    from rclpy.node import Node
    from rclpy.qos import QoSProfile

    from adora_ros.transport.rosthread import RosThread

ACCEPTANCE = 30.0
"""Seconds that a client waits for the acceptance of a goal unless it says otherwise."""
RESULT = 300.0
"""Seconds that a client waits for a result unless it says otherwise."""
CANCELLATION = 10.0
"""Seconds that a client waits for the answer to a cancellation unless it says otherwise."""


@dataclass
class _Pursuit:
    """A goal that a server has accepted."""

    handle: Any
    feedback: queue.SimpleQueue[Any]
    result: Any = None
    """The future of the result, once somebody asked for it."""


class Ros2ActionClient:
    """Sends goals with Arrow values."""

    def __init__(self, node: Node, action_type: type[Any], name: str, qos: QoSProfile) -> None:
        self._node: Any = node
        self._type = action_type
        self._name = name
        self._client: Any = ActionClient(
            node,
            action_type,
            name,
            goal_service_qos_profile=qos,
            result_service_qos_profile=qos,
            cancel_service_qos_profile=qos,
            feedback_sub_qos_profile=qos,
        )
        self._canceller: Any = node.create_client(CancelGoal, f'{name}/_action/cancel_goal', qos_profile=qos)
        self._goals: dict[str, _Pursuit] = {}

    def send_goal(self, goal: Any, timeout_s: float | None = None) -> str | None:
        """Send a goal and return its id, None if the server rejects it.

        Args:
            goal: a struct array of one row, or a dict of its fields.
            timeout_s: seconds to wait, 30 unless given.

        Raises:
            AnswerTimeoutError: no server took the goal or refused it in time.
            TransportError: the goal does not fit the action.

        """
        limit = ACCEPTANCE if timeout_s is None else timeout_s
        message = from_arrow(goal, self._type.Goal)
        if not self._client.wait_for_server(limit):
            msg = f'action {self._name} has no server within {limit:g} s'
            raise AnswerTimeoutError(msg)
        feedback: queue.SimpleQueue[Any] = queue.SimpleQueue()
        accepted = self._ask(
            lambda: self._client.send_goal_async(message, feedback_callback=lambda told: keep(feedback, told.feedback))
        )
        handle = None if accepted is None else wait(accepted, limit)
        if handle is None:
            msg = f'action {self._name} did not answer within {limit:g} s'
            raise AnswerTimeoutError(msg)
        if not handle.accepted:
            return None
        goal_id = bytes(handle.goal_id.uuid).hex()
        self._goals[goal_id] = _Pursuit(handle, feedback)
        return goal_id

    def take_feedback(self, goal_id: str, timeout_s: float | None = None) -> pa.StructArray | None:
        """Wait for feedback on a goal, for ``timeout_s`` seconds, 1 unless given; None if there is none in time.

        Raises:
            NodeError: there is no such goal.

        """
        message = take(self._goal(goal_id).feedback, timeout_s)
        return None if message is None else to_arrow(message)

    def take_result(self, goal_id: str, timeout_s: float | None = None) -> tuple[str, pa.StructArray] | None:
        """Wait for the result of a goal, for ``timeout_s`` seconds, 300 unless given.

        Returns:
            ``succeeded``, ``aborted`` or ``canceled``, and the result; None if it did not come in time.

        Raises:
            NodeError: there is no such goal.

        """
        goal = self._goal(goal_id)
        if goal.result is None:
            goal.result = self._ask(goal.handle.get_result_async)
        answer = None if goal.result is None else wait(goal.result, RESULT if timeout_s is None else timeout_s)
        if answer is None:
            return None
        del self._goals[goal_id]
        return STATUSES.get(answer.status, ABORTED), to_arrow(answer.result)

    def cancel(self, goal_id: str | None = None, timeout_s: float | None = None) -> int:
        """Ask the server to cancel a goal, or all.

        Returns:
            The code of ``action_msgs/srv/CancelGoal``: 0 accepted, 1 rejected, 2 unknown goal, 3 already ended.

        Raises:
            AnswerTimeoutError: the server did not answer within ``timeout_s`` seconds, 10 unless given.
            NodeError: no goal can have that id.

        """
        try:
            which = UUID() if goal_id is None else UUID(uuid=list(uuid.UUID(goal_id).bytes))
        except ValueError as error:
            msg = f'action {self._name} has no goal {goal_id!r}: give an id that send_goal() returned'
            raise NodeError(msg) from error
        request = CancelGoal.Request(goal_info=GoalInfo(goal_id=which))
        limit = CANCELLATION if timeout_s is None else timeout_s
        future = self._canceller.call_async(request)
        response = wait(future, limit)
        if response is None:
            self._canceller.remove_pending_request(future)
            msg = f'action {self._name} did not answer within {limit:g} s'
            raise AnswerTimeoutError(msg)
        return int(response.return_code)

    def _ask(self, request: Callable[[], Any]) -> Any:
        """Make a request on the ROS thread, and return the future of its answer; None if the thread is busy for long.

        Elsewhere, the answer may come before rclpy has noted what it belongs to.
        """
        return wait(self._node.executor.create_task(request), ACCEPTANCE)

    def _goal(self, goal_id: str) -> _Pursuit:
        if goal_id not in self._goals:
            msg = f'action {self._name} has no goal {goal_id}: it was not accepted, or its result has been taken'
            raise NodeError(msg)
        return self._goals[goal_id]


@dataclass
class _Accepted:
    """A goal that this server pursues."""

    handle: Any
    ended: Any
    """The future of its status and result."""
    delivered: threading.Event = field(default_factory=threading.Event)


class Ros2ActionServer:
    """An action whose goals the script takes and pursues when it has time; all are accepted."""

    def __init__(self, thread: RosThread, node: Node, action_type: type[Any], name: str, qos: QoSProfile) -> None:
        self._thread = thread
        self._type = action_type
        self._name = name
        self._new: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._cancelled: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._goals: dict[str, _Accepted] = {}
        self._server: Any = ActionServer(
            node,
            action_type,
            name,
            self._pursue,
            callback_group=ReentrantCallbackGroup(),
            cancel_callback=self._cancel,
            goal_service_qos_profile=qos,
            result_service_qos_profile=qos,
            cancel_service_qos_profile=qos,
            feedback_pub_qos_profile=qos,
        )

    def take_goal(self, timeout_s: float | None = None) -> tuple[str, pa.StructArray] | None:
        """Wait for a goal, for ``timeout_s`` seconds, 1 unless given; return its id and value, None if none comes."""
        goal_id = take(self._new, timeout_s)
        return None if goal_id is None else (goal_id, to_arrow(self._goals[goal_id].handle.request))

    def send_feedback(self, goal_id: str, feedback: Any) -> None:
        """Publish feedback on a goal.

        Raises:
            NodeError: there is no such goal, or it has ended.
            TransportError: the feedback does not fit the action.

        """
        self._goal(goal_id).handle.publish_feedback(from_arrow(feedback, self._type.Feedback))

    def send_result(self, goal_id: str, result: Any, status: str | None = None, timeout_s: float | None = None) -> None:
        """End a goal.

        Args:
            goal_id: as given by :meth:`take_goal`.
            result: a struct array of one row, or a dict of its fields.
            status: ``succeeded`` unless given, ``canceled``; anything else is ``aborted``.
            timeout_s: seconds to wait until ROS has the result, 300 unless given.

        Raises:
            NodeError: there is no such goal, or it has ended.
            TransportError: the result does not fit the action.

        """
        goal = self._goal(goal_id)
        message = from_arrow(result, self._type.Result)
        self._thread.resume(goal.ended, (status or SUCCEEDED, message))
        goal.delivered.wait(RESULT if timeout_s is None else timeout_s)

    def take_cancel(self, timeout_s: float | None = None) -> list[str] | None:
        """Wait for cancellations, for ``timeout_s`` seconds, 1 unless given; return the goals, None if none comes."""
        first = take(self._cancelled, timeout_s)
        if first is None:
            return None
        goals = [first]
        while (another := take(self._cancelled, 0.0)) is not None:
            goals.append(another)
        return goals

    async def _pursue(self, handle: Any) -> Any:
        goal_id = bytes(handle.goal_id.uuid).hex()
        goal = self._goals[goal_id] = _Accepted(handle, Future(executor=self._thread.executor))
        self._new.put(goal_id)
        status, result = await goal.ended
        settle(handle, status)
        del self._goals[goal_id]
        goal.delivered.set()
        return result

    def _cancel(self, handle: Any) -> CancelResponse:
        self._cancelled.put(bytes(handle.goal_id.uuid).hex())
        return CancelResponse.ACCEPT

    def _goal(self, goal_id: str) -> _Accepted:
        goal = self._goals.get(goal_id)
        if goal is None:
            msg = f'action {self._name} pursues no goal {goal_id}: end each one once'
            raise NodeError(msg)
        return goal
