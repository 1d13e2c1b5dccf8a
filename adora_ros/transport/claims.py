"""Who runs a manager on this host, known without ROS: each holds a claim on its name while it runs."""

from __future__ import annotations

import hashlib
import os
import socket
import struct
from dataclasses import dataclass
from pathlib import Path

from adora_ros.errors import ManagerError

_ASKERS = 4096
"""How many may ask who holds a name; their connections are never accepted."""
_SOCKETS = Path('/proc/net/unix')
_ADDRESS_LIMIT = 107
"""Bytes of an address without the terminating one (``unix(7)``)."""
_DIGEST = 16
"""Hexadecimal digits that keep names apart which are too long to be told in full."""
_PATH_COLUMN = 7


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A name that somebody holds.

    Attributes:
        name: Full name of a node; only the beginning where it is too long for an address.
        pid: Process id of the holder, None if it cannot be told.
        whole: Whether the name is complete.

    """

    name: str
    pid: int | None
    whole: bool = True

    def is_of(self, node_name: str) -> bool:
        """Return whether this is the claim on the full name of a node, as far as that can be told."""
        return node_name == self.name if self.whole else node_name.startswith(self.name)


class NameClaim:
    """Held while a manager runs; the kernel gives it up when the manager is gone, however it ended.

    It is an abstract socket, so it holds for the host's network namespace and the ROS domain, which is how far the
    topics of a dataflow that is limited to the host reach.
    """

    def __init__(self, node_name: str) -> None:
        """Claim the full name of a manager node.

        Raises:
            ManagerError: another manager holds it; the text gives its process id.

        """
        address = _address(node_name)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.bind(address)
        except OSError:
            self._socket.close()
            pid = _holder(address)
            who = '' if pid is None else f' (pid {pid})'
            msg = f'{node_name} is already running{who}; stop it or choose another --name'
            raise ManagerError(msg) from None
        self._socket.listen(_ASKERS)

    def release(self) -> None:
        """Give the name up."""
        self._socket.close()


def claims() -> tuple[Claim, ...]:
    """Return the names that are held on this host in this ROS domain, ordered by name."""
    prefix = _prefix().replace('\0', '@')
    found = set()
    for line in _SOCKETS.read_text(encoding='utf-8', errors='replace').splitlines():
        columns = line.split(maxsplit=_PATH_COLUMN)
        if len(columns) > _PATH_COLUMN and columns[_PATH_COLUMN].startswith(prefix):
            found.add(columns[_PATH_COLUMN])
    held = (
        Claim(
            name=path[len(prefix) + _DIGEST :],
            pid=_holder('\0' + path[1:]),
            whole=len(path) < _ADDRESS_LIMIT,
        )
        for path in found
    )
    return tuple(sorted(held, key=lambda claim: claim.name))


def _prefix() -> str:
    return f'\0adora/{os.environ.get("ROS_DOMAIN_ID") or "0"}/'


def _address(node_name: str) -> str:
    digest = hashlib.sha256(node_name.encode()).hexdigest()[:_DIGEST]
    return f'{_prefix()}{digest}{node_name}'[:_ADDRESS_LIMIT]


def _holder(address: str) -> int | None:
    """Return the process id of whoever listens at ``address``, None if that cannot be told."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(address)
            credentials = probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize('iII'))
        except OSError:
            return None
    pid, _uid, _gid = struct.unpack('iII', credentials)
    return int(pid)
