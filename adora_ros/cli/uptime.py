"""For how long the last incarnation of each node has worked."""

from __future__ import annotations

from adora_ros.manager.events import EventKind, ManagerEvent


class UpTimes:
    """Follows the events of a run. Time is steady, in seconds, and an argument."""

    def __init__(self) -> None:
        self._since: dict[str, float] = {}
        self._total: dict[str, float] = {}

    def take(self, event: ManagerEvent, now: float) -> None:
        """Take note of an event that happened just now."""
        if event.kind in {EventKind.NODE_UP, EventKind.NODE_RESTARTED}:
            self._since[event.node] = now
        elif event.kind is EventKind.NODE_STARTING:
            self._total.pop(event.node, None)
        elif event.kind is EventKind.NODE_EXITED and event.node in self._since:
            self._total[event.node] = now - self._since.pop(event.node)

    def seconds(self, now: float) -> dict[str, float]:
        """Return the seconds by node; a node whose last incarnation never came up is not among them."""
        return {**self._total, **{node: now - since for node, since in self._since.items()}}
