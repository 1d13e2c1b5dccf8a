"""Finds and kills what incarnations leave behind in sessions of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adora_ros.manager.environment import INCARNATION_VARIABLE
from adora_ros.transport.contract import RUN_VARIABLE

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterable

    from adora_ros.manager.processes import Processes

Found = dict[str, tuple[int, ...]]
"""Ids of killed processes by the name of their incarnation."""


class Escaped:
    """Looks at every process of the machine, once for all incarnations that have ended by then."""

    def __init__(self, processes: Processes, mark: str, loop: asyncio.AbstractEventLoop) -> None:
        """Prepare to look.

        Args:
            processes: Where to look.
            mark: What :data:`RUN_VARIABLE` is set to in the processes of the run.
            loop: The event loop.

        """
        self._processes = processes
        self._mark = mark
        self._loop = loop
        self._waiting: dict[str, asyncio.Future[tuple[int, ...]]] = {}
        self._looking: asyncio.Task[None] | None = None

    async def kill(self, incarnation: str) -> tuple[int, ...]:
        """Kill what carries the mark of an incarnation whose process group is gone; return the process ids.

        Args:
            incarnation: The value of :data:`~adora_ros.manager.environment.INCARNATION_VARIABLE`.

        """
        found: asyncio.Future[tuple[int, ...]] = self._loop.create_future()
        self._waiting[incarnation] = found
        if self._looking is None:
            self._looking = self._loop.create_task(self._look())
        return await found

    async def _look(self) -> None:
        try:
            while self._waiting:
                asked, self._waiting = self._waiting, {}
                await self._look_once(asked)
        finally:
            self._looking = None

    async def _look_once(self, asked: dict[str, asyncio.Future[tuple[int, ...]]]) -> None:
        try:
            found = await self._loop.run_in_executor(None, self._kill, frozenset(asked))
        except Exception as error:  # noqa: BLE001 - it goes to those who have asked
            for answer in asked.values():
                answer.set_exception(error)
            return
        for incarnation, answer in asked.items():
            answer.set_result(found.get(incarnation, ()))

    def _kill(self, incarnations: Iterable[str]) -> Found:
        found: Found = {}
        for pid in self._processes.marked({RUN_VARIABLE: self._mark}):
            incarnation = self._processes.variable(pid, INCARNATION_VARIABLE)
            if incarnation is not None and incarnation in incarnations:
                self._processes.kill(pid)
                found[incarnation] = (*found.get(incarnation, ()), pid)
        return found
