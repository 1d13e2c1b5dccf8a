"""The manager's end of a node's control socket."""

from __future__ import annotations

import socket
from collections import deque
from typing import TYPE_CHECKING, Any

from adora_ros.transport.contract import CONTROL_PACKET_LIMIT, ManagerOp, pack, unpack

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterator


class ControlSocket:
    """One end stays with the manager, the other is inherited by the node's process.

    Sending never blocks: what the node does not take at once waits here, in order.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._ours, self._theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_CLOEXEC)
        self._ours.setblocking(False)  # noqa: FBT003 - positional only
        self._outbox: deque[bytes] = deque()

    def fileno(self) -> int:
        """Return the file descriptor to wait for."""
        return self._ours.fileno()

    @property
    def child_fd(self) -> int:
        """File descriptor for the process to inherit."""
        return self._theirs.fileno()

    def hand_over(self) -> None:
        """Close the manager's copy of the child's end."""
        self._theirs.close()

    def send(self, op: ManagerOp, /, **keys: Any) -> None:
        """Send one packet, now or as soon as the node takes it; a node that is gone gets nothing.

        Raises:
            TransportError: the packet is too large.

        """
        if self._ours.fileno() < 0:
            return
        self._outbox.append(pack(op, **keys))
        self._flush()

    def drain(self) -> Iterator[dict[str, Any]]:
        """Yield every packet that is there.

        Raises:
            TransportError: a packet is not one of the contract.

        """
        while self._ours.fileno() >= 0:
            try:
                packet = self._ours.recv(CONTROL_PACKET_LIMIT)
            except BlockingIOError:
                return
            except ConnectionError:
                packet = b''
            if not packet:
                self._loop.remove_reader(self._ours)
                return
            yield unpack(packet)

    def close(self) -> None:
        """Close both ends."""
        if self._ours.fileno() >= 0:
            self._loop.remove_reader(self._ours)
            self._loop.remove_writer(self._ours)
        self._ours.close()
        self._theirs.close()

    def _flush(self) -> None:
        while self._outbox:
            try:
                self._ours.send(self._outbox[0])
            except BlockingIOError:
                self._loop.add_writer(self._ours, self._flush)
                return
            except OSError:
                self._outbox.clear()
            else:
                self._outbox.popleft()
        self._loop.remove_writer(self._ours)
