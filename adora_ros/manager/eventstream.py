"""Tells another process what happens, as lines of JSON over a Unix socket.

For whoever started the manager and wants to follow it without ROS, such as the launch action. Each line is a
:class:`adora_ros.manager.events.ManagerEvent` as an object with the names of its attributes as keys.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import queue
import socket
import threading
from typing import TYPE_CHECKING

from adora_ros.errors import ManagerError

if TYPE_CHECKING:
    from collections.abc import Callable

    from adora_ros.manager.events import ManagerEvent
    from adora_ros.manager.logs import Stream

ABSTRACT = '@'
"""First character of an address that is a name in Linux's abstract namespace rather than a path (``unix(7)``)."""
DETACH = b'detach\n'
"""What a reader sends that may end while the dataflow goes on."""
FLUSH = 2.0
"""Seconds that the end of a run may wait for a reader that takes nothing."""
WAITING = 10_000
"""How many events wait for a reader that takes nothing; further ones are only in the journal."""


def socket_address(text: str) -> str:
    """Return the address for the socket calls; a leading ``@`` stands for the abstract namespace."""
    return '\0' + text[1:] if text.startswith(ABSTRACT) else text


class EventStream:
    """A :class:`adora_ros.manager.options.Listener` that writes every event to a socket.

    A reader that is slow or gone never makes the manager wait. The reader's end of its sending side is its word that
    it is gone, or wants the dataflow to stop; unless it has sent :data:`DETACH` before, which lets the manager go on
    without it.
    """

    def __init__(self, address: str) -> None:
        """Connect.

        Args:
            address: Path of the socket, or ``@`` and its name in the abstract namespace.

        Raises:
            ManagerError: nobody listens there.

        """
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.connect(socket_address(address))
        except OSError as error:
            self._socket.close()
            msg = f'--events {address}: {error.strerror or error}; give the address of a listening Unix socket'
            raise ManagerError(msg) from error
        self.is_closed = False
        """Whether the reader has closed its sending side or is gone."""
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name='adora-events', daemon=True)
        self._thread.start()

    @property
    def is_open(self) -> bool:
        """Whether what is written may still be read."""
        return self._thread.is_alive()

    def event(self, event: ManagerEvent) -> None:
        """Write one event."""
        if self.is_open and self._lines.qsize() < WAITING:
            self._lines.put(json.dumps(dataclasses.asdict(event), separators=(',', ':')).encode() + b'\n')

    def output(self, node: str, stream: Stream, lines: list[bytes]) -> None:
        """Leave what nodes print to others."""

    def when_closed(self, act: Callable[[], None]) -> None:
        """Call ``act`` once, on the running event loop, when the reader closes its sending side or is gone."""
        loop = asyncio.get_running_loop()

        def readable() -> None:
            data = b''
            with contextlib.suppress(ConnectionError):
                data = self._socket.recv(4096)
            if data and DETACH not in data:
                return
            loop.remove_reader(self._socket)
            if not data:
                self.is_closed = True
                act()

        loop.add_reader(self._socket, readable)

    def close(self, timeout: float = FLUSH) -> None:
        """Write what is left, for at most ``timeout`` seconds, and disconnect."""
        self._lines.put(b'')
        self._thread.join(timeout)
        self._socket.close()

    def _run(self) -> None:
        with contextlib.suppress(OSError):
            while line := self._lines.get():
                self._socket.sendall(line)
