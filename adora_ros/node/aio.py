"""Waiting for events in an asyncio loop; a module of its own, since few nodes need to import asyncio."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType

    from adora_ros.node.inbox import Inbox


class Arrivals:
    """Tells the running loop when an inbox gets something, while it is entered.

    Args:
        inbox: the inbox to listen to.

    """

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox
        self._loop = asyncio.get_running_loop()
        self._arrived = asyncio.Event()

    def __enter__(self) -> None:
        self._inbox.add_listener(self._tell)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._inbox.remove_listener(self._tell)

    def _tell(self) -> None:
        self._loop.call_soon_threadsafe(self._arrived.set)

    def clear(self) -> None:
        """Forget what has arrived so far; to be called before the inbox is looked at."""
        self._arrived.clear()

    async def wait(self, timeout: float) -> None:
        """Wait until something arrives, for at most ``timeout`` seconds."""
        try:
            await asyncio.wait_for(self._arrived.wait(), timeout)
        except asyncio.TimeoutError:
            return
