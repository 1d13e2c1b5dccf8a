"""Answers of services that their clients receive although the sender leaves ROS soon after.

A client hears of a response and of its sender's leaving at different sockets, or in shared memory that the sender
removes. When it is slow, it forgets the sender first, and then drops the response and waits for ever. rclpy cannot say
whether a response has been received, so who leaves gives the clients a moment.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rclpy.node import Node

MOMENT = 0.5
"""Seconds that a client has to receive a response."""
POLL = 0.01
"""Seconds between two looks whether a client is still there."""


class Answers:
    """Remembers when the services that are watched have last answered."""

    def __init__(self) -> None:
        self._sent: dict[tuple[Node, str], float] = {}

    def watch(self, node: Node, service: Any) -> None:
        """Remember the answers of one of the services of a node."""
        send = service.send_response

        def send_response(response: Any, header: Any) -> None:
            send(response, header)
            self.note(node, service.srv_name)

        service.send_response = send_response

    def note(self, node: Node, service: str) -> None:
        """Remember that a service of a node answers now."""
        self._sent[node, service] = time.monotonic()

    def settle(self) -> None:
        """Wait until the last answers are :data:`MOMENT` seconds old, or their clients have left."""
        while any(self._is_awaited(node, service, sent) for (node, service), sent in tuple(self._sent.items())):
            time.sleep(POLL)

    @staticmethod
    def _is_awaited(node: Node, service: str, sent: float) -> bool:
        return time.monotonic() < sent + MOMENT and bool(node.count_clients(service))
