"""An action: the dataflow sends its goals, or pursues them."""

from __future__ import annotations

import functools
import time
import uuid
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from rclpy.action import ActionClient as RclpyClient
from rclpy.action import ActionServer as RclpyServer
from rclpy.action import CancelResponse, GoalResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.task import Future
from unique_identifier_msgs.msg import UUID

from adora_ros.dataflow.bridge import CANCEL
from adora_ros.inputs import InputClosed, NodeRestarted
from adora_ros.node.bridge.link import (
    ANSWER_TIMEOUT,
    LIMIT,
    POLL,
    Overdue,
    interface,
    to_ros,
    without_timestamp,
)
from adora_ros.transport.metadata import ABORTED, CANCELED, FINAL_STATUSES, GOAL_ID, GOAL_STATUS, SUCCEEDED
from adora_ros.transport.qos import qos_profile
from adora_ros.transport.rosactions import STATUSES, settle
from adora_ros.transport.rosarrow import to_arrow

if TYPE_CHECKING:
    from rclpy.node import Node as RosNode

    from adora_ros.inputs import Event, Input
    from adora_ros.node.bridge.link import BridgeNode
    from adora_ros.transport.rosthread import RosThread

RESULT_TIMEOUT = 300.0
"""Seconds without a sign of life of an accepted goal, feedback or result, after which it is given up; as in dora."""
STOP_DEADLINE = 0.5
"""Seconds that the end of a server waits until its goals are aborted."""

ACTION_DEPTH = 10
"""History depth of the services and the feedback of actions in ROS 2."""


def _profiles(spec_qos: Any, feedback: str) -> dict[str, Any]:
    """Return the QoS arguments of an action, none for those of ROS; ``feedback`` is one that both sides name apart."""
    if spec_qos is None:
        return {}
    services = (f'{service}_service_qos_profile' for service in ('goal', 'result', 'cancel'))
    return dict.fromkeys((*services, feedback), qos_profile(spec_qos, depth=ACTION_DEPTH))


@dataclass
class _Sent:
    """A goal that the dataflow has sent."""

    metadata: dict[str, Any]
    """Of the goal, for its feedback and its result."""
    handle: Any = None
    """What rclpy has of the goal, from its acceptance on."""
    asked: Any = None
    """The future that is waited for."""


class ActionClient:
    """Sends each goal, and its feedback and result back with the metadata of the goal."""

    def __init__(self, node: BridgeNode, ros: RosNode) -> None:
        self._node = node
        self._ros: Any = ros
        self._type = interface(node.spec.type)
        profiles = _profiles(node.spec.qos, 'feedback_sub_qos_profile')
        self._client: Any = RclpyClient(ros, self._type, node.spec.name, **profiles)
        self._waiting: deque[tuple[float, Any, dict[str, Any]]] = deque()
        """Deadline, goal and metadata of the goals for which the server is not there yet."""
        self._goals: dict[str, _Sent] = {}
        """By the goal's id in the dataflow."""
        self._due = Overdue()

    def on_input(self, event: Input) -> None:
        """See the protocol."""
        if event.id == self._node.spec.ports.get(CANCEL):
            self._cancel(event.metadata.get(GOAL_ID))
            return
        metadata = without_timestamp(event.metadata)
        goal_id = metadata.setdefault(GOAL_ID, str(uuid.uuid4()))
        goal = to_ros(event.value, self._type.Goal)
        if len(self._waiting) + len(self._goals) >= LIMIT:
            self._node.log_warn(f'{self._name}: {LIMIT} goals are under way, {goal_id} is dropped')
            return
        self._waiting.append((time.monotonic() + ANSWER_TIMEOUT, goal, metadata))
        self._send()

    def on_event(self, event: Event) -> None:
        """See the protocol: nothing else is of interest."""

    def sweep(self, now: float) -> float | None:
        """See the protocol."""
        self._send()
        while self._waiting and self._waiting[0][0] <= now:
            _, _, metadata = self._waiting.popleft()
            self._give_up(metadata, f'there is no action server for {ANSWER_TIMEOUT:g} s')
        for goal_id in self._due.take(now):
            sent = self._goals.pop(goal_id)
            if sent.asked is not None:
                sent.asked.cancel()
            self._give_up(sent.metadata, 'the action server has fallen silent')
        return POLL if self._waiting else self._due.remaining(now)

    def busy(self) -> bool:
        """See the protocol."""
        return bool(self._waiting or self._goals)

    def stop(self) -> None:
        """Cancel what is under way, for nobody is left to receive it."""
        self._cancel(None)

    @property
    def _name(self) -> str:
        return f'action {self._node.spec.name}'

    def _give_up(self, metadata: dict[str, Any], reason: str) -> None:
        """Tell the dataflow that a goal has ended without a result of the server."""
        self._node.log_warn(f'{self._name}: goal {metadata[GOAL_ID]} is given up: {reason}')
        empty = to_arrow(self._type.Result())
        self._node.forward('result', empty, {**metadata, GOAL_STATUS: ABORTED, 'error': reason})

    def _send(self) -> None:
        while self._waiting and self._client.server_is_ready():
            _, goal, metadata = self._waiting.popleft()
            goal_id = str(metadata[GOAL_ID])
            sent = self._goals[goal_id] = _Sent(metadata)
            self._due.set(goal_id, ANSWER_TIMEOUT)
            self._ros.executor.create_task(self._ask, goal_id, goal, sent)

    def _ask(self, goal_id: str, goal: Any, sent: _Sent) -> None:
        """Send a goal, on the ROS thread: elsewhere, the answer may come before rclpy has noted what it belongs to."""
        feedback = functools.partial(self._feedback, goal_id)
        sent.asked = self._client.send_goal_async(goal, feedback, goal_uuid=_ros_id(goal_id))
        sent.asked.add_done_callback(functools.partial(self._accepted, goal_id))

    def _accepted(self, goal_id: str, future: Any) -> None:
        sent = self._goals.get(goal_id)
        if sent is None or future.cancelled():
            return
        if future.exception() is not None or not future.result().accepted:
            self._due.met(goal_id)
            del self._goals[goal_id]
            self._give_up(sent.metadata, str(future.exception() or 'the action server rejects it'))
            return
        self._due.set(goal_id, RESULT_TIMEOUT)
        sent.handle = future.result()
        sent.asked = sent.handle.get_result_async()
        sent.asked.add_done_callback(functools.partial(self._finished, goal_id))

    def _feedback(self, goal_id: str, message: Any) -> None:
        sent = self._goals.get(goal_id)
        if sent is not None:
            self._due.renew(goal_id, RESULT_TIMEOUT)
            self._node.forward('feedback', to_arrow(message.feedback), sent.metadata)

    def _finished(self, goal_id: str, future: Any) -> None:
        sent = self._goals.pop(goal_id, None)
        if sent is None or future.cancelled() or not self._due.met(goal_id):
            return
        if future.exception() is not None:
            self._give_up(sent.metadata, str(future.exception()))
            return
        status = STATUSES.get(future.result().status, ABORTED)
        self._node.forward('result', to_arrow(future.result().result), {**sent.metadata, GOAL_STATUS: status})

    def _cancel(self, goal_id: Any) -> None:
        """Cancel one goal, or all of them."""
        for sent in [self._goals.get(str(goal_id))] if goal_id is not None else list(self._goals.values()):
            if sent is not None and sent.handle is not None:
                self._ros.executor.create_task(sent.handle.cancel_goal_async)


@dataclass(frozen=True)
class _Pursued:
    """A goal that the dataflow pursues."""

    handle: Any
    """rclpy's."""
    ended: Future[tuple[str, Any]]
    """Its status and result."""


class ActionServer:
    """Offers an action; each goal goes out with a ``goal_id``, which its feedback and its result have to carry."""

    def __init__(self, node: BridgeNode, ros: RosNode, thread: RosThread) -> None:
        self._node = node
        self._ros = ros
        self._thread = thread
        self._type = interface(node.spec.type)
        self._goals: dict[str, _Pursued] = {}
        self._result_port = node.spec.ports['result']
        self._server = RclpyServer(
            ros,
            self._type,
            node.spec.name,
            self._execute,
            goal_callback=self._accept,
            cancel_callback=self._cancel,
            callback_group=ReentrantCallbackGroup(),
            **_profiles(node.spec.qos, 'feedback_pub_qos_profile'),
        )

    def on_input(self, event: Input) -> None:
        """See the protocol."""
        goal_id = event.metadata.get(GOAL_ID)
        goal = self._goals.get(str(goal_id))
        if goal is None:
            what = f'for goal `{goal_id}`, which is not under way' if goal_id else f'without the metadata `{GOAL_ID}`'
            self._node.log_warn(f'{self._name}: `{event.id}` {what}, is dropped')
        elif event.id == self._result_port:
            self._end(goal, str(event.metadata.get(GOAL_STATUS, SUCCEEDED)), to_ros(event.value, self._type.Result))
        else:
            goal.handle.publish_feedback(to_ros(event.value, self._type.Feedback))

    def on_event(self, event: Event) -> None:
        """Abort the goals of a handler that is gone, for its successor does not know them."""
        source = self._node.source_node(self._result_port)
        if (isinstance(event, InputClosed) and event.id == self._result_port) or (
            isinstance(event, NodeRestarted) and event.id == source
        ):
            self._abort(f'{source or self._result_port} is gone')

    def sweep(self, now: float) -> float | None:  # noqa: ARG002
        """See the protocol: a goal may take as long as it needs."""
        return None

    def busy(self) -> bool:
        """See the protocol: it is ROS that waits."""
        return False

    def stop(self) -> None:
        """Abort what is under way, so that no client waits for ever."""
        self._abort('the dataflow stops')
        deadline = time.monotonic() + STOP_DEADLINE
        while self._goals and time.monotonic() < deadline:
            time.sleep(0.01)

    @property
    def _name(self) -> str:
        return f'action {self._node.spec.name}'

    def _accept(self, _: Any) -> GoalResponse:
        if len(self._goals) < LIMIT:
            return GoalResponse.ACCEPT
        self._node.log_warn(f'{self._name}: {LIMIT} goals are under way, this one is rejected')
        return GoalResponse.REJECT

    def _cancel(self, handle: Any) -> CancelResponse:
        if CANCEL not in self._node.spec.ports:
            return CancelResponse.REJECT
        goal_id = _dataflow_id(handle)
        self._node.forward(CANCEL, pa.array([goal_id]), {GOAL_ID: goal_id})
        return CancelResponse.ACCEPT

    async def _execute(self, handle: Any) -> Any:
        goal_id = _dataflow_id(handle)
        goal = self._goals[goal_id] = _Pursued(handle, Future(executor=self._thread.executor))
        try:
            self._node.forward('goal', to_arrow(handle.request), {GOAL_ID: goal_id})
            status, result = await goal.ended or (ABORTED, self._type.Result())
        finally:
            del self._goals[goal_id]
        settle(handle, status)
        self._thread.answers.note(self._ros, f'{self._node.spec.name}/_action/get_result')
        return result

    def _end(self, goal: _Pursued, status: str, result: Any) -> None:
        if status not in FINAL_STATUSES:
            self._node.log_warn(f'{self._name}: `{GOAL_STATUS}` is {status!r}, taken as {ABORTED!r}')
        elif status == CANCELED and not goal.handle.is_cancel_requested:
            self._node.log_warn(f'{self._name}: nobody has asked to cancel the goal, so it counts as {ABORTED!r}')
        self._thread.resume(goal.ended, (status, result))

    def _abort(self, reason: str) -> None:
        for goal_id, goal in list(self._goals.items()):
            self._node.log_warn(f'{self._name}: goal {goal_id} is aborted: {reason}')
            self._thread.resume(goal.ended, (ABORTED, self._type.Result()))


def _ros_id(goal_id: str) -> UUID:
    """Return the id of a goal in ROS: the same if it is a UUID."""
    try:
        known = uuid.UUID(goal_id)
    except ValueError:
        known = uuid.uuid4()
    return UUID(uuid=np.frombuffer(known.bytes, np.uint8))


def _dataflow_id(handle: Any) -> str:
    return str(uuid.UUID(bytes=bytes(handle.goal_id.uuid)))
