"""How many processes may be starting at once."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable

PER_CORE = 2
"""Processes that may be starting at once, for each core: more of them only make each other late."""
PATIENCE = 3.0
"""Seconds after which a process counts no more; it may be one that never says that it is up."""


class Admission:
    """Lets those that are about to start pass, the lowest rank first, as long as few enough are starting."""

    def __init__(self, limit: int | None = None, *, patience: float = PATIENCE) -> None:
        """Begin with nobody starting.

        Args:
            limit: How many may be starting at once; by default what the cores are good for.
            patience: Seconds after which one counts no more.

        """
        self._loop = asyncio.get_running_loop()
        self._free = limit or PER_CORE * len(os.sched_getaffinity(0))
        self._patience = patience
        self._order = itertools.count()
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._starting: dict[Hashable, asyncio.TimerHandle] = {}

    async def enter(self, who: Hashable, rank: int) -> None:
        """Wait until ``who`` may start; it counts as starting until :meth:`leave`."""
        turn: asyncio.Future[None] = self._loop.create_future()
        heapq.heappush(self._waiting, (rank, next(self._order), turn))
        self._admit()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._release()
            raise
        self._starting[who] = self._loop.call_later(self._patience, self.leave, who)

    def leave(self, who: Hashable) -> None:
        """Note that ``who`` is up or gone; has no effect on one that does not count."""
        timer = self._starting.pop(who, None)
        if timer is not None:
            timer.cancel()
            self._release()

    def _release(self) -> None:
        self._free += 1
        self._admit()

    def _admit(self) -> None:
        while self._free and self._waiting:
            _, _, turn = heapq.heappop(self._waiting)
            if not turn.done():
                self._free -= 1
                turn.set_result(None)
