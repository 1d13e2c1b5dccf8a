"""Lifecycle nodes that say what went wrong."""

from __future__ import annotations

import functools
import traceback
from collections.abc import Callable
from typing import Any

from rclpy.lifecycle import LifecycleNode as RclpyLifecycleNode
from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn

Callback = Callable[[LifecycleState], TransitionCallbackReturn]

_CALLBACKS = ('on_configure', 'on_activate', 'on_deactivate', 'on_cleanup', 'on_shutdown', 'on_error')


class LifecycleNode(RclpyLifecycleNode):
    """A lifecycle node whose failing transitions leave a traceback.

    rclpy drops an exception of a transition callback without a word and only reports that the transition failed.
    Here it is logged, the transition ends as an ERROR just the same, and :attr:`last_error` keeps the last line.
    """

    def __init__(self, node_name: str, **kwargs: Any) -> None:
        self.last_error = ''
        """Last line of the traceback of the last failed transition callback, empty after a successful one."""
        for name in _CALLBACKS:
            setattr(self, name, self._guarded(name, getattr(self, name)))
        super().__init__(node_name, **kwargs)

    def destroy_node(self) -> None:
        """Leave ROS, with the state machine, for as long as which rclpy would keep the participant and its memory."""
        super().destroy_node()
        self._state_machine.destroy_when_not_in_use()

    def on_transition_end(self) -> None:
        """Called after each transition callback, before the new state is entered."""

    def _guarded(self, name: str, callback: Callback) -> Callback:
        @functools.wraps(callback)
        def guarded(state: LifecycleState) -> TransitionCallbackReturn:
            result = TransitionCallbackReturn.ERROR
            error = ''
            try:
                result = callback(state)
            except Exception as exception:  # noqa: BLE001 - whatever it is, it is reported, and the transition fails
                self.get_logger().error(f'{name} failed:\n{traceback.format_exc()}')
                error = ' '.join(''.join(traceback.format_exception_only(exception)).split())
            else:
                if result != TransitionCallbackReturn.SUCCESS:
                    error = f'{name} returned {result.name}'
            if name != 'on_error':
                self.last_error = error
            self.on_transition_end()
            return result

        return guarded
