"""The state and the last value of each input, for a node that degrades instead of stopping."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from adora_ros.inputs.events import Event, Input, InputClosed, InputRecovered, InputState, NodeRestarted, from_dict


class InputTracker:
    """Remembers for each input whether it is healthy and what it delivered last.

    Feed it every event of the node's loop; then ask it. An input that was not named in advance is known from its
    first event on.

    Args:
        inputs: ids of inputs that are ``WAITING`` from the start.
        sources: id of the source node per input id. With it a NodeRestarted makes the closed inputs that this node
            feeds healthy again, until silence closes them anew; the inputs it names are ``WAITING`` from the start.
        clock: a steady clock in seconds, for :meth:`age`.

    """

    def __init__(
        self,
        inputs: Iterable[str] = (),
        *,
        sources: Mapping[str, str] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """See the class."""
        self._sources = dict(sources or {})
        self._clock = clock
        self._states = dict.fromkeys((*inputs, *self._sources), InputState.WAITING)
        self._values: dict[str, Any] = {}
        self._times: dict[str, float] = {}

    def process_event(self, event: Event | Mapping[str, Any]) -> bool:
        """Take note of an event, typed or as a dict in dora's shape.

        Returns:
            Whether it concerned inputs: Input, InputClosed, InputRecovered or NodeRestarted, as in dora.

        """
        typed = from_dict(event) if isinstance(event, Mapping) else event
        if isinstance(typed, Input):
            self._states[typed.id] = InputState.HEALTHY
            self._received(typed.id, typed.value, self._clock())
        elif isinstance(typed, InputClosed):
            self._states[typed.id] = InputState.CLOSED
        elif isinstance(typed, InputRecovered):
            self._states[typed.id] = InputState.HEALTHY
        elif isinstance(typed, NodeRestarted):
            self._restarted(typed.id)
        else:
            return False
        return True

    def _received(self, input_id: str, value: Any, now: float) -> None:
        self._values[input_id] = value
        self._times[input_id] = now

    def _restarted(self, node_id: str) -> None:
        for input_id, source in self._sources.items():
            if source == node_id and self._states[input_id] is InputState.CLOSED:
                self._states[input_id] = InputState.HEALTHY

    def state(self, input_id: str) -> InputState | None:
        """Return the state of an input, None if it is unknown."""
        return self._states.get(input_id)

    def is_closed(self, input_id: str) -> bool:
        """Return whether an input is known and closed."""
        return self._states.get(input_id) is InputState.CLOSED

    def last_value(self, input_id: str) -> Any:
        """Return the last value of an input, closed or not; None if it never had one."""
        return self._values.get(input_id)

    def closed_inputs(self) -> tuple[str, ...]:
        """Return the ids of the closed inputs, in the order in which they became known."""
        return tuple(i for i, state in tuple(self._states.items()) if state is InputState.CLOSED)

    def any_closed(self) -> bool:
        """Return whether any input is closed."""
        return InputState.CLOSED in tuple(self._states.values())

    def age(self, input_id: str) -> float | None:
        """Return the seconds since the last value of an input, None if it never had one."""
        received = self._times.get(input_id)
        return None if received is None else self._clock() - received

    def is_fresh(self, input_id: str, max_age: float) -> bool:
        """Return whether the last value of an input is at most ``max_age`` seconds old, closed or not."""
        age = self.age(input_id)
        return age is not None and age <= max_age
