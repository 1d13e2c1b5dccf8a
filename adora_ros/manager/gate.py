"""The order in which the nodes of a run are activated: when all are configured, sinks first."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


class StartGate:
    """Lets the first activation of each node pass in order.

    It opens when every node has arrived or has been excused, and then passes level after level. A node that failed
    once is excused: its peers do not wait for it any more, neither here nor in their levels.
    """

    def __init__(self, levels: Sequence[Sequence[str]]) -> None:
        """Prepare a closed gate.

        Args:
            levels: Ids of all nodes, sinks first.

        """
        self._levels = tuple(frozenset(level) for level in levels)
        self._absent = set().union(*self._levels)
        self._pending = set(self._absent)
        self._changed = asyncio.Event()

    @property
    def absent(self) -> frozenset[str]:
        """The nodes that everybody is waiting for."""
        return frozenset(self._absent)

    @property
    def is_open(self) -> bool:
        """Whether nobody is waited for any more."""
        return not self._absent

    @property
    def is_passed(self) -> bool:
        """Whether every node was activated or excused."""
        return not self._pending

    async def turn(self, node: str) -> None:
        """Arrive, and wait until ``node`` may be activated."""
        self._leave(self._absent, node)
        while not self._is_turn_of(node):
            self._changed.clear()
            await self._changed.wait()

    def arrived(self, node: str) -> None:
        """Note that a node that somebody else activates has arrived."""
        self._leave(self._absent, node)

    def passed(self, node: str) -> None:
        """Note that ``node`` was activated, or that nobody is to wait for it."""
        self._leave(self._absent, node)
        self._leave(self._pending, node)

    def _leave(self, nodes: set[str], node: str) -> None:
        if node in nodes:
            nodes.discard(node)
            self._changed.set()

    def _is_turn_of(self, node: str) -> bool:
        if self._absent:
            return False
        for level in self._levels:
            if node in level:
                return True
            if level & self._pending:
                return False
        return True
