"""A coordinator as a whole: from the command line's options to its end."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import os
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rclpy.exceptions import InvalidParameterTypeException, InvalidParameterValueException
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.logging import LoggingSeverity, get_logger
from std_srvs.srv import Trigger

from adora_ros.coordinator import labels, machines, overview, protocol
from adora_ros.coordinator.dispatch import Dispatch
from adora_ros.coordinator.fallback import FallbackStore
from adora_ros.coordinator.intake import Intake
from adora_ros.coordinator.limits import Recovery
from adora_ros.coordinator.node import CoordinatorNode
from adora_ros.coordinator.opening import open_or_fall_back
from adora_ros.coordinator.orders import Orders
from adora_ros.coordinator.parameters import RecordParameters
from adora_ros.coordinator.records import DataflowRecord, MachineRecord
from adora_ros.coordinator.registry import Registry
from adora_ros.coordinator.storenode import StoreNode
from adora_ros.coordinator.summary import summary
from adora_ros.errors import AdoraError, CoordinatorError, ManagerError, TransportError
from adora_ros.transport import dds
from adora_ros.transport.claims import NameClaim
from adora_ros.transport.rosthread import RosThread

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from adora_ros.coordinator.protocol import Report
    from adora_ros.coordinator.records import Record
    from adora_ros.coordinator.store import CoordinatorStore

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
DIAGNOSTICS_PERIOD = 1.0
"""Seconds between two messages on ``/diagnostics``, as far as a tick allows."""
TICK = 0.5
"""Seconds between two looks at who has been silent for too long."""
SETTLE = 5.0
"""Seconds that it may take to hand over what ROS has received."""
ASK_TIMEOUT = 3.0
"""Seconds that a manager has to give a full report."""
PATIENCE = 30.0
"""Seconds that a service waits for the thread that owns the records."""
SAME_SIGNAL = 1.0
"""Seconds within which a further signal is the first one once more, from a terminal and from launch for example."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What a coordinator is told.

    Attributes:
        store: ``memory``, ``sqlite`` or ``sqlite:PATH``.
        recovery: What to do with dataflows that were not final when the last coordinator ended.
        linger: Seconds that the end waits for dataflows that are under way, so that theirs is recorded.

    """

    store: str = 'memory'
    recovery: Recovery = Recovery.ADOPT
    linger: float = 0.0


class Coordinator:
    """Owns the records on the event loop, and talks ROS on a thread of its own."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._log: Any = get_logger('adora.coordinator')
        self._asking: dict[tuple[str, str], asyncio.Task[None]] = {}
        self._later: dict[tuple[str, str], Report] = {}
        self._told: float | None = None
        self._hurried = False
        self._diagnosis_due = 0.0

    async def main(self) -> int:
        """Run until a signal comes; return the exit code.

        Raises:
            CoordinatorError: the options are wrong, or the ROS domain has a coordinator already.
            StoreVersionError: the database is one of another version.

        """
        self._loop = asyncio.get_running_loop()
        self._signal = asyncio.Event()
        claim = _claim()
        for number in STOP_SIGNALS:
            self._loop.add_signal_handler(number, self._signalled)
        try:
            store, kind = open_or_fall_back(self._options.store, warn=self.warn)
            try:
                await self._serve(store, kind)
            finally:
                store.close()
        finally:
            for number in STOP_SIGNALS:
                self._loop.remove_signal_handler(number)
            claim.release()
        return 0

    async def _serve(self, store: CoordinatorStore, kind: str) -> None:
        dds.clean_segments()
        os.environ.update(dds.environment_for_all('adora', os.environ))
        self._ros = RosThread()
        try:
            self._start(store)
            unfinished = self._registry.recover(self._options.recovery, self._loop.time())
            self._ros.start()
            known = len(self._registry.list(DataflowRecord))
            self._log.info(f'coordinator ready: store {kind}, {known} dataflows, {unfinished} of them not final')
            await self._run(store)
        finally:
            for task in tuple(self._asking.values()):
                task.cancel()
            # Off the loop, which a service that is being answered may need.
            await self._loop.run_in_executor(None, self._ros.close)

    def _start(self, store: CoordinatorStore) -> None:
        intake = Intake(self._loop, self._together)
        try:
            self._node = self._ros.add(
                lambda context: CoordinatorNode(
                    context=context,
                    on_report=intake.handing(self._take_text),
                    on_machine=intake.handing(self._take_machine),
                    overview=lambda: str(self._on_loop(self._overview)),
                )
            )
        except (InvalidParameterTypeException, InvalidParameterValueException) as error:
            msg = f'{error}; the timeouts are numbers of seconds with a decimal point, such as 30.0'
            raise CoordinatorError(msg) from error
        self._registry = Registry(store, observer=self, limits=self._node.limits, label=labels.now)
        self._orders = Orders(self._registry)
        self._dispatch = Dispatch(
            self._ros, self._node, self._registry, self._orders, guarded=self._guarded, warn=self.warn
        )
        records = RecordParameters(self._registry, accept=self._orders.accept, clock=self._loop.time, label=labels.now)
        self._store_node = self._ros.add(
            lambda context: StoreNode(context=context, records=records, on_owner=self._on_loop)
        )

    async def _run(self, store: CoordinatorStore) -> None:
        while not self._ends():
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._signal.wait(), TICK)
            self._signal.clear()
            if self._registry.tick(self._loop.time(), TICK):
                await self._ros.settled(SETTLE)
                self._guarded(lambda: self._registry.judge(self._loop.time()))
            self._dispatch.go_on(self._loop.time())
            self._diagnose(self._loop.time())
            if isinstance(store, FallbackStore):
                store.save()
        self._dispatch.close()
        self._guarded(self._registry.shut_down)
        self._log.info('coordinator ending')

    def _diagnose(self, now: float) -> None:
        if now >= self._diagnosis_due:
            self._diagnosis_due = now + DIAGNOSTICS_PERIOD
            known = self._registry.list(MachineRecord)
            self._node.publish_diagnostics(summary(known, lambda machine: self._registry.heartbeat_age(machine, now)))

    def _signalled(self) -> None:
        now = self._loop.time()
        if self._told is None:
            self._told = now
        elif now - self._told >= SAME_SIGNAL:
            self._hurried = True
        self._signal.set()

    def _ends(self) -> bool:
        """Return whether to end: a first signal waits for what is under way, a second one for nothing."""
        if self._told is None or self._hurried:
            return self._hurried
        return self._loop.time() >= self._told + self._options.linger or not self._registry.under_way

    def _guarded(self, work: Callable[[], None]) -> None:
        """Do what may be refused for one record without giving up on all others."""
        try:
            work()
        except AdoraError as error:
            self.warn(str(error))

    # Observer of the records

    def changed(self, before: Record | None, after: Record | None) -> None:
        """Publish a change, as parameters, and as an event if a dataflow made a step."""
        self._store_node.publish_change(before, after)
        self._orders.changed(after)
        if not isinstance(after, DataflowRecord):
            return
        if isinstance(before, DataflowRecord) and before.status is after.status:
            return
        text = f'dataflow {after.name} is {after.status.value}' + (f': {after.error}' if after.error else '')
        self._note(f'{text} ({after.uuid})')
        facts = {'dataflow': after.name, 'uuid': after.uuid, 'status': after.status.value, 'error': after.error}
        self._node.publish_event('DataflowChanged', text, warn=bool(after.error), **facts)

    def _note(self, text: str) -> None:
        """Log one line of many: the logger itself looks up its caller's file, which takes longer than all of a step."""
        rclpy_implementation.rclpy_logging_rcutils_log(
            LoggingSeverity.INFO, self._log.name, text, self.changed.__name__, __file__, 0
        )

    def machine_lost(self, machine: str, age: float) -> None:
        """Tell everybody that a machine fell silent."""
        text = f'peer daemon disconnected daemon_id={machine}'
        self.warn(f'{text}, not heard of for {age:.1f} s')
        self._node.publish_event('PeerDaemonDisconnected', text, warn=True, machine=machine, age=f'{age:.3f}')

    def machine_back(self, machine: str) -> None:
        """Tell everybody that a machine is back."""
        text = f'peer daemon connected daemon_id={machine}'
        self._log.info(text)
        self._node.publish_event('PeerDaemonConnected', text, machine=machine)

    def warn(self, text: str) -> None:
        """Log one line."""
        self._log.warning(text)

    # Reports

    def _together(self) -> AbstractContextManager[None]:
        """Return what writes at once all that changes within it."""
        return self._registry.together()

    def _take_text(self, text: str) -> None:
        try:
            report = protocol.decode(text)
        except TransportError as error:
            self._log.warning(f'{protocol.TOPIC}: {error}', throttle_duration_sec=5.0)
            return
        self._guarded(lambda: self._take(report))

    def _take_machine(self, text: str) -> None:
        try:
            report = machines.decode_report(text)
        except TransportError as error:
            self._log.warning(f'{machines.TOPIC}: {error}', throttle_duration_sec=5.0)
            return
        self._orders.waits(report)
        self._guarded(lambda: self._registry.hear_machine(report, self._loop.time()))
        self._dispatch.go_on(self._loop.time())

    def _take(self, report: Report) -> None:
        self._orders.reported(report)
        source = (report.run, report.machine)
        if source in self._asking:
            self._later[source] = report
        elif self._registry.take(report, self._loop.time()):
            self._asking[source] = self._loop.create_task(self._ask(report))

    async def _ask(self, report: Report) -> None:
        """Ask a manager for what is missing; if it does not say, take what is known."""
        source = (report.run, report.machine)
        client: Any = None
        try:
            client = self._node.create_client(Trigger, report.service)
            answer = await self._ros.call(client, Trigger.Request(), ASK_TIMEOUT)
            full = protocol.decode(answer.message)
            self._guarded(lambda: self._finish(full))
        except (asyncio.TimeoutError, TransportError, RuntimeError, ValueError) as error:
            self.warn(f'{report.service} gave no full report: {str(error) or "no answer"}')
            self._guarded(lambda: self._finish(self._later.get(source, report)))
        finally:
            if client is not None:
                self._node.destroy_client(client)
            del self._asking[source]
        later = self._later.pop(source, None)
        if later is not None:
            self._guarded(lambda: self._take(later))

    def _finish(self, report: Report) -> None:
        self._registry.take(report, self._loop.time(), final_word=True)

    # What services ask for, on the ROS thread

    def _overview(self) -> str:
        return overview.encode(self._registry, self._orders, self._loop.time())

    def _on_loop(self, work: Callable[[], Any]) -> Any:
        async def call() -> Any:
            return work()

        future = asyncio.run_coroutine_threadsafe(call(), self._loop)
        try:
            return future.result(PATIENCE)
        except concurrent.futures.TimeoutError as error:
            future.cancel()
            msg = f'the coordinator is busy, and did not answer within {PATIENCE:g} s'
            raise CoordinatorError(msg) from error


def _claim() -> NameClaim:
    try:
        return NameClaim(protocol.COORDINATOR)
    except ManagerError as error:
        msg = f'{str(error).partition(";")[0]}; a ROS domain has one coordinator: stop it, or use another domain'
        raise CoordinatorError(msg) from error
