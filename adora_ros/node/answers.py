"""Waiting for the answer to one question without disturbing the order of everything else."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from adora_ros.errors import AnswerTimeoutError
from adora_ros.inputs import Event, Input
from adora_ros.transport.metadata import FINAL_STATUSES, GOAL_ID, GOAL_STATUS, REQUEST_ID

if TYPE_CHECKING:
    from collections.abc import Callable

    from adora_ros.node.inbox import Inbox
    from adora_ros.node.items import Message

REMEMBERED = 1024
"""Questions of which it is known when they were asked."""


def is_response(metadata: Mapping[str, Any], request_id: str) -> bool:
    """Return whether a message with this metadata is the response to a request."""
    return metadata.get(REQUEST_ID) == request_id


def is_result(metadata: Mapping[str, Any], goal_id: str) -> bool:
    """Return whether a message with this metadata is the result of a goal; feedback is none."""
    return metadata.get(GOAL_ID) == goal_id and metadata.get(GOAL_STATUS) in FINAL_STATUSES


class Answers:
    """Finds answers among what has arrived.

    A restart of the server counts from the question on, whether or not its event has been taken from the queue.

    Args:
        inbox: where the answers arrive.
        open_message: decodes a message; None for a repeated one.
        alive: is called while waiting, as proof of life.
        interval: longest time in seconds between two such calls.

    """

    def __init__(
        self, inbox: Inbox, open_message: Callable[[Message], Event | None], alive: Callable[[], None], interval: float
    ) -> None:
        self._inbox = inbox
        self._open = open_message
        self._alive = alive
        self._interval = interval
        self._asked: OrderedDict[str, int] = OrderedDict()

    def note(self, metadata: object) -> None:
        """Remember when a question was asked, if a message with this metadata, of whatever type, is one."""
        if not isinstance(metadata, Mapping):
            return
        for key in (REQUEST_ID, GOAL_ID):
            question = metadata.get(key)
            if isinstance(question, str):
                self._asked.setdefault(question, self._inbox.mark())
                if len(self._asked) > REMEMBERED:
                    self._asked.popitem(last=False)

    def wait(
        self, question: str, server: str, matches: Callable[[Mapping[str, Any], str], bool], deadline: float
    ) -> Input:
        """Return the answer to a question, out of its turn; everything else stays where it is.

        Args:
            question: id of the request or goal.
            server: id of the node that was asked.
            matches: whether a message with some metadata is the answer.
            deadline: on the steady clock.

        Raises:
            AnswerTimeoutError: it did not come in time.
            ServerRestartedError: the server was restarted since the question.
            ServerEndedError: the server ended, or the dataflow stops.
            NodeError: no input of this node comes from ``server``.

        """
        since = self._asked.get(question, self._inbox.mark())
        while True:
            self._alive()
            mark, messages, loss = self._inbox.waiting(server, since)
            for message in messages:
                event = self._open(message)
                if isinstance(event, Input) and matches(event.metadata, question):
                    self._inbox.withdraw(message)
                    self._asked.pop(question, None)
                    return event
            if loss is not None:
                raise loss
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                msg = f'node `{server}` did not answer {question} in time'
                raise AnswerTimeoutError(msg)
            self._inbox.wait_beyond(mark, min(remaining, self._interval))
