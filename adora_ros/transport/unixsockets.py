"""What the kernel tells of Unix sockets: who is at the other end, and which abstract addresses are taken."""

from __future__ import annotations

import socket
import struct
from pathlib import Path

BOUND = Path('/proc/net/unix')
_CREDENTIALS = struct.Struct('iII')
_PATH_COLUMN = 7


def peer(connection: socket.socket) -> tuple[int, int]:
    """Return process id and user id of whoever is at the other end (``SO_PEERCRED``, see ``unix(7)``).

    Raises:
        OSError: nobody is.

    """
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, uid, _gid = _CREDENTIALS.unpack(raw)
    return pid, uid


def abstract_addresses(prefix: str) -> set[str]:
    """Return the abstract addresses of this network namespace that begin with ``prefix``, without the leading NUL.

    Raises:
        OSError: the kernel does not tell.

    """
    lines = BOUND.read_text(encoding='utf-8', errors='replace').splitlines()
    columns = (line.split(maxsplit=_PATH_COLUMN) for line in lines)
    paths = (found[_PATH_COLUMN] for found in columns if len(found) > _PATH_COLUMN)
    return {path[1:] for path in paths if path.startswith(f'@{prefix}')}
