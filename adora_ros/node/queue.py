"""The order in which a node is given its messages and events: pure, and for one thread at a time.

Two kinds of items wait here. *Messages* belong to an input and are bounded by its queue size; the oldest makes room.
*Control events* are never dropped. Each has a scope, the inputs that it speaks of, and is ordered with respect to
their messages only: it comes after those that were put before it and before those that were put later. The messages
of other inputs do not hold it up, so that a closed input is known at once however long the other queues are.

Among the inputs the least recently served comes first, as in dora: a fast input cannot starve a slow one.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

MessageT = TypeVar('MessageT')
ControlT = TypeVar('ControlT')


@dataclass(frozen=True)
class _Control(Generic[ControlT]):
    number: int
    event: ControlT
    scope: frozenset[str] | None
    """Ids of inputs; None for all of them."""

    def concerns(self, input_id: str) -> bool:
        return self.scope is None or input_id in self.scope

    def overlaps(self, other: _Control[ControlT]) -> bool:
        if self.scope is None or other.scope is None:
            return True
        return not self.scope.isdisjoint(other.scope)


class EventQueue(Generic[MessageT, ControlT]):
    """Messages by input, and control events.

    Args:
        capacities: how many messages each input holds at most, at least 1.

    """

    def __init__(self, capacities: Mapping[str, int]) -> None:
        self._capacities = dict(capacities)
        self._messages: dict[str, deque[tuple[int, MessageT]]] = {input_id: deque() for input_id in capacities}
        self._turns = list(capacities)
        self._controls: list[_Control[ControlT]] = []
        self._number = 0
        self._last: _Control[ControlT] | None = None
        self._ended = False
        self._dropped = dict.fromkeys(capacities, 0)

    @property
    def ended(self) -> bool:
        """Whether the last event has been taken."""
        return self._ended

    @property
    def finishing(self) -> bool:
        """Whether the last event has been put."""
        return self._last is not None or self._ended

    @property
    def dropped(self) -> Mapping[str, int]:
        """How many messages of each input made room for newer ones."""
        return self._dropped

    def pending(self, input_id: str) -> int:
        """Return how many messages of an input wait."""
        return len(self._messages[input_id])

    def add_input(self, input_id: str, size: int) -> None:
        """Add an input that holds ``size`` messages at most, at least 1."""
        self._capacities[input_id] = size
        self._messages[input_id] = deque()
        self._turns.append(input_id)
        self._dropped[input_id] = 0

    def waiting(self, input_ids: Iterable[str]) -> list[tuple[str, MessageT]]:
        """Return the messages of some inputs that wait, oldest first, each with its input."""
        numbered = [(number, input_id, m) for input_id in input_ids for number, m in self._messages[input_id]]
        return [(input_id, message) for _, input_id, message in sorted(numbered, key=lambda item: item[0])]

    def remove(self, input_id: str, message: MessageT) -> None:
        """Take a message out of its turn, if it still waits."""
        queue = self._messages[input_id]
        self._messages[input_id] = deque(item for item in queue if item[1] is not message)

    def flush(self, input_id: str) -> None:
        """Drop the messages of an input that wait; this does not count as dropped."""
        self._messages[input_id].clear()

    def put(self, input_id: str, message: MessageT) -> bool:
        """Append a message; the oldest of its input makes room if there is none.

        Returns:
            Whether it was taken: after :meth:`finish` nothing is.

        """
        if self._last is not None or self._ended:
            return False
        queue = self._messages[input_id]
        if len(queue) >= self._capacities[input_id]:
            queue.popleft()
            self._dropped[input_id] += 1
        queue.append((self._next_number(), message))
        return True

    def put_control(self, event: ControlT, scope: Collection[str]) -> bool:
        """Append a control event that speaks of the inputs in ``scope``.

        Returns:
            Whether it was taken: after :meth:`finish` nothing is.

        """
        if self.finishing:
            return False
        self._controls.append(_Control(self._next_number(), event, frozenset(scope)))
        return True

    def finish(self, event: ControlT, *, at_once: bool) -> bool:
        """Append the last event, which comes after everything else.

        Args:
            event: the last event; one that still waits is replaced.
            at_once: drop the messages that wait. Control events are still given.

        Returns:
            Whether it will be given: once the last event has been taken nothing more comes.

        """
        if self._ended:
            return False
        if self._last is not None:
            self._controls.remove(self._last)
        if at_once:
            self.discard()
        self._last = _Control(self._next_number(), event, None)
        self._controls.append(self._last)
        return True

    def discard(self) -> None:
        """Drop every message that waits; this does not count as dropped."""
        for queue in self._messages.values():
            queue.clear()

    def empty(self) -> bool:
        """Return whether nothing waits."""
        return not self._controls and not any(self._messages.values())

    def pop(self) -> MessageT | ControlT | None:
        """Take the next item, None if nothing waits."""
        control = (
            next((c for i, c in enumerate(self._controls) if self._is_due(i, c)), None) if self._controls else None
        )
        if control is not None:
            self._controls.remove(control)
            self._ended = self._ended or control is self._last
            return control.event
        for turn, input_id in enumerate(self._turns):
            queue = self._messages[input_id]
            if queue and not (
                self._controls and any(c.number < queue[0][0] for c in self._controls if c.concerns(input_id))
            ):
                self._turns.append(self._turns.pop(turn))
                return queue.popleft()[1]
        return None

    def _is_due(self, index: int, control: _Control[ControlT]) -> bool:
        if any(control.overlaps(earlier) for earlier in self._controls[:index]):
            return False
        scope = self._messages if control.scope is None else control.scope
        return not any(
            queue[0][0] < control.number for queue in (self._messages.get(input_id) for input_id in scope) if queue
        )

    def _next_number(self) -> int:
        self._number += 1
        return self._number
