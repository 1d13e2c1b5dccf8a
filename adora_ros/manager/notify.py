"""The manager's end of the sd_notify protocol: one datagram socket an incarnation, see ``sd_notify(3)``."""

from __future__ import annotations

import os
import socket
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_CREDENTIALS = struct.Struct('iII')
_LIMIT = 64 * 1024
"""Largest datagram in bytes that is read."""


class NotifySocket:
    """Receives the notifications of one incarnation.

    The address is in the abstract namespace, so nothing is left in the file system whatever happens. The kernel
    vouches for the sender (``SCM_CREDENTIALS``); who is not of the incarnation's process group is not heard.
    """

    def __init__(self, address: str) -> None:
        """Bind the socket.

        Args:
            address: Name in the abstract namespace, without the leading ``@``.

        Raises:
            OSError: the address is taken.

        """
        self.address = f'@{address}'
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self._socket.bind(f'\0{address}')

    def fileno(self) -> int:
        """Return the file descriptor to wait for."""
        return self._socket.fileno()

    def drain(self, is_member: Callable[[int], bool]) -> Iterator[dict[str, str]]:
        """Yield every notification that is there, as its variables.

        Args:
            is_member: Whether a process id belongs to the incarnation.

        """
        while self._socket.fileno() >= 0:
            try:
                data, ancillary, _flags, _address = self._socket.recvmsg(_LIMIT, socket.CMSG_SPACE(_CREDENTIALS.size))
            except BlockingIOError:
                return
            if _sender_is_welcome(ancillary, is_member):
                yield dict(_variables(data))

    def close(self) -> None:
        """Close the socket; late notifications are refused from here on."""
        self._socket.close()


def _sender_is_welcome(ancillary: list[tuple[int, int, bytes]], is_member: Callable[[int], bool]) -> bool:
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_CREDENTIALS:
            pid, uid, _gid = _CREDENTIALS.unpack(data[: _CREDENTIALS.size])
            return uid in {0, os.getuid()} and is_member(pid)
    return False


def _variables(data: bytes) -> Iterator[tuple[str, str]]:
    for line in data.decode(errors='replace').splitlines():
        name, separator, value = line.partition('=')
        if separator:
            yield name, value


def in_group(pid: int, group: int) -> bool:
    """Return whether ``pid`` belongs to process group ``group``.

    A helper such as ``systemd-notify`` has often ended before its datagram is read; its address, which only the
    incarnation was told, then has to do.
    """
    try:
        return os.getpgid(pid) == group
    except ProcessLookupError:
        return True
