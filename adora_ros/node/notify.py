"""The sd_notify protocol from the node's side, and its proof of life."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from typing import TYPE_CHECKING

from adora_ros.transport.contract import NOTIFY_VARIABLE, WATCHDOG_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from adora_ros.transport.lifepage import LifePage

READY_DEADLINE = 5.0
"""Seconds that a message which must not be lost waits for room in the manager's socket."""

LONGEST_INTERVAL = 1.0
"""Seconds between two proofs of life where no watchdog asks for more."""

LIVES_PER_WATCHDOG = 4
"""Proofs of life within one watchdog period: three may be late before the node counts as silent."""


class Notifier:
    """Sends to the socket that ``NOTIFY_SOCKET`` names; without one it does nothing.

    Args:
        path: a path, or an abstract name that begins with ``@``.

    """

    def __init__(self, path: str | None) -> None:
        self._socket: socket.socket | None = None
        if path:
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
            with contextlib.suppress(OSError):
                self._socket.connect('\0' + path[1:] if path.startswith('@') else path)

    def send(self, *assignments: str) -> bool:
        """Send assignments such as ``READY=1`` and wait for room if need be.

        Returns:
            Whether the message was handed over.

        """
        return self._send(assignments, READY_DEADLINE)

    def send_now(self, *assignments: str) -> bool:
        """Send like :meth:`send`, but rather lose the message than wait."""
        return self._send(assignments, 0.0)

    def close(self) -> None:
        """Send nothing from now on."""
        if self._socket is not None:
            self._socket.close()

    def _send(self, assignments: tuple[str, ...], timeout: float) -> bool:
        if self._socket is None:
            return False
        try:
            self._socket.settimeout(timeout)
            self._socket.send('\n'.join(assignments).encode())
        except OSError:
            return False
        return True


class LifeSigns:
    """Proof of life.

    To be called from the user's own loop, never on its behalf.

    Args:
        notify: sends one assignment.
        watchdog: longest silence in seconds that the manager accepts, None if it does not watch.
        clock: a steady clock in seconds.

    """

    page: LifePage | None = None
    """Where the manager reads when the last proof was given; with it none is sent."""

    def __init__(
        self,
        notify: Callable[[str], object],
        watchdog: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.interval = LONGEST_INTERVAL
        """Seconds after which a waiting loop should give the next proof."""
        if watchdog is not None:
            self.interval = min(watchdog / LIVES_PER_WATCHDOG, LONGEST_INTERVAL)
        self.on_interval: Callable[[], None] | None = None
        """Called at most once per :attr:`interval`, from the user's loop."""
        self._notify = notify
        self._clock = clock
        self._due = float('-inf')

    def alive(self) -> None:
        """Give proof of life: by the page, or else sent unless one was sent within the interval."""
        now = self._clock()
        if self.page is not None:
            self.page.write(now)
        if now >= self._due:
            self._due = now + self.interval
            if self.page is None:
                self._notify('WATCHDOG=1')
            if self.on_interval is not None:
                self.on_interval()


def from_environment(environ: Mapping[str, str] = os.environ) -> tuple[Notifier, LifeSigns]:
    """Return the notifier and the life signs that the manager asks for in the environment."""
    notifier = Notifier(environ.get(NOTIFY_VARIABLE))
    microseconds = environ.get(WATCHDOG_VARIABLE, '')
    watchdog = int(microseconds) / 1e6 if microseconds.isdecimal() and int(microseconds) > 0 else None
    return notifier, LifeSigns(notifier.send_now, watchdog)
