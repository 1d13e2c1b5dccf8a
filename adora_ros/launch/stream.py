"""The launch side of the manager's event stream."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import struct
import uuid
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

Record = dict[str, Any]
"""One event of the manager: the attributes of :class:`adora_ros.manager.events.ManagerEvent` by name."""

LINE_LIMIT = 1024 * 1024
"""Bytes that one event may take at most."""


class EventServer:
    """Listens for a manager at an address that goes with this process, and hands over its events.

    The end of this process, however it comes, is the end of the connection, and so has the manager stop its dataflow.
    """

    def __init__(self, take: Callable[[Record], None]) -> None:
        """Listen.

        Args:
            take: Called with each event, on the event loop that :meth:`serve` runs on.

        """
        self._take = take
        name = f'adora-launch-{uuid.uuid4()}'
        self.address = f'@{name}'
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.bind(f'\0{name}')
        self._socket.listen(1)
        self._socket.setblocking(False)  # noqa: FBT003 - it takes no name
        self._writer: asyncio.StreamWriter | None = None
        self._stopping = False

    async def serve(self) -> None:
        """Take the events of one manager until it closes the connection."""
        connection = await self._accept()
        with contextlib.closing(connection):
            reader, self._writer = await asyncio.open_unix_connection(sock=connection, limit=LINE_LIMIT)
            if self._stopping:
                self._writer.write_eof()
            with contextlib.suppress(ConnectionError):
                async for line in reader:
                    self._take(json.loads(line))
            self._writer.close()

    def stop(self) -> None:
        """Have the manager stop its dataflow, at once or as soon as it has connected."""
        if self._stopping:
            return
        self._stopping = True
        if self._writer is not None and not self._writer.is_closing():
            self._writer.write_eof()

    def close(self) -> None:
        """Listen no more."""
        self._socket.close()

    async def _accept(self) -> socket.socket:
        """Return the first connection that comes from a process of the same user; others are refused."""
        loop = asyncio.get_running_loop()
        while True:
            connection, _ = await loop.sock_accept(self._socket)
            credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize('iII'))
            _pid, uid, _gid = struct.unpack('iII', credentials)
            if uid == os.getuid():
                return connection
            connection.close()
