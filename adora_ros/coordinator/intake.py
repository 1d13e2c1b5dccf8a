"""From the thread that receives to the one that owns the records: what comes at once is taken at once."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable
    from contextlib import AbstractContextManager


class Intake:
    """Hands texts over to an event loop, in order.

    Args:
        loop: The event loop.
        together: Returns what all that has come by a moment is taken within.

    """

    def __init__(self, loop: asyncio.AbstractEventLoop, together: Callable[[], AbstractContextManager[None]]) -> None:
        self._loop = loop
        self._together = together
        self._texts: deque[tuple[Callable[[str], None], str]] = deque()
        self._is_woken = False

    def handing(self, take: Callable[[str], None]) -> Callable[[str], None]:
        """Return what hands a text over, on the one thread that receives, to be taken by ``take`` on the loop."""

        def hand(text: str) -> None:
            self._texts.append((take, text))
            self._wake()

        return hand

    def _wake(self) -> None:
        if not self._is_woken:
            self._is_woken = True
            self._loop.call_soon_threadsafe(self._take_all)

    def _take_all(self) -> None:
        self._is_woken = False  # before the look: what comes after it wakes the loop again
        try:
            with self._together():
                for _ in range(len(self._texts)):
                    take, text = self._texts.popleft()
                    take(text)
        finally:
            if self._texts:
                self._wake()
