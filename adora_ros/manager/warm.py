"""The manager's side of warm starts: keeps a warm process and has nodes forked from it.

A forked process is the manager's own child, like one that it has started itself. Whatever goes wrong on the way to it,
the node is started cold instead; until the manager has said so, a forked process runs nothing of the node.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import json
import os
import resource
import signal
import socket
import sys
from typing import TYPE_CHECKING, Any

from adora_ros.dataflow.programs import PYTHON_SUFFIX
from adora_ros.errors import SpawnError
from adora_ros.manager.processes import PosixChild, limit_cpus, output_pipes
from adora_ros.warm.environment import differences
from adora_ros.warm.process import WarmProcess
from adora_ros.warm.request import GO, PACKET_LIMIT, Request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from adora_ros.manager.processes import Command

LOADING_PATIENCE = 30.0
"""Seconds from its start within which a warm process has to have everything loaded."""
REPORT_PATIENCE = 5.0
"""Seconds within which a forked process has to report; then the warm process is replaced."""
FORKS = 4
"""Processes that may be asked for at once. A warm process forks one after the other; the rest would fill its socket and
be late for their report."""
REPLACEMENTS = 3
"""Warm processes in a row that may end without having forked anything."""
_PR_SET_CHILD_SUBREAPER = 36
_LIMITS = tuple(name for name in dir(resource) if name.startswith('RLIMIT_'))


class ColdError(Exception):
    """A process cannot be started warm; the text says why."""


class WarmStarts:
    """Forks processes from a warm one, and replaces that when it ends.

    :meth:`attach` follows once there is an event loop.
    """

    def __init__(self, process: WarmProcess | None) -> None:
        """Take charge of a warm process.

        Args:
            process: The process; None if it could not be started.

        """
        self._process = process
        self._loading: asyncio.Task[bool] | None = None
        self._failures = 0
        self._problem = ''
        self._adopting = 0
        self._tell: Callable[[str], None] = lambda _: None

    @property
    def pid(self) -> int | None:
        """Process id of the warm process."""
        return None if self._process is None else self._process.pid

    def attach(self, tell: Callable[[str], None]) -> None:
        """Begin to serve on the running event loop.

        Args:
            tell: Given a line when there will be no warm starts any more.

        """
        self._loop = asyncio.get_running_loop()
        self._turns = asyncio.Semaphore(FORKS)
        self._tell = tell
        if self._process is None:
            self._give_up('it cannot be started')
        else:
            self._watch(self._process)

    def dismiss(self) -> None:
        """Have the warm process end while there is something else to do before :meth:`close`; no start may follow."""
        if self._process is not None:
            self._loop.remove_reader(self._process.pidfd)
            self._process.kill()

    def close(self) -> None:
        """End the warm process."""
        process, self._process = self._process, None
        if self._loading is not None:
            self._loading.cancel()
            self._loading = None
            if process is not None:
                self._loop.remove_reader(process.pidfd)
        if process is not None:
            process.close()

    async def spawn(self, command: Command) -> PosixChild:
        """Start a process for which :func:`runs_script` is true.

        Raises:
            ColdError: it has to be started cold.
            SpawnError: it cannot be started at all.

        """
        process = await self._ready(command)
        with contextlib.ExitStack() as undo:
            outputs, ends = output_pipes(undo)
            try:
                async with self._turns:
                    with self._taking_orphans():
                        report = undo.enter_context(_ask(process, command, ends))
                        pid = await self._adopted(report, process, command)
                undo.callback(_discard, pid)
                child = PosixChild(pid, outputs, is_warm=True)
                undo.callback(child.reap)
                undo.callback(child.kill)
                if command.cpu_affinity:
                    limit_cpus(child.pid, command.cpu_affinity, ends[1])
                report.send(GO)
            except SpawnError:
                raise
            except OSError as error:
                raise ColdError(error.strerror or str(error)) from error
            finally:
                for fd in ends:
                    os.close(fd)
            report.close()
            undo.pop_all()
        self._failures = 0
        return child

    async def _ready(self, command: Command) -> WarmProcess:
        """Return the warm process once it has loaded, if it can fork what is asked for.

        Raises:
            ColdError: it cannot.

        """
        process, loading = self._process, self._loading
        if process is None or loading is None:
            msg = 'there is no warm process'
            raise ColdError(msg)
        found = differences(command.env, process.env)
        if found:
            msg = f'{", ".join(found)} of its environment must be there when Python starts'
            raise ColdError(msg)
        await asyncio.wait({loading})
        if self._process is not process or loading.cancelled() or not loading.result():
            msg = 'the warm process has ended'
            raise ColdError(msg)
        return process

    async def _adopted(self, report: socket.socket, process: WarmProcess, command: Command) -> int:
        """Return the id of a forked process that has become a child of this one and waits for a word.

        Raises:
            ColdError: there is none.
            SpawnError: it cannot become what it is to be.

        """
        said: dict[str, Any] = {}
        try:
            await asyncio.wait_for(_collect(report, said), REPORT_PATIENCE)
        except asyncio.TimeoutError:
            process.kill()
            said['cold'] = f'no report within {REPORT_PATIENCE:g} s'
        finally:
            if 'pid' in said and 'ready' not in said:
                report.close()
                _discard(said['pid'])
        if 'error' in said:
            msg = f'{command.argv[0]}: {os.strerror(said["error"])}'
            raise SpawnError(msg)
        if 'cold' in said:
            raise ColdError(said['cold'])
        return int(said['pid'])

    @contextlib.contextmanager
    def _taking_orphans(self) -> Iterator[None]:
        """Become the parent of processes whose parents end, meanwhile and no longer: they are not ours to wait for."""
        self._adopting += 1
        _take_orphans(self._adopting)
        try:
            yield
        finally:
            self._adopting -= 1
            _take_orphans(self._adopting)

    def _watch(self, process: WarmProcess) -> None:
        self._loading = self._loop.create_task(self._load(process))
        self._loop.add_reader(process.pidfd, self._ended, process)

    async def _load(self, process: WarmProcess) -> bool:
        """Wait until everything is loaded; return whether that is so."""
        left = LOADING_PATIENCE - process.age
        try:
            packet = await asyncio.wait_for(_receive(process.socket), max(left, 0.0))
        except asyncio.TimeoutError:
            packet = b''
        problem = json.loads(packet).get('error') if packet else ''
        if problem:
            self._failures = REPLACEMENTS
            self._problem = problem
        if problem or not packet:
            process.kill()
            return False
        return True

    def _ended(self, process: WarmProcess) -> None:
        """Replace a warm process that has ended."""
        self._loop.remove_reader(process.pidfd)
        process.close()
        self._process = None
        self._failures += 1
        if self._failures > REPLACEMENTS:
            self._give_up(self._problem or f'it has ended {self._failures} times')
            return
        try:
            self._process = WarmProcess()
        except OSError as error:
            self._give_up(error.strerror or str(error))
        else:
            self._watch(self._process)

    def _give_up(self, reason: str) -> None:
        self._tell(f'no warm process: {reason}; nodes are started cold')


def runs_script(command: Command) -> bool:
    """Return whether a command runs a Python script on the interpreter of this process."""
    return command.argv[0] == sys.executable and len(command.argv) > 1 and command.argv[1].endswith(PYTHON_SUFFIX)


def _ask(process: WarmProcess, command: Command, ends: tuple[int, int]) -> socket.socket:
    """Ask for a process; return the socket that is reported on.

    Raises:
        OSError: it cannot be asked for.

    """
    request = Request(
        argv=command.argv,
        env=command.env,
        cwd=str(command.cwd),
        descriptors=command.pass_fds,
        limits={name: resource.getrlimit(getattr(resource, name)) for name in _LIMITS},
    )
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setblocking(False)  # noqa: FBT003 - positional only
    with theirs, contextlib.ExitStack() as undo:
        undo.callback(ours.close)
        socket.send_fds(process.socket, [request.to_packet()], [theirs.fileno(), *ends, *command.pass_fds])
        undo.pop_all()
    return ours


async def _collect(report: socket.socket, said: dict[str, Any]) -> None:
    """Collect what is reported of a fork until all is said."""
    while not ('cold' in said or ('pid' in said and ('ready' in said or 'error' in said))):
        packet = await _receive(report)
        said.update(json.loads(packet) if packet else {'cold': 'the forked process has ended'})


async def _receive(source: socket.socket) -> bytes:
    """Return the next packet; empty at the end."""
    try:
        return await asyncio.get_running_loop().sock_recv(source, PACKET_LIMIT)
    except ConnectionResetError:
        return b''


def _discard(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, ChildProcessError):
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def _take_orphans(count: int) -> None:
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, int(count > 0))
