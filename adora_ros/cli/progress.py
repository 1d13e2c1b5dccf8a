"""The last line of a terminal while a dataflow starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adora_ros.manager.events import EventKind

if TYPE_CHECKING:
    from adora_ros.manager.events import ManagerEvent

ERASE = '\r\x1b[K'
"""Goes to the beginning of the line and erases it."""
_SETTLED = {EventKind.NODE_UP, EventKind.NODE_ENDED}
_OVER = {EventKind.DATAFLOW_RUNNING, EventKind.DATAFLOW_STOPPING, EventKind.DATAFLOW_ENDED}


class ProgressLine:
    """Tells below everything else how many nodes are up, until all are.

    Args:
        is_shown: Whether there is a terminal that shows it.

    """

    def __init__(self, *, is_shown: bool) -> None:
        self._is_shown = is_shown
        self._is_there = False
        self._nodes = 0
        self._settled: set[str] = set()

    def take(self, event: ManagerEvent) -> None:
        """Take one event."""
        if event.kind is EventKind.DATAFLOW_STARTING:
            self._nodes = int(event.details['nodes'])
            self._settled.clear()
        elif event.kind in _OVER:
            self._nodes = 0
        elif event.kind in _SETTLED:
            self._settled.add(event.node)

    def below(self, text: str) -> str:
        """Return what to write so that complete lines are shown, with this line below them."""
        line = f'starting {len(self._settled)}/{self._nodes} ...' if self._nodes and self._is_shown else ''
        erased = ERASE if self._is_there else ''
        self._is_there = bool(line)
        return f'{erased}{text}{line}'
