"""Who runs a manager on this host, known without ROS: each holds a claim on its name while it runs."""

from __future__ import annotations

import hashlib
import os
import socket
from dataclasses import dataclass

from adora_ros.errors import ManagerError
from adora_ros.transport.unixsockets import abstract_addresses, peer

_ASKERS = 4096
"""How many may ask who holds a name; their connections are never accepted."""
_ADDRESS_LIMIT = 107
"""Bytes of an address without the terminating one (``unix(7)``)."""
_DIGEST = 16
"""Hexadecimal digits that keep names apart which are too long to be told in full."""


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
    prefix = _prefix()
    held = (
        Claim(
            name=address[len(prefix) + _DIGEST :],
            pid=_holder(f'\0{address}'),
            whole=len(f'\0{address}') < _ADDRESS_LIMIT,
        )
        for address in abstract_addresses(prefix)
    )
    return tuple(sorted(held, key=lambda claim: claim.name))


def _prefix() -> str:
    return f'adora/{os.environ.get("ROS_DOMAIN_ID") or "0"}/'


def _address(node_name: str) -> str:
    digest = hashlib.sha256(node_name.encode()).hexdigest()[:_DIGEST]
    return f'\0{_prefix()}{digest}{node_name}'[:_ADDRESS_LIMIT]


def _holder(address: str) -> int | None:
    """Return the process id of whoever listens at ``address``, None if that cannot be told."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(address)
            return peer(probe)[0]
        except OSError:
            return None
