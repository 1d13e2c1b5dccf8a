"""Handlers of what happens in a dataflow, for ``RegisterEventHandler``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from launch.event_handlers.on_action_event_base import OnActionEventBase

from adora_ros.launch.actions import Dataflow
from adora_ros.launch.events import DataflowFinished, InputClosed, NodeFailed, NodeRestarted

if TYPE_CHECKING:
    from collections.abc import Callable

    from launch import Event

    from adora_ros.launch.events import DataflowEvent

    Target = Dataflow | Callable[[Dataflow], bool] | None
    Act = Any


class _OnDataflowEvent(OnActionEventBase):  # type: ignore[misc]
    """Handles one kind of event of one dataflow or of all."""

    def __init__(self, kind: type[DataflowEvent], target: Target, act: Act, node: str | None, **options: Any) -> None:
        super().__init__(
            action_matcher=target, on_event=act, target_event_cls=kind, target_action_cls=Dataflow, **options
        )
        self._node = node

    def matches(self, event: Event) -> bool:
        """Return whether the event is to be handled."""
        return super().matches(event) and self._node in {None, event.node}


class OnNodeRestarted(_OnDataflowEvent):
    """Handles :class:`adora_ros.launch.events.NodeRestarted`."""

    def __init__(
        self, *, on_restarted: Act, target_action: Target = None, node: str | None = None, **options: Any
    ) -> None:
        """Prepare the handler.

        Args:
            on_restarted: Actions, or a function of event and context that returns some.
            target_action: The dataflow, or a function that says whether it is one; by default any.
            node: Id of the node; by default any.
            options: As for :class:`launch.event_handlers.OnProcessExit`.

        """
        super().__init__(NodeRestarted, target_action, on_restarted, node, **options)


class OnNodeFailed(_OnDataflowEvent):
    """Handles :class:`adora_ros.launch.events.NodeFailed`."""

    def __init__(
        self, *, on_failed: Act, target_action: Target = None, node: str | None = None, **options: Any
    ) -> None:
        """Prepare the handler; the arguments are as for :class:`OnNodeRestarted`."""
        super().__init__(NodeFailed, target_action, on_failed, node, **options)


class OnInputClosed(_OnDataflowEvent):
    """Handles :class:`adora_ros.launch.events.InputClosed`."""

    def __init__(
        self,
        *,
        on_closed: Act,
        target_action: Target = None,
        node: str | None = None,
        input_id: str | None = None,
        **options: Any,
    ) -> None:
        """Prepare the handler.

        Args:
            on_closed: Actions, or a function of event and context that returns some.
            target_action: The dataflow, or a function that says whether it is one; by default any.
            node: Id of the node that has the input; by default any.
            input_id: Id of the input; by default any.
            options: As for :class:`launch.event_handlers.OnProcessExit`.

        """
        super().__init__(InputClosed, target_action, on_closed, node, **options)
        self._input = input_id

    def matches(self, event: Event) -> bool:
        """Return whether the event is to be handled."""
        return super().matches(event) and self._input in {None, event.input}


class OnDataflowFinished(_OnDataflowEvent):
    """Handles :class:`adora_ros.launch.events.DataflowFinished`."""

    def __init__(self, *, on_finished: Act, target_action: Target = None, **options: Any) -> None:
        """Prepare the handler; the arguments are as for :class:`OnNodeRestarted`."""
        super().__init__(DataflowFinished, target_action, on_finished, None, **options)
