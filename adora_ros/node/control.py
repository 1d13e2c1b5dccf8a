"""The control socket from the node's side."""

from __future__ import annotations

import logging
import os
import select
import socket
import threading
from collections import deque
from typing import TYPE_CHECKING, Any

from adora_ros.errors import TransportError
from adora_ros.transport.contract import CONTROL_PACKET_LIMIT, NodeOp, pack, unpack

if TYPE_CHECKING:
    from collections.abc import Callable

SEND_DEADLINE = 5.0
"""Seconds that a packet waits for room before it is lost."""

ORPHAN_GRACE = 1.0
"""Seconds that a node gets to end by itself once its manager is gone."""

_log = logging.getLogger(__name__)


class ControlChannel:
    """Talks to the manager; without a file descriptor it keeps silent and hears nothing.

    Args:
        fd: the inherited ``SOCK_SEQPACKET`` socket; it is not passed on to programs that the node starts.
        end_process: ends the process at once with an exit code, from whatever thread.
        is_child: whether the process is not to outlive its manager.

    """

    def __init__(
        self, fd: int | None, end_process: Callable[[int], object] = os._exit, *, is_child: bool = True
    ) -> None:
        self._end_process = end_process
        self._is_child = is_child
        self._socket: socket.socket | None = None
        if fd is not None:
            self._socket = socket.socket(fileno=fd)
            self._socket.set_inheritable(False)
        self._outgoing: deque[bytes] = deque()
        self._send_lock = threading.Lock()

    def start(self, on_packet: Callable[[dict[str, Any]], None], on_end: Callable[[], None]) -> None:
        """Read in a thread of its own until the manager is gone.

        Args:
            on_packet: given the keys of each packet, in that thread.
            on_end: called when the manager is gone. If a child of it is still there :data:`ORPHAN_GRACE` seconds later
                it is ended with exit code 1, whatever it is doing.

        """
        if self._socket is None:
            return
        threading.Thread(
            target=self._read, args=(self._socket, on_packet, on_end), name='adora-control', daemon=True
        ).start()

    def send(self, op: NodeOp, **keys: Any) -> None:
        """Send a packet. A manager that is gone, or does not read, is no error here."""
        self.post(op, **keys)
        self.flush()

    def post(self, op: NodeOp, **keys: Any) -> None:
        """Put a packet behind those that wait for :meth:`flush`; never blocks."""
        self._outgoing.append(pack(op, **keys))

    def flush(self) -> None:
        """Send what :meth:`post` has put, in that order, from whatever thread gets here first."""
        while self._outgoing:
            with self._send_lock:
                if self._outgoing:
                    self._send_packet(self._outgoing.popleft())

    def _send_packet(self, packet: bytes) -> None:
        if self._socket is None:
            return
        try:
            self._socket.send(packet, socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
        except BlockingIOError:
            self._send_when_writable(self._socket, packet)
        except OSError as error:
            _log.debug('control packet not sent: %s', error)

    @staticmethod
    def _send_when_writable(control: socket.socket, packet: bytes) -> None:
        poll = select.poll()
        poll.register(control, select.POLLOUT)
        poll.poll(SEND_DEADLINE * 1000)
        try:
            control.send(packet, socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
        except OSError as error:
            _log.warning('control packet lost, the manager does not read: %s', error)

    def _read(
        self, control: socket.socket, on_packet: Callable[[dict[str, Any]], None], on_end: Callable[[], None]
    ) -> None:
        while packet := _receive(control):
            _handle(packet, on_packet)
        if self._is_child:
            deadline = threading.Timer(ORPHAN_GRACE, self._end_process, (1,))
            deadline.daemon = True
            deadline.start()
        on_end()


def _receive(control: socket.socket) -> bytes:
    try:
        return control.recv(CONTROL_PACKET_LIMIT)
    except OSError:
        return b''


def _handle(packet: bytes, on_packet: Callable[[dict[str, Any]], None]) -> None:
    try:
        on_packet(unpack(packet))
    except TransportError as error:
        _log.warning('control packet ignored: %s', error)
    except Exception:  # noqa: BLE001 - logged; the packets that follow matter more
        _log.exception('control packet %r failed', packet[:80])
