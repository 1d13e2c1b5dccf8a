"""How a process that no manager started finds the one whose dataflow waits for it (``path: dynamic``).

For each such node a manager listens on an abstract ``SOCK_SEQPACKET`` socket. Whoever connects gets one packet: the
JSON object of an :class:`Offer` with the control socket and the life page as file descriptors beside it
(``SCM_RIGHTS``), or ``{"error": text}``. The kernel vouches for the process that has connected (``SO_PEERCRED``).
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
from dataclasses import asdict, dataclass, replace

from adora_ros.errors import NodeError, TransportError
from adora_ros.transport.contract import NodeConfig
from adora_ros.transport.unixsockets import BOUND, abstract_addresses

OFFER_LIMIT = 1 << 20
"""Bytes of the largest packet that is read."""
PATIENCE = 10.0
"""Seconds that a process waits for its offer."""
_PREFIX = 'adora/attach/'
_FILES = 2


@dataclass(frozen=True, kw_only=True)
class Offer:
    """What a process needs to become a node of a dataflow."""

    config: NodeConfig
    notify: str
    """Value of ``NOTIFY_SOCKET``."""
    env: dict[str, str]
    """Variables by which the process finds the others in ROS."""


def address(node_id: str, run_id: str, domain: str) -> str:
    """Return the abstract address, without the leading NUL, at which a node of a run can be taken."""
    digest = hashlib.sha256(node_id.encode()).hexdigest()[:16]
    return f'{_PREFIX}{digest}/{domain}/{run_id}'


def refuse(connection: socket.socket, reason: str) -> None:
    """Send why the node cannot be taken."""
    connection.send(json.dumps({'error': reason}).encode(), socket.MSG_NOSIGNAL | socket.MSG_DONTWAIT)


def send_offer(connection: socket.socket, offer: Offer, *, control_fd: int, life_fd: int) -> None:
    """Send an offer.

    Raises:
        OSError: whoever asked is gone.

    """
    packet = json.dumps({**asdict(offer), 'config': offer.config.to_json()}).encode()
    socket.send_fds(connection, [packet], [control_fd, life_fd], socket.MSG_NOSIGNAL | socket.MSG_DONTWAIT)


def take_node(node_id: str) -> Offer:
    """Take a node of a running dataflow on this host for this process.

    Raises:
        NodeError: no dataflow waits for it, or several do, or the manager refuses.

    """
    target = _only_address(node_id)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_CLOEXEC) as connection:
        connection.settimeout(PATIENCE)
        try:
            connection.connect(f'\0{target}')
            packet, files, _flags, _address = socket.recv_fds(connection, OFFER_LIMIT, _FILES)
        except OSError as error:
            msg = f'the dataflow that waits for node {node_id!r} does not answer: {error.strerror or error}'
            raise NodeError(msg) from error
    return _offer(node_id, packet, files)


def _offer(node_id: str, packet: bytes, files: list[int]) -> Offer:
    try:
        raw = json.loads(packet)
        if 'error' in raw:
            raise NodeError(raw['error'])
        control, life = files
        config = replace(NodeConfig.from_json(raw['config']), control_fd=control, life_fd=life)
        return Offer(config=config, notify=raw['notify'], env=raw['env'])
    except (ValueError, TypeError, KeyError, TransportError) as error:
        for file in files:
            os.close(file)
        msg = f'the dataflow that waits for node {node_id!r} ended before it was taken, try again'
        raise NodeError(msg) from error


def _only_address(node_id: str) -> str:
    prefix = address(node_id, '', '').rstrip('/') + '/'
    try:
        found = sorted(abstract_addresses(prefix))
    except OSError as error:
        msg = f'{BOUND} cannot be read: {error.strerror}'
        raise NodeError(msg) from error
    domain = os.environ.get('ROS_DOMAIN_ID')
    here = [name for name in found if not domain or name[len(prefix) :].partition('/')[0] == domain]
    if len(here) == 1:
        return here[0]
    if here:
        msg = f'{len(here)} dataflows wait for a node {node_id!r}: set ROS_DOMAIN_ID, or stop all but one'
    elif found:
        others = ', '.join(sorted({name[len(prefix) :].partition('/')[0] for name in found}))
        msg = f'node {node_id!r} is waited for in ROS domain {others}, not in {domain}: set ROS_DOMAIN_ID'
    else:
        msg = (
            f'no dataflow on this host waits for a node {node_id!r}: start one that has it with `path: dynamic`, '
            'or let the dataflow start this program'
        )
    raise NodeError(msg)
