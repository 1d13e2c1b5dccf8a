"""One incarnation of a node: its process, its sockets, its deadlines and its end."""

from __future__ import annotations

import asyncio
import os
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from adora_ros.dataflow import NodeKind
from adora_ros.errors import DataflowError, TransportError
from adora_ros.inputs import StopCause
from adora_ros.manager.lifecycle import ControlDriver
from adora_ros.manager.notify import NotifySocket, in_group
from adora_ros.supervision import Exit, ExitCause
from adora_ros.transport.contract import ManagerOp, NodeOp
from adora_ros.transport.leaving import LOCKED_UP

if TYPE_CHECKING:
    from collections.abc import Callable

    from adora_ros.dataflow import Dataflow, NodeSpec
    from adora_ros.manager.control import ControlSocket
    from adora_ros.manager.processes import Child
    from adora_ros.transport.lifepage import LifePage

SIGKILL_SHARE = 1.5
"""SIGKILL follows a stop request after this multiple of the grace."""
LEFTOVER_GRACE = 0.5
"""Seconds from SIGTERM to SIGKILL for what a node leaves behind in its process group."""
DETACH_GRACE = 1.0
"""Seconds from the stop request after which a process that somebody else started is no longer part of the dataflow."""
GROUP_POLL = 0.005
"""Seconds between two looks at a process group that is being ended."""


def stop_ladder(dataflow: Dataflow) -> float:
    """Return the seconds after which the last process of a dataflow that is being stopped gets SIGKILL."""
    return max((node.stop_grace for node in dataflow.nodes), default=0.0) * SIGKILL_SHARE


class Owner(Protocol):
    """Whoever keeps an incarnation and is told about it; all calls come on the event loop."""

    def connected(self, incarnation: Incarnation) -> None:
        """The process is ready (``READY=1``)."""

    def input_changed(self, incarnation: Incarnation, packet: dict[str, Any]) -> None:
        """The process reports an input that fell silent or recovered."""

    def status_text(self, incarnation: Incarnation, text: str) -> None:
        """The process describes itself (``STATUS=``)."""

    def overdue(self, incarnation: Incarnation, cause: ExitCause, detail: str) -> None:
        """A deadline of the process has passed and it is being killed."""

    def input_opened(self, incarnation: Incarnation, input_id: str) -> None:
        """The process reports the first message on an input."""

    def warned(self, incarnation: Incarnation, text: str) -> None:
        """The process reports something that is wrong and that it outlives."""

    def stop_asked(self, incarnation: Incarnation, reason: str) -> None:
        """The process asks for the end of the whole dataflow."""

    def misbehaved(self, incarnation: Incarnation, error: str) -> None:
        """The process sent something that is not of the contract."""

    def exited(self, incarnation: Incarnation, end: Exit) -> None:
        """The process itself has ended; some of its group may be left."""

    def ended(self, incarnation: Incarnation, end: Exit) -> None:
        """The process and its whole group are gone."""


@dataclass(frozen=True, kw_only=True)
class Channels:
    """What an incarnation speaks through, made before its process."""

    notify: NotifySocket
    control: ControlSocket
    life: LifePage
    end: int
    """Read end of a pipe that ends when the process begins to end, or says nothing."""


class Incarnation:
    """Watches over one process from its spawn until its whole process group is gone."""

    def __init__(
        self,
        spec: NodeSpec,
        number: int,
        child: Child,
        channels: Channels,
        owner: Owner,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self.spec = spec
        self.number = number
        self.child = child
        self.driver = ControlDriver(channels.control, loop)
        self.is_connected = False
        self.is_drivable = False
        self.payload_fallbacks = 0
        self.payload_drops = 0
        self._last_notified: float | None = None
        self._channels = channels
        self._owner = owner
        self._loop = loop
        self._kill_cause: ExitCause | None = None
        self._kill_detail = ''
        self._after_grace = False
        self._stop_asked = False
        self._gone = False
        self._is_leaving = False
        self._end: Exit | None = None
        self._busy = 0
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._ending: asyncio.Task[None] | None = None
        self.bringing_up: asyncio.Task[None] | None = None
        self._watch()

    def _watch(self) -> None:
        self._loop.add_reader(self._channels.notify, self._on_notify)
        self._loop.add_reader(self._channels.control, self._on_control)
        self._loop.add_reader(self._channels.end, self._on_last_sign)
        self._loop.add_reader(self.child.pidfd, self._on_exit)
        if self.spec.startup_timeout is not None:
            self._arm('startup', self.spec.startup_timeout, self._startup_overdue)

    # What is asked of the process

    def tell(self, op: ManagerOp, /, **keys: Any) -> None:
        """Send a control packet to a Node API process; other processes have no use for it."""
        self._channels.control.send(op, **keys)

    def stop(self, grace: float, *, ask: Callable[[], None] | None = None) -> None:
        """Begin the stop ladder: a request at once, SIGTERM after ``grace`` seconds, SIGKILL half as long later.

        Args:
            grace: Seconds.
            ask: How to make the request; by default STOP for a process that uses the Node API, else SIGINT.

        """
        self._disarm()
        if self._gone:
            return
        self._stop_asked = True
        if ask is not None:
            ask()
        elif self.is_drivable:
            self.tell(ManagerOp.STOP, cause=StopCause.MANUAL.value)
        else:
            self.interrupt()
        if self.spec.kind is NodeKind.DYNAMIC:
            self._arm('detach', DETACH_GRACE, self._on_exit)
            return
        self._arm('term', grace, lambda: self.child.signal_group(signal.SIGTERM))
        self._arm('kill', grace * SIGKILL_SHARE, self._kill_after_grace)

    def interrupt(self) -> None:
        """Send SIGINT."""
        self.child.signal_group(signal.SIGINT)

    def terminate(self) -> None:
        """Skip to SIGTERM."""
        self.child.signal_group(signal.SIGTERM)

    def kill(self, cause: ExitCause | None, detail: str = '') -> None:
        """Kill the group; ``cause`` and ``detail`` go into the exit record, None for a stop that was not obeyed."""
        if self._gone or self._kill_cause is not None:
            return
        self._kill_cause = cause
        self._kill_detail = detail
        self._after_grace = cause is None
        self._disarm()
        self.child.signal_group(signal.SIGKILL)
        if self.spec.kind is NodeKind.DYNAMIC:
            self._loop.call_soon(self._on_exit)

    def transition_begins(self) -> None:
        """Suspend the health check: a transition has a deadline of its own."""
        self._busy += 1

    def transition_ends(self) -> None:
        """Resume the health check, with the whole timeout ahead."""
        self._busy -= 1
        self.alive()

    def alive(self) -> None:
        """Take a proof of life."""
        self._last_notified = self._loop.time()
        timeout = self.spec.health_check_timeout
        if timeout is not None and self.is_connected and 'health' not in self._timers and not self._is_ending:
            self._arm('health', timeout, self._check_health)

    @property
    def last_activity(self) -> float | None:
        """Steady time in seconds of the last proof of life, None before the first."""
        written = self._channels.life.read()
        if written is None or self._last_notified is None:
            return self._last_notified
        return max(self._last_notified, min(written, self._loop.time()))

    @property
    def is_stopping(self) -> bool:
        """Whether the process was asked to stop."""
        return self._stop_asked

    @property
    def _is_ending(self) -> bool:
        return self._stop_asked or self._gone or self._kill_cause is not None

    def connect(self) -> None:
        """Take it that the process is ready."""
        if not self.is_connected:
            self.is_connected = True
            self._disarm('startup')
            self._owner.connected(self)

    # What the process says

    def _on_notify(self) -> None:
        is_outside = self.spec.kind is NodeKind.DYNAMIC
        for variables in self._channels.notify.drain(self._is_member):
            if variables.get('READY') == '1':
                self._on_control()
                self.connect()
            if 'STATUS' in variables:
                self._owner.status_text(self, variables['STATUS'])
            self.alive()
            if variables.get('STOPPING') == '1':
                self._is_leaving = True
                if is_outside:
                    self._loop.call_soon(self._on_exit)

    def _is_member(self, pid: int) -> bool:
        """Return whether a process belongs to the node."""
        if self.spec.kind is NodeKind.DYNAMIC:
            return pid == self.child.pid
        return in_group(pid, self.child.pid)

    def _on_control(self) -> None:
        try:
            for packet in self._channels.control.drain():
                self._take(packet)
        except (TransportError, DataflowError, KeyError, TypeError, ValueError) as error:
            self._owner.misbehaved(self, f'bad control packet: {error!r}')

    def _take(self, packet: dict[str, Any]) -> None:
        op = packet['op']
        if op == NodeOp.HELLO.value:
            self.is_drivable = True
            self.driver.last_state = packet['state']
        elif op == NodeOp.STATE.value:
            self.driver.last_state = packet['state']
        elif op == NodeOp.REPLY.value:
            self.driver.replied(packet)
        elif op in {NodeOp.INPUT_CLOSED.value, NodeOp.INPUT_RECOVERED.value}:
            self._owner.input_changed(self, packet)
        elif op == NodeOp.INPUT_OPENED.value:
            self._owner.input_opened(self, packet['input'])
        elif op == NodeOp.COUNTS.value:
            self.payload_fallbacks, self.payload_drops = packet['payload_fallbacks'], packet['payload_drops']
        elif op == NodeOp.WARNING.value:
            self._owner.warned(self, packet['text'])
        elif op == NodeOp.STOP_DATAFLOW.value:
            self._owner.stop_asked(self, packet['reason'])

    # Deadlines

    def _arm(self, name: str, delay: float, action: Callable[[], Any]) -> None:
        self._timers[name] = self._loop.call_later(delay, action)

    def _disarm(self, *names: str) -> None:
        for name in names or tuple(self._timers):
            handle = self._timers.pop(name, None)
            if handle is not None:
                handle.cancel()

    def _startup_overdue(self) -> None:
        self._on_notify()
        if not self.is_connected:
            limit = self.spec.startup_timeout
            self._overdue(ExitCause.STARTUP_TIMEOUT, f'not connected after {limit:g} s')

    def _check_health(self) -> None:
        """Kill if the last proof of life is too old, after reading what may wait in the socket; else look again."""
        del self._timers['health']
        self._on_notify()
        timeout, last = self.spec.health_check_timeout, self.last_activity
        if timeout is None or last is None or self._is_ending:
            return
        silence = self._loop.time() - last
        if self._busy:
            self._disarm('health')
        elif silence < timeout:
            self._disarm('health')
            self._arm('health', timeout - silence, self._check_health)
        else:
            self._overdue(ExitCause.HEALTH_CHECK, f'silent for {silence:.2f} s (health_check_timeout {timeout:g})')

    def _overdue(self, cause: ExitCause, detail: str) -> None:
        self.kill(cause, detail)
        self._owner.overdue(self, cause, detail)

    def _kill_after_grace(self) -> None:
        self.kill(None)

    # The end

    def _on_last_sign(self) -> None:
        """Record a failure that the kernel knows of before it is done with the process."""
        self._loop.remove_reader(self._channels.end)
        code = self.child.failure()
        if code is not None:
            self._exited(code)

    def _on_exit(self) -> None:
        """Take it that the process has ended, or is no longer part of the dataflow."""
        if self._ending is not None:
            return
        self._loop.remove_reader(self.child.pidfd)
        self._loop.remove_reader(self._channels.end)
        os.close(self._channels.end)
        end = self._exited(self.child.reap())
        self._ending = self._loop.create_task(self._end_group(end))

    def _exited(self, code: int) -> Exit:
        """Return what becomes of an exit, and record it once."""
        if self._end is not None:
            return self._end
        self._gone = True
        self._disarm()
        self._on_notify()
        self._on_control()
        self._loop.remove_reader(self._channels.notify)
        self._channels.notify.close()
        self._channels.control.close()
        if self.bringing_up is not None:
            self.bringing_up.cancel()
        self._end = self._classify(code)
        self._owner.exited(self, self._end)
        return self._end

    def _classify(self, code: int) -> Exit:
        name = _signal_name(-code) if code < 0 else None
        if self._kill_cause is not None:
            cause = self._kill_cause
        elif self.spec.kind is NodeKind.DYNAMIC:
            return Exit(cause=ExitCause.DETACHED)
        elif self._is_leaving and code == -LOCKED_UP:
            self._owner.warned(self, 'it had ended, and then locked up while it left ROS')
            return Exit(cause=ExitCause.CLEAN, code=0)
        elif name is not None:
            cause = ExitCause.SIGNAL
        else:
            cause = ExitCause.CLEAN if code == 0 else ExitCause.ERROR
        return Exit(
            cause=cause,
            code=code if code >= 0 else None,
            signal=name,
            detail=self._kill_detail,
            after_grace=self._after_grace,
        )

    async def _end_group(self, end: Exit) -> None:
        """Wait until nothing of the process is left, and see to it that this does not take long."""
        deadline = self._loop.time() + LEFTOVER_GRACE
        self.child.signal_group(signal.SIGTERM)
        while not self.child.group_is_gone():
            if self._loop.time() >= deadline:
                self.child.signal_group(signal.SIGKILL)
            await asyncio.sleep(GROUP_POLL)
        self._owner.ended(self, end)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f'signal {number}'


def socket_address(run_id: str) -> str:
    """Return an abstract address for an incarnation's notify socket.

    It cannot be guessed, and fits into the 108 bytes of ``sun_path`` whatever the node is called.
    """
    return f'adora/{run_id}/{os.urandom(8).hex()}'
