"""A manager as a whole: from a dataflow file to an exit code."""

from __future__ import annotations

import asyncio
import concurrent.futures
import dataclasses
import functools
import signal
from typing import TYPE_CHECKING, Any

from adora_ros.errors import AdoraError, DataflowError, ManagerError
from adora_ros.manager.commands import Commands
from adora_ros.manager.discovery import Discovery
from adora_ros.manager.events import DataflowStatus, EventKind, Level, ManagerEvent, NodeStatus
from adora_ros.manager.incarnation import SIGKILL_SHARE, stop_ladder
from adora_ros.manager.journal import Journal
from adora_ros.manager.logfile import LogFile
from adora_ros.manager.logs import LogPump
from adora_ros.manager.options import Listener, Options, Outcome
from adora_ros.manager.phase import PhaseKeeper
from adora_ros.manager.preparation import label, new_context, new_means, run_facts, variables
from adora_ros.manager.processes import STOP_SIGNALS, survives_hangup, use_default_signals
from adora_ros.manager.reporting import Reporting
from adora_ros.manager.ros import ManagerThread
from adora_ros.manager.run import Run
from adora_ros.manager.runfile import RunFile
from adora_ros.manager.status import StatusCollector, dataflow_state
from adora_ros.supervision import Counters, Result
from adora_ros.transport import dds
from adora_ros.transport.claims import NameClaim

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from adora_ros.dataflow import Dataflow
    from adora_ros.manager.environment import RunContext
    from adora_ros.manager.warm import WarmStarts

STATUS_PERIOD = 1.0
"""Seconds between two publications of an unchanged status."""
STATUS_DELAY = 0.05
"""Seconds for which changes are collected before the status is published."""
KILLING_SIGNAL = 3
"""Which stop signal in a row goes straight to SIGKILL; the one before it goes to SIGTERM."""
ACTIVATION_PATIENCE = 60.0
"""Seconds that starting the processes of a dataflow may take on a machine that is busy with something else."""
PATIENCE = 10.0
"""Seconds that a lifecycle transition of the manager may take beyond the stop ladder of the slowest node."""


class Manager:
    """Runs one dataflow at a time and is driven by its lifecycle.

    :meth:`main` runs on the event loop. :meth:`stop` may be called from any thread. The methods of
    :class:`adora_ros.manager.ros.Control` are called on the ROS thread or a worker thread and wait for the loop.
    """

    def __init__(
        self,
        options: Options,
        listener: Listener,
        *,
        dataflow: Dataflow | None = None,
        warm: WarmStarts | None = None,
    ) -> None:
        """Prepare a manager.

        Args:
            options: What to run and how.
            listener: Whoever shows what happens.
            dataflow: The dataflow, if it has been loaded already.
            warm: Starts nodes warm, and is closed with the manager; None to start all of them cold.

        """
        self._warm = warm
        self._options = options
        self._listener = listener
        self._dataflow = dataflow
        self._journal = Journal()
        self._collector = StatusCollector()
        self._counters = Counters()
        self._run: Run | None = None
        self._context: RunContext | None = None
        self._result: Result | None = None
        self._statuses: tuple[NodeStatus, ...] = ()
        self._failure = ''
        self._phase = PhaseKeeper()
        self._run_file: RunFile | None = None
        self._started = 0.0
        self._kept = False
        self._signals: list[int] = []
        self._interrupted = False
        self._closing = False
        self._watching: asyncio.Task[None] | None = None
        self._status_due: asyncio.TimerHandle | None = None

    # The whole

    async def main(self) -> Outcome:
        """Run until the dataflow or the manager is stopped.

        Raises:
            DataflowError: the dataflow is to be started at once and cannot be loaded.
            ManagerError: another manager runs a dataflow of this name, or no log folder can be written.

        """
        self._loop = asyncio.get_running_loop()
        self._done = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        claim = NameClaim(f'{self._options.namespace}/{self._options.node_name}')
        use_default_signals(hold=STOP_SIGNALS)
        handled = [number for number in STOP_SIGNALS if number != signal.SIGHUP or not survives_hangup()]
        for number in handled:
            self._loop.add_signal_handler(number, self._on_signal, number)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)
        try:
            return await self._main()
        finally:
            for number in handled:
                self._loop.remove_signal_handler(number)
            claim.release()

    async def _main(self) -> Outcome:
        options = self._options
        if self._dataflow is None and options.autostart:
            self._dataflow = options.load()
        dds.clean_segments()
        self._discovery = Discovery(options, self._dataflow)
        self._pump = LogPump(self._listener.output, complain=self._complain)
        with variables(self._discovery.env):
            self._ros = ManagerThread(options.node_name, options.namespace, control=self, machine=options.machine)
        node = self._ros.node
        self._reporting = Reporting(node, options.machine)
        told = (self._phase.take, self._listener.event, node.publish_event, self._log_event, self._on_event)
        self._commands = Commands(node, self._loop)
        for listener in (*told, self._reporting.event, self._commands.take):
            self._journal.listen(listener)
        if self._warm is not None:
            self._warm.attach(lambda text: self._journal.write(EventKind.WARNING, text))
        try:
            return await self._serve()
        finally:
            for part in (self._warm, self._pump, self._ros, self._discovery):
                if part is not None:
                    part.close()

    async def _serve(self) -> Outcome:
        ticker = self._loop.create_task(self._tick())
        self._publish_status()
        try:
            if self._options.autostart and not self._signals:
                await self._autostart()
            await self._done.wait()
        finally:
            self._end('the manager ends')
            await self._idle.wait()
            ticker.cancel()
        if self._watching is not None:
            await self._watching
        await self._trigger(self._ros.node.end)
        return self._outcome()

    async def _autostart(self) -> None:
        await self._trigger(self._ros.node.trigger_configure)
        await self._trigger(self._ros.node.trigger_activate)
        if self._failure and not self._closing:
            raise ManagerError(self._failure)
        if self._options.stop_after is not None:
            self._loop.call_later(self._options.stop_after, self._end, 'time is up')

    async def _trigger(self, transition: Callable[[], Any]) -> None:
        """Make a transition of the manager's node off the loop, since its callback waits for the loop."""
        await self._loop.run_in_executor(self._ros.node.transitions, transition)

    def _outcome(self) -> Outcome:
        code = 128 + self._signals[0] if self._interrupted else 0
        if self._result is not None and not self._result.ok:
            code = 1
        folder = None if self._context is None else self._context.folder
        return Outcome(exit_code=code, result=self._result, statuses=self._statuses, folder=folder)

    # Stopping

    def stop(self, reason: str = 'stop requested') -> None:
        """Stop the dataflow by the ladder, then end; from any thread."""
        self._loop.call_soon_threadsafe(self._end, reason)

    def _end(self, reason: str) -> None:
        self._closing = True
        self._ros.node.begin_end()
        if self._run is None:
            self._done.set()
        else:
            self._run.stop(reason)

    def _on_signal(self, number: int) -> None:
        """Stop at the first signal, skip to SIGTERM at the second, to SIGKILL at the third."""
        self._signals.append(number)
        self._interrupted = self._interrupted or self._run is not None or self._options.autostart
        if self._run is not None and len(self._signals) > 1:
            self._run.hurry(kill=len(self._signals) >= KILLING_SIGNAL)
        self._end(signal.Signals(number).name)

    # What the lifecycle and the services ask for, on other threads

    def configure(self) -> str:
        """Load and validate the dataflow."""
        try:
            if self._dataflow is None:
                self._dataflow = self._options.load()
        except DataflowError as error:
            return self._refuse(str(error))
        return ''

    def cleanup(self) -> str:
        """Forget the dataflow, so that the file is read again."""
        self._dataflow = None
        return ''

    def activate(self) -> str:
        """Start the dataflow; it is up when the status says so."""
        self._failure = self._refuse(self._on_loop(self._activate(), ACTIVATION_PATIENCE))
        return self._failure

    def deactivate(self) -> str:
        """Stop the dataflow and wait until nothing of it is left."""
        ladder = 0.0 if self._dataflow is None else stop_ladder(self._dataflow)
        return self._on_loop(self._deactivate(), ladder + PATIENCE)

    def shutdown(self) -> str:
        """Stop the dataflow, wait until nothing of it is left, and end the manager."""
        error = self.deactivate()
        self.stop('shut down')
        return error

    def keep(self, *, through_stop: bool) -> None:
        """Stay when the dataflow has been stopped, or end with it again."""
        self._kept = through_stop

    def give_up(self, error: str) -> None:
        """End, since nothing runs any more, unless the manager waits for its lifecycle to be driven."""
        self._ros.node.get_logger().error(self._failure or error)
        if self._options.autostart:
            self.stop(error)

    def command(self, verb: str, node: str) -> str:
        """Restart, stop or start one node."""
        return self._on_loop(self._command(verb, node), PATIENCE)

    def _refuse(self, error: str) -> str:
        """Log why a transition is refused, unless :meth:`main` raises it, and return it."""
        if error and not self._options.autostart:
            self._ros.node.get_logger().error(error)
        return error

    def _on_loop(self, work: Coroutine[Any, Any, str], timeout: float) -> str:
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result(timeout)
        except concurrent.futures.TimeoutError:
            future.cancel()
            return f'not done within {timeout:g} s'
        except AdoraError as error:
            return str(error)
        except Exception as error:  # noqa: BLE001 - whoever asked must get an answer
            context = {'message': 'request failed', 'exception': error}
            self._loop.call_soon_threadsafe(self._loop.call_exception_handler, context)
            return f'internal error: {error!r}'

    async def _command(self, verb: str, node: str) -> str:
        run = self._run
        if run is None or run.supervisor.stopping:
            return 'the dataflow is not running'
        {'restart': run.restart_node, 'stop': run.stop_node, 'start': run.start_node}[verb](node)
        return ''

    async def _activate(self) -> str:
        dataflow = self._dataflow
        if dataflow is None:
            return 'no dataflow is loaded'
        if self._closing:
            return 'the manager is ending'
        self._context = context = new_context(self._options, dataflow, self._discovery)
        self._run_file = RunFile(context.folder, run_facts(self._options, context))
        self._started = self._loop.time()
        self._log = LogFile(context.folder / 'manager.log')
        means = new_means(context, self._ros, self._pump, self._journal, self._warm, self._discovery)
        self._run = Run(context, means, self._counters)
        self._idle.clear()
        self._reporting.begin(context, expected=bool(self._options.run_id))
        self._options = dataclasses.replace(self._options, run_id='')
        self._commands.begin([node for node in dataflow.nodes if node.id in context.local])
        for warning in dataflow.warnings:
            self._journal.write(EventKind.WARNING, str(warning))
        self._run.start()
        self._watching = self._loop.create_task(self._watch(self._run))
        return ''

    async def _deactivate(self) -> str:
        if self._run is not None:
            self._run.stop('deactivated', everywhere=True)
            self._limit_grace(self._run, self._ros.node.take_stop_grace())
        await self._idle.wait()
        return ''

    def _limit_grace(self, run: Run, grace: float | None) -> None:
        """Skip to SIGTERM after ``grace`` seconds, and to SIGKILL half as long later."""
        if grace is not None:
            self._loop.call_later(grace, functools.partial(run.hurry, kill=False))
            self._loop.call_later(grace * SIGKILL_SHARE, functools.partial(run.hurry, kill=True))

    async def _watch(self, run: Run) -> None:
        """Wait for the end of a run, and let whoever waits for it go on."""
        try:
            await self._wind_up(run)
        finally:
            self._run = None
            self._idle.set()
            if self._closing or (self._options.autostart and not self._kept):
                self._done.set()
        if not (self._done.is_set() or run.supervisor.stopping):
            await self._trigger(self._ros.node.stand_down)

    async def _wind_up(self, run: Run) -> None:
        """Wait for the end of a run and leave nothing of it."""
        await run.wait()
        if self._closing and self._warm is not None:
            self._warm.dismiss()
        if self._options.autostart and not self._kept:
            self._ros.node.begin_end()
        self._result = await run.close()
        if self._run_file is not None:
            self._run_file.end(stamp=label(), error=self._result.error)
        self._counters = run.counters
        self._publish_status()
        self._collector.close()
        self._run = None
        self._commands.end()
        self._pump.release(self._log)
        await self._reporting.end()
        dds.clean_segments()

    # Events and status

    def _on_event(self, event: ManagerEvent) -> None:
        """Publish the status soon; everything that happens within a moment goes into one."""
        del event
        if self._status_due is None:
            self._status_due = self._loop.call_later(STATUS_DELAY, self._publish_status)

    def _complain(self, text: str) -> None:
        """Note what the log thread says is wrong."""
        note = functools.partial(self._journal.write, EventKind.WARNING, text, level=Level.WARN)
        self._loop.call_soon_threadsafe(note)

    def _log_event(self, event: ManagerEvent) -> None:
        subject = f'{event.node}[{event.incarnation}] ' if event.node else ''
        self._pump.write(self._log, f'{event.level.value} {event.kind.value} {subject}{event.text}')

    def _publish_status(self) -> None:
        if self._status_due is not None:
            self._status_due.cancel()
            self._status_due = None
        if self._run is not None:
            self._statuses = self._collector.collect(self._run, self._loop.time())
        self._ros.node.publish_status(self._dataflow_status(), self._statuses)

    def _dataflow_status(self) -> DataflowStatus:
        return dataflow_state(
            self._options,
            self._context,
            self._run,
            phase=self._phase.phase.value,
            error=self._phase.error,
            up_s=None if self._run is None else self._loop.time() - self._started,
            counters=self._counters if self._run is None else self._run.counters,
        )

    async def _tick(self) -> None:
        """Publish the status once a second, and the counters when one has changed since the last sweep."""
        sweep = self._loop.time()
        while True:
            await asyncio.sleep(STATUS_PERIOD)
            if self._run is None:
                continue
            self._collector.measure(self._run)
            self._publish_status()
            if self._loop.time() - sweep >= self._run.context.dataflow.health_check_interval:
                sweep = self._loop.time()
                self._run.report_counters()
