"""When the services that restart, stop and start single nodes are offered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adora_ros.manager.events import EventKind

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Sequence

    from adora_ros.dataflow import NodeSpec
    from adora_ros.manager.events import ManagerEvent
    from adora_ros.manager.ros import ManagerNode

PATIENCE = 2.0
"""Seconds after which the services are offered although the dataflow is still starting."""


class Commands:
    """Offers the services once all nodes are up: each of them is work for the discovery of every node.

    Args:
        node: Offers them.
        loop: The event loop, on which everything here is called.

    """

    def __init__(self, node: ManagerNode, loop: asyncio.AbstractEventLoop) -> None:
        self._node = node
        self._loop = loop
        self._nodes: Sequence[NodeSpec] = ()
        self._due: asyncio.TimerHandle | None = None

    def begin(self, nodes: Sequence[NodeSpec]) -> None:
        """Take note of the nodes of a dataflow that is being started."""
        self._nodes = nodes
        self._due = self._loop.call_later(PATIENCE, self._offer)

    def take(self, event: ManagerEvent) -> None:
        """Take one event."""
        if event.kind is EventKind.DATAFLOW_RUNNING:
            self._offer()

    def end(self) -> None:
        """Withdraw them."""
        if self._due is not None:
            self._due.cancel()
            self._due = None
        self._node.withdraw_commands()

    def _offer(self) -> None:
        if self._due is not None:
            self._due.cancel()
            self._due = None
            self._node.offer_commands(self._nodes)
