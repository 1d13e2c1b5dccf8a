"""Numbers the events of a manager and hands them to everybody who wants them."""

from __future__ import annotations

import time
from collections.abc import Callable

from adora_ros.manager.events import EventKind, Level, ManagerEvent

EventListener = Callable[[ManagerEvent], None]


class Journal:
    """The one place where events are made, so that all listeners see the same ones in the same order."""

    def __init__(self) -> None:
        self._seq = 0
        self._listeners: list[EventListener] = []

    def listen(self, listener: EventListener) -> None:
        """Call ``listener`` with every event from now on, on the event loop; it must not block."""
        self._listeners.append(listener)

    def write(
        self,
        kind: EventKind,
        text: str,
        *,
        node: str = '',
        incarnation: int = -1,
        level: Level = Level.INFO,
        **details: object,
    ) -> None:
        """Record an event; the meaning of the arguments is that of :class:`ManagerEvent`'s attributes."""
        self._seq += 1
        event = ManagerEvent(
            seq=self._seq,
            stamp=time.time_ns(),
            level=level,
            kind=kind,
            node=node,
            incarnation=incarnation,
            text=text,
            details={name: str(value) for name, value in details.items()},
        )
        for listener in self._listeners:
            listener(event)
