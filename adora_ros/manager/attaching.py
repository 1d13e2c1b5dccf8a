"""Nodes whose process somebody else starts (``path: dynamic``): taking them in, and letting them go."""

from __future__ import annotations

import contextlib
import os
import socket
from typing import TYPE_CHECKING, Protocol

from adora_ros.dataflow import NodeKind
from adora_ros.errors import SpawnError
from adora_ros.transport import attach
from adora_ros.transport.unixsockets import peer

if TYPE_CHECKING:
    import asyncio

    from adora_ros.manager.environment import RunContext
    from adora_ros.manager.incarnation import Incarnation, Owner
    from adora_ros.manager.launcher import Launcher

_BACKLOG = 16
ROS_VARIABLES = ('ROS_DOMAIN_ID', 'ROS_AUTOMATIC_DISCOVERY_RANGE', 'ROS_STATIC_PEERS', 'RMW_IMPLEMENTATION')
"""Variables of the manager by which a process that it has not started finds the dataflow in ROS."""


class AttachedChild:
    """A process that is none of ours: it is watched, and never sent a signal."""

    is_warm = False

    def __init__(self, pid: int) -> None:
        """Watch a process.

        Raises:
            OSError: it is gone.

        """
        self.pid = pid
        self.pidfd = os.pidfd_open(pid)

    @property
    def outputs(self) -> tuple[int, int]:
        """It has none that lead here."""
        msg = 'a process from outside prints where it was started'
        raise NotImplementedError(msg)

    def reap(self) -> int:
        """Stop watching; how it ended is for its own parent to know."""
        os.close(self.pidfd)
        return 0

    def failure(self) -> int | None:
        """Return None: only its own parent knows."""
        return None

    def signal_group(self, number: int) -> None:
        """Do nothing."""

    def group_is_gone(self) -> bool:
        """Return True: nothing is waited for."""
        return True


class Asker(Protocol):
    """Whoever decides whether a node can be taken."""

    def attach(self, node: str) -> bool:
        """Return whether a process that asks for a node gets it; if so, :meth:`Attachments.begin` has been called."""

    def started(self, incarnation: Incarnation) -> None:
        """A process has taken a node."""

    def not_started(self, node: str, number: int, error: str) -> None:
        """The process was gone before it had its node."""


class Attachments:
    """Listens for the processes of a run that come from outside.

    Args:
        context: the run.
        launcher: makes incarnations.
        owner: of the incarnations, and who decides.
        loop: the event loop.

    """

    def __init__(
        self, context: RunContext, launcher: Launcher, *, asker: Asker, owner: Owner, loop: asyncio.AbstractEventLoop
    ) -> None:
        self._context = context
        self._launcher = launcher
        self._asker = asker
        self._owner = owner
        self._loop = loop
        self._asking: dict[str, socket.socket] = {}
        local = [node for node in context.dataflow.nodes if node.id in context.local]
        self._listening = [self._listen(node.id) for node in local if node.kind is NodeKind.DYNAMIC]

    def begin(self, node_id: str, number: int, closed_inputs: tuple[str, ...]) -> None:
        """Give a node to the process that asks for it."""
        connection = self._asking[node_id]
        node = self._context.dataflow.node(node_id)
        env = {name: os.environ[name] for name in ROS_VARIABLES if name in os.environ}
        try:
            incarnation = self._launcher.attach(
                node,
                number,
                connection,
                env={**env, **self._context.env},
                closed_inputs=closed_inputs,
                owner=self._owner,
            )
        except SpawnError as error:
            self._loop.call_soon(self._asker.not_started, node_id, number, str(error))
        else:
            self._asker.started(incarnation)

    def close(self) -> None:
        """Listen no more."""
        for listening in self._listening:
            self._loop.remove_reader(listening)
            listening.close()

    def _listen(self, node_id: str) -> socket.socket:
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
        domain = os.environ.get('ROS_DOMAIN_ID') or '0'
        listening.bind(f'\0{attach.address(node_id, self._context.run_id, domain)}')
        listening.listen(_BACKLOG)
        self._loop.add_reader(listening, self._accept, node_id, listening)
        return listening

    def _accept(self, node_id: str, listening: socket.socket) -> None:
        try:
            connection, _ = listening.accept()
        except BlockingIOError:
            return
        with connection:
            _pid, uid = peer(connection)
            if uid not in {0, os.getuid()}:
                attach.refuse(connection, f'node {node_id!r} belongs to a dataflow of another user')
                return
            self._asking[node_id] = connection
            taken = self._asker.attach(node_id)
            del self._asking[node_id]
            if not taken:
                with contextlib.suppress(OSError):  # whoever asked is gone
                    attach.refuse(connection, f'node {node_id!r} is taken, or its dataflow is stopping')
