"""A ROS node such as anybody may write: what stock tools see of a dataflow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from diagnostic_msgs.msg import DiagnosticArray
from lifecycle_msgs.srv import ChangeState, GetState
from std_srvs.srv import Trigger

from spinning import LATCHED, SpinningNode
from support import eventually

if TYPE_CHECKING:
    from collections.abc import Callable

    from rclpy.qos import QoSProfile

DEADLINE = 20.0


class Observer(SpinningNode):
    """What anybody's node can see of a dataflow and ask of it."""

    def __init__(self, domain: int) -> None:
        super().__init__('observer', domain)

    def listen(self, kind: Any, topic: str, qos: QoSProfile | int = 10) -> list[Any]:
        """Subscribe; the list that is returned grows with the messages."""
        messages: list[Any] = []
        self.node.create_subscription(kind, topic, messages.append, qos)
        return messages

    def diagnostics(self, topic: str, qos: QoSProfile | int = LATCHED) -> list[Any]:
        """Listen to diagnostic arrays."""
        return self.listen(DiagnosticArray, topic, qos)

    def state(self, node: str) -> str:
        """Return the lifecycle state of a node."""
        request, service = GetState.Request(), f'{node}/get_state'
        answer = eventually(lambda: self.call(GetState, service, request, timeout=0.5), DEADLINE, service)
        return str(answer.current_state.label)

    def change_state(self, node: str, transition: int) -> bool:
        """Ask for a lifecycle transition; return whether it succeeded."""
        request = ChangeState.Request()
        request.transition.id = transition
        return bool(self.call(ChangeState, f'{node}/change_state', request).success)

    def trigger(self, service: str) -> Any:
        """Call a ``std_srvs/Trigger``."""
        return self.call(Trigger, service, Trigger.Request())

    def call(self, kind: Any, service: str, request: Any, timeout: float = DEADLINE) -> Any:
        """Call a service as soon as it is there and return its response.

        A request that goes to a server which was killed is lost: give a small ``timeout`` and ask again.
        """
        client: Any = self.node.create_client(kind, service)
        try:
            assert client.wait_for_service(DEADLINE), f'{service} is not there'
            future = client.call_async(request)
            eventually(future.done, timeout, service)
            return future.result()
        finally:
            self.node.destroy_client(client)


def values(message: Any, name: str) -> dict[str, str]:
    """Return the values of one status in a diagnostic array with its level and message; empty if it is not there."""
    for status in message.status:
        if status.name == name:
            pairs = {pair.key: pair.value for pair in status.values}
            return {**pairs, 'level': str(status.level[0]), 'message': status.message}
    return {}


def last(messages: list[Any], name: str, matches: Callable[[dict[str, str]], bool]) -> dict[str, str]:
    """Wait until the newest message shows a node as wanted, and return its values."""

    def find() -> dict[str, str] | None:
        found = values(messages[-1], name) if messages else {}
        assert found, 'nothing seen'
        assert matches(found), f'last seen: {found}'
        return found

    return eventually(find, DEADLINE) or {}
