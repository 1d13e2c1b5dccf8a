"""Whether an rclpy node takes part: always, or while its lifecycle is active."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rclpy.lifecycle import LifecycleState, ManagedEntity, TransitionCallbackReturn
from rclpy.lifecycle.node import LifecycleNodeMixin

if TYPE_CHECKING:
    from collections.abc import Callable

IDLE_PERIOD = 0.1
"""Seconds between two looks at a lifecycle whose callbacks do not call their base class, and so do not tell."""
TRANSITION_PERIOD = 0.005
"""Seconds between two looks during a transition."""


class Gate(ManagedEntity):
    """Follows the lifecycle of a node.

    rclpy has no way to be told of a state, only of the beginning of a transition, and of that only if the node's
    callbacks call their base class. So the state is read.

    Args:
        node: an rclpy node.
        wake: called, from whatever thread, when a transition begins.

    """

    def __init__(self, node: Any, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._machine: Any = None
        if isinstance(node, LifecycleNodeMixin):
            self._machine = node._state_machine  # noqa: SLF001 - rclpy has no other access to it
            node.add_managed_entity(self)

    @property
    def is_open(self) -> bool:
        """Whether the node has no lifecycle or is active."""
        return self._machine is None or self._label == 'active'

    @property
    def period(self) -> float | None:
        """Seconds after which to look again, None if nothing can change."""
        if self._machine is None:
            return None
        return TRANSITION_PERIOD if self._label.endswith('ing') else IDLE_PERIOD

    @property
    def _label(self) -> str:
        return str(self._machine.current_state[1])

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """See the base class."""
        return self._noticed(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """See the base class."""
        return self._noticed(state)

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """See the base class."""
        return self._noticed(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """See the base class."""
        return self._noticed(state)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """See the base class."""
        return self._noticed(state)

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """See the base class."""
        return self._noticed(state)

    def _noticed(self, state: LifecycleState) -> TransitionCallbackReturn:
        del state
        self._wake()
        return TransitionCallbackReturn.SUCCESS
