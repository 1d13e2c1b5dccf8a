"""Starts the processes of nodes and finds what they leave behind."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from adora_ros.dataflow import NodeKind, NodeSpec
from adora_ros.dataflow import command as command_line
from adora_ros.errors import SpawnError
from adora_ros.manager.attaching import AttachedChild
from adora_ros.manager.control import ControlSocket
from adora_ros.manager.environment import RunContext, environment, node_config
from adora_ros.manager.escaped import Escaped
from adora_ros.manager.incarnation import Channels, Incarnation, Owner, socket_address
from adora_ros.manager.logfile import LogFile
from adora_ros.manager.notify import NotifySocket
from adora_ros.manager.processes import Command
from adora_ros.manager.warm import ColdError, runs_script
from adora_ros.transport import attach, lifepage
from adora_ros.transport.lifepage import LifePage
from adora_ros.transport.unixsockets import peer

if TYPE_CHECKING:
    import asyncio
    import socket
    from collections.abc import Awaitable, Callable, Mapping

    from adora_ros.manager.means import Means
    from adora_ros.manager.processes import Child


class Launcher:
    """Makes incarnations: sockets, environment, process and log of each."""

    def __init__(
        self,
        context: RunContext,
        means: Means,
        *,
        on_cold: Callable[[NodeSpec, str], None],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        """Prepare to start the nodes of a run.

        Args:
            context: The run.
            means: What the run works with.
            on_cold: Told why a node that could be started warm is not.
            loop: The event loop.

        """
        self._context = context
        self._processes = means.processes
        self._escaped = Escaped(means.processes, context.mark, loop)
        self._warm = means.warm
        self._on_cold = on_cold
        self._pump = means.pump
        self._lines = means.lines
        self._loop = loop
        self._logs = {node.id: _log_file(context, node) for node in context.dataflow.nodes}

    async def start(
        self,
        node: NodeSpec,
        number: int,
        *,
        closed_inputs: tuple[str, ...],
        owner: Owner,
        admit: Callable[[], Awaitable[None]],
    ) -> Incarnation:
        """Start incarnation ``number`` of a node; nothing is left over if that fails.

        Args:
            node: The node.
            number: Of the incarnation.
            closed_inputs: Inputs whose source has ended.
            owner: Of the incarnation.
            admit: Waits until a process that takes long to become ready may start.

        Raises:
            SpawnError: it cannot be started.

        """
        argv = command_line(node, use_sim_time=self._context.use_sim_time)
        with contextlib.ExitStack() as undo:
            channels, life_fd, end_fd = self._open_channels(node, undo)
            notify, control = channels.notify, channels.control
            config = node_config(
                self._context,
                node,
                number,
                control_fd=control.child_fd,
                life_fd=life_fd,
                end_fd=end_fd,
                closed_inputs=closed_inputs,
            )
            command = Command(
                argv=argv,
                env=environment(self._context, node, config, notify.address, argv[0]),
                cwd=self._context.dataflow.directory_of(node),
                pass_fds=(control.child_fd, life_fd, end_fd),
                cpu_affinity=node.cpu_affinity,
            )
            child = await self._spawn(node, command, admit)
            undo.pop_all()
        control.hand_over()
        os.close(life_fd)
        os.close(end_fd)
        self._pump.attach(node.id, child.outputs, self._logs[node.id], self._lines.tap(node.id))
        return Incarnation(node, number, child, channels, owner, self._loop)

    def attach(
        self,
        node: NodeSpec,
        number: int,
        connection: socket.socket,
        *,
        env: Mapping[str, str],
        closed_inputs: tuple[str, ...],
        owner: Owner,
    ) -> Incarnation:
        """Make the process at the other end of ``connection`` incarnation ``number`` of a node.

        Args:
            node: The node.
            number: Of the incarnation.
            connection: To a process that somebody else has started.
            env: Variables by which it finds the others in ROS.
            closed_inputs: Inputs whose source has ended.
            owner: Of the incarnation.

        Raises:
            SpawnError: the process is gone.

        """
        with contextlib.ExitStack() as undo:
            channels, life_fd, end_fd = self._open_channels(node, undo)
            control_fd = channels.control.child_fd
            config = node_config(
                self._context,
                node,
                number,
                control_fd=control_fd,
                life_fd=life_fd,
                end_fd=None,
                closed_inputs=closed_inputs,
            )
            try:
                child = AttachedChild(peer(connection)[0])
                undo.callback(child.reap)
                offer = attach.Offer(config=config, notify=channels.notify.address, env=dict(env))
                attach.send_offer(connection, offer, control_fd=control_fd, life_fd=life_fd)
            except OSError as error:
                msg = f'the process that asked for `{node.id}` is gone: {error.strerror}'
                raise SpawnError(msg) from error
            undo.pop_all()
        channels.control.hand_over()
        os.close(life_fd)
        os.close(end_fd)
        return Incarnation(node, number, child, channels, owner, self._loop)

    def _open_channels(self, node: NodeSpec, undo: contextlib.ExitStack) -> tuple[Channels, int, int]:
        """Return what a new process speaks through, and the descriptors of its life page and of its last sign.

        Raises:
            SpawnError: there are none.

        """
        try:
            notify = NotifySocket(socket_address(self._context.run_id))
            undo.callback(notify.close)
            control = ControlSocket(self._loop)
            undo.callback(control.close)
            life_fd = lifepage.create()
            undo.callback(os.close, life_fd)
            end_read, end_write = os.pipe2(os.O_CLOEXEC)
            undo.callback(os.close, end_read)
            undo.callback(os.close, end_write)
            channels = Channels(notify=notify, control=control, life=LifePage(life_fd), end=end_read)
        except OSError as error:
            msg = f'no sockets for `{node.id}`: {error.strerror}'
            raise SpawnError(msg) from error
        return channels, life_fd, end_write

    async def _spawn(self, node: NodeSpec, command: Command, admit: Callable[[], Awaitable[None]]) -> Child:
        """Start a process, warm if that is possible."""
        is_script = runs_script(command)
        if is_script and self._warm is not None and node.warm is not False:
            try:
                return await self._warm.spawn(command)
            except ColdError as reason:
                self._on_cold(node, str(reason))
        if is_script or node.kind is NodeKind.ROS:
            await admit()
        return self._processes.spawn(command)

    def close(self) -> None:
        """Give the log files back."""
        for file in self._logs.values():
            self._pump.release(file)

    async def kill_escaped(self, incarnation: Incarnation) -> tuple[int, ...]:
        """Kill what an incarnation started in sessions of its own; return the process ids."""
        return await self._escaped.kill(f'{incarnation.spec.id}/{incarnation.number}')


def _log_file(context: RunContext, node: NodeSpec) -> LogFile:
    path = context.folder / f'{node.name}.log'
    return LogFile(path, max_size=node.max_log_size, max_files=node.max_rotated_files)
