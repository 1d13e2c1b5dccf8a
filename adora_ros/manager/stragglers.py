"""Nodes that go on after the rest of their dataflow has finished (``finish_grace_secs``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Mapping

    from adora_ros.manager.incarnation import Incarnation


class Stragglers:
    """Has a node stopped whose grace is over while no running node can receive anything any more.

    As in dora a node that still receives, or a source, keeps the others from being stopped: they may be busy for it.

    Args:
        live: the current incarnation of each node that has a process.
        loop: the event loop.
        can_receive: whether an input of a node can deliver.
        stop: stops a node by the ladder.

    """

    def __init__(
        self,
        live: Mapping[str, Incarnation],
        loop: asyncio.AbstractEventLoop,
        *,
        can_receive: Callable[[Incarnation], bool],
        stop: Callable[[Incarnation], None],
    ) -> None:
        self._live = live
        self._loop = loop
        self._can_receive = can_receive
        self._stop = stop
        self._drained: dict[str, float] = {}
        self._timer: asyncio.TimerHandle | None = None

    def check(self) -> None:
        """Stop whose time is over, and look again when that of the next one is."""
        self.close()
        now = self._loop.time()
        drained = [node for node, incarnation in self._live.items() if not self._can_receive(incarnation)]
        self._drained = {node: self._drained.get(node, now) for node in drained}
        if len(drained) < len(self._live):
            return
        due = []
        for node, incarnation in tuple(self._live.items()):
            grace = incarnation.spec.finish_grace
            if grace is None or incarnation.is_stopping:
                continue
            if self._drained[node] + grace <= now:
                self._stop(incarnation)
            else:
                due.append(self._drained[node] + grace)
        if due:
            self._timer = self._loop.call_at(min(due), self.check)

    def close(self) -> None:
        """Look no more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
