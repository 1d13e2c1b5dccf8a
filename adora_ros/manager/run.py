"""One run of a dataflow: carries out what supervision decides, and tells it what happens."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any

from adora_ros.dataflow import NodeKind, RestartPolicy
from adora_ros.manager.attaching import Attachments
from adora_ros.manager.bringup import BringUp
from adora_ros.manager.events import EventKind, Level
from adora_ros.manager.guard import Guard
from adora_ros.manager.incarnation import stop_ladder
from adora_ros.manager.inputaccounts import InputAccounts
from adora_ros.manager.launcher import Launcher
from adora_ros.manager.peernews import PeerNews
from adora_ros.manager.report import describe
from adora_ros.manager.starts import Starts
from adora_ros.manager.stops import Stops
from adora_ros.manager.stragglers import Stragglers
from adora_ros.manager.telling import Telling
from adora_ros.supervision import (
    Counters,
    DataflowEnded,
    DataflowSupervisor,
    Effect,
    Exit,
    ExitCause,
    NodeEnded,
    NodeState,
    ProcessEnded,
    RestartAnnounced,
    Result,
    Spawn,
    StopDataflow,
    StopProcess,
)
from adora_ros.transport.contract import NodeOp

if TYPE_CHECKING:
    from collections.abc import Iterable

    from adora_ros.dataflow import NodeSpec
    from adora_ros.manager.environment import RunContext
    from adora_ros.manager.incarnation import Incarnation
    from adora_ros.manager.means import Means

LINES_PATIENCE = 60.0
"""Seconds that what follows from the end of a node waits until what it printed has been received, where it is sent."""
LINES_PATIENCE_RESTART = 5.0
"""The same for a node that may be restarted."""
PEERS_PATIENCE = 30.0
"""Seconds that a run whose nodes have ended stays until the managers of other machines know that."""
PEERS_PATIENCE_STOP = 1.0
"""The same for a run that was stopped."""


class Run:
    """One run, on the event loop that creates it; only the loop's thread may call it."""

    def __init__(self, context: RunContext, means: Means, counters: Counters | None = None) -> None:
        self.context = context
        self.counters = counters or Counters()
        self._reported = self.counters
        self.supervisor = DataflowSupervisor(context.dataflow, context.local)
        self.live: dict[str, Incarnation] = {}
        self.inputs = InputAccounts(context.local)
        self.errors: dict[str, str] = {}
        self._journal = means.journal
        self._loop = asyncio.get_running_loop()
        self._memory = context.memory
        folder = None if self._memory is None else self._memory.folder
        self._guard = Guard(context.mark, self._loop, folder)
        self._lines = means.lines
        self._launcher = Launcher(context, means, on_cold=self._started_cold, loop=self._loop)
        self._starts = Starts(self._launcher, context.dataflow, self)
        self._telling = Telling(context.dataflow, self.live, self._starts)
        self._peers = means.peers
        self._bring_up = BringUp(context.dataflow, self.live, means, owner=self)
        self._stops = Stops(context, self.live, self._starts, self._bring_up, self._peers)
        self._attachments = Attachments(context, self._launcher, asker=self, owner=self, loop=self._loop)
        self._stragglers = Stragglers(self.live, self._loop, can_receive=self.can_receive, stop=self._stop_straggler)
        self._effects: deque[Effect] = deque()
        self._following = False
        self._ending: set[asyncio.Task[None]] = set()
        self._tick: asyncio.TimerHandle | None = None
        self._announced_running = False
        self._ended = asyncio.Event()

    # What can be asked of a run

    def start(self) -> None:
        """Start all nodes."""
        nodes = len(self.context.local)
        self._journal.write(
            EventKind.DATAFLOW_STARTING,
            f'starting {nodes} {"node" if nodes == 1 else "nodes"}',
            run=self.context.run_id,
            nodes=nodes,
            folder=self.context.folder,
            stop_within=stop_ladder(self.context.dataflow),
        )
        if self._memory is not None and self._memory.problem:
            self._journal.write(EventKind.WARNING, self._memory.problem, level=Level.WARN)
        self._peers.listen(PeerNews(self, self._bring_up, self._telling, self._journal, follow=self._follow))
        self._follow(self.supervisor.start(self._loop.time()))

    def other_machines(self) -> tuple[str, ...]:
        """Return the other machines that have nodes which have not ended."""
        return self._peers.going_on()

    def peers_moved(self) -> None:
        """Note that nodes elsewhere may have been activated or ended, or are not waited for any more."""
        self._announce_running()
        self._stops.look()

    def stop(self, reason: str, *, everywhere: bool = False) -> None:
        """Stop all nodes by the ladder, sources first; ``everywhere`` says that other machines stop theirs, too."""
        if self.supervisor.stopping or self.supervisor.ended:
            return
        self._journal.write(EventKind.DATAFLOW_STOPPING, f'stopping: {reason}', reason=reason)
        self._lines.started(patience=0.0)
        self._stops.in_turn(everywhere=everywhere)
        self._follow(self.supervisor.stop())

    def hurry(self, *, kill: bool) -> None:
        """Skip to SIGTERM, or with ``kill`` to SIGKILL, for every process that is left."""
        self._stops.hurry(kill=kill)

    def restart_node(self, node: str) -> None:
        """Restart one node; its budget is not touched."""
        self._follow(self.supervisor.restart_node(node, self._loop.time()))
        self._bring_up.inputs_reopened()

    def stop_node(self, node: str) -> None:
        """Stop one node; the others go on."""
        self._follow(self.supervisor.stop_node(node))

    def start_node(self, node: str) -> None:
        """Start one node that has ended."""
        self._follow(self.supervisor.start_node(node, self._loop.time()))
        self._bring_up.inputs_reopened()

    def report_counters(self) -> None:
        """Write the counters if one has changed since the last time."""
        if self.counters != self._reported:
            self._reported = self.counters
            self._journal.write(EventKind.STATS, f'fault tolerance stats {self.counters}')

    async def wait(self) -> None:
        """Wait for the end of all nodes."""
        await self._ended.wait()

    async def close(self) -> Result:
        """Clean up after the last node, and return how it went."""
        self._bring_up.close()
        await self._peers.close(PEERS_PATIENCE_STOP if self.supervisor.stopping else PEERS_PATIENCE)
        self._stragglers.close()
        self._attachments.close()
        self._launcher.close()
        await self._loop.run_in_executor(None, self._lines.close)
        if self._memory is not None:
            await self._loop.run_in_executor(None, self._memory.close)
        await self._guard.close()
        self.report_counters()
        result = self.supervisor.result()
        level = Level.INFO if result.ok else Level.WARN
        text = 'all nodes ended well' if result.ok else f'failed: {result.error}'
        self._journal.write(EventKind.DATAFLOW_ENDED, text, level=level, error=result.error)
        return result

    # Owner of incarnations

    def connected(self, incarnation: Incarnation) -> None:
        """Bring the node to where its dataflow is."""
        self._starts.settled(incarnation.spec.id)
        self._bring_up.begin(incarnation)

    def can_receive(self, incarnation: Incarnation) -> bool:
        """Return whether an input of a node can deliver."""
        return not self.supervisor.inputs_closed(incarnation.spec.id)

    def held(self, incarnation: Incarnation) -> None:
        """Record that a node is not activated."""
        self._write(EventKind.WARNING, 'not activated: all of its inputs have ended', incarnation, level=Level.WARN)
        self._announce_running()

    def configured(self, incarnation: Incarnation) -> None:
        """Tell the consumers of a new incarnation, before it is activated and can send anything."""
        self._peers.note(incarnation.spec.id, incarnation=incarnation.number, state=None)
        if incarnation.number > 0:
            self._telling.restarted(incarnation.spec.id, incarnation.number)

    def up(self, incarnation: Incarnation) -> None:
        """Note that a node works."""
        self._follow(self.supervisor.up(incarnation.spec.id, incarnation.number, self._loop.time()))
        self._announce_running()

    def not_up(self, incarnation: Incarnation, error: str) -> None:
        """Kill a node that cannot be brought up; its policy says what follows."""
        self.errors[incarnation.spec.id] = error
        self._write(EventKind.NODE_KILLED, f'killed: {error}', incarnation, level=Level.WARN, cause='transition')
        incarnation.kill(ExitCause.TRANSITION, error)

    def input_changed(self, incarnation: Incarnation, packet: dict[str, Any]) -> None:
        """Keep account of an input that fell silent or recovered."""
        name = packet['input']
        source = incarnation.spec.input(name).source
        self.counters = self.counters.plus(**self.inputs.changed(incarnation.spec.id, packet, self._loop.time()))
        if packet['op'] == NodeOp.INPUT_CLOSED.value:
            kind, level = EventKind.INPUT_CLOSED, Level.WARN
            text = f'input {name} ({source}) closed: silent for {packet["age"]:.2f} s'
        else:
            kind, level, text = EventKind.INPUT_RECOVERED, Level.INFO, f'input {name} ({source}) recovered'
        self._write(kind, text, incarnation, level=level, input=name, source=source)

    def input_opened(self, incarnation: Incarnation, input_id: str) -> None:
        """Note that an input waits no longer."""
        self.inputs.opened(incarnation.spec.id, input_id)

    def warned(self, incarnation: Incarnation, text: str) -> None:
        """Record what a node says is wrong."""
        self.errors[incarnation.spec.id] = text
        self._write(EventKind.WARNING, text, incarnation, level=Level.WARN)

    def status_text(self, incarnation: Incarnation, text: str) -> None:
        """Keep what a node says of itself."""
        self.errors[incarnation.spec.id] = text
        self._write(EventKind.NODE_STATUS, text, incarnation, level=Level.DEBUG)

    def overdue(self, incarnation: Incarnation, cause: ExitCause, detail: str) -> None:
        """Count and record a kill."""
        counter = 'health_kills' if cause is ExitCause.HEALTH_CHECK else 'startup_kills'
        self.counters = self.counters.plus(**{counter: 1})
        self._write(EventKind.NODE_KILLED, f'killed: {detail}', incarnation, level=Level.WARN, cause=cause.value)

    def stop_asked(self, incarnation: Incarnation, reason: str) -> None:
        """Stop all nodes."""
        self.stop(f'{incarnation.spec.id}: {reason}')

    def misbehaved(self, incarnation: Incarnation, error: str) -> None:
        """Record a packet that is not of the contract."""
        self._write(EventKind.WARNING, error, incarnation, level=Level.WARN)

    def exited(self, incarnation: Incarnation, end: Exit) -> None:
        """Record the exit of the process itself, at once."""
        self._starts.settled(incarnation.spec.id)
        self._record(ProcessEnded(incarnation.spec.id, incarnation.number, end))

    def ended(self, incarnation: Incarnation, end: Exit) -> None:
        """Let supervision decide, once nothing of the incarnation is left."""
        if incarnation.spec.kind is not NodeKind.DYNAMIC:
            self._guard.remove(incarnation.child.pid)
        if self._memory is not None:
            self._memory.release_later(incarnation.spec.name, incarnation.number, self._loop)
        task = self._loop.create_task(self._ended_for_good(incarnation, end))
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    async def _ended_for_good(self, incarnation: Incarnation, end: Exit) -> None:
        """Kill what has left the process group, which takes a look at every process of the machine."""
        node = incarnation.spec.id
        for pid in await self._launcher.kill_escaped(incarnation):
            self._write(EventKind.WARNING, f'killed process {pid}, which had left the group', incarnation)
        self.live.pop(node, None)
        self._bring_up.ended(node)
        self.inputs.forget(node)
        patience = LINES_PATIENCE if incarnation.spec.restart.policy is RestartPolicy.NEVER else LINES_PATIENCE_RESTART
        await self._lines.drain(node, patience)
        self._exited(node, incarnation.number, end)

    def _stop_straggler(self, incarnation: Incarnation) -> None:
        text = f'stopped: the rest has finished for {incarnation.spec.finish_grace:g} s (finish_grace_secs)'
        self._write(EventKind.WARNING, text, incarnation, level=Level.WARN)
        self.stop_node(incarnation.spec.id)

    # Carrying out decisions

    def _exited(self, node: str, number: int, end: Exit) -> None:
        self._bring_up.excuse(node)
        self._follow(self.supervisor.exited(node, number, end, self._loop.time()))
        self._announce_running()

    def _follow(self, effects: Iterable[Effect]) -> None:
        """Carry out effects in order; those that arise meanwhile come after them."""
        self._effects.extend(effects)
        if self._following:
            return
        self._following = True
        try:
            while self._effects:
                effect = self._effects.popleft()
                if not isinstance(effect, ProcessEnded):
                    self._record(effect)
                self._carry_out(effect)
        finally:
            self._following = False
        self._schedule_tick()
        if not self.supervisor.stopping:
            self._stragglers.check()

    def _record(self, effect: Effect) -> None:
        for entry in describe(effect, self.context.dataflow):
            self._journal.write(
                entry.kind,
                entry.text,
                node=entry.node,
                incarnation=entry.incarnation,
                level=entry.level,
                **entry.details,
            )

    def _carry_out(self, effect: Effect) -> None:
        if isinstance(effect, Spawn):
            self._spawn(effect.node, effect.incarnation)
        elif isinstance(effect, StopProcess):
            self._stops.stop(effect.node)
        elif isinstance(effect, ProcessEnded):
            self.errors[effect.node] = effect.end.detail or self.errors.get(effect.node, '')
        elif isinstance(effect, NodeEnded):
            self._bring_up.excuse(effect.node)
            for_good = self.supervisor.ended_for_good(effect.node)
            self._peers.note(effect.node, state=effect.state, reason=effect.reason, for_good=for_good)
            self._announce_running()
        elif isinstance(effect, StopDataflow):
            self.stop(f'{effect.node} failed and its on_give_up is stop_dataflow')
        elif isinstance(effect, DataflowEnded):
            self._ended.set()
        elif isinstance(effect, RestartAnnounced):
            self._peers.restarts(effect.node, effect.number)
        else:
            self._telling.pass_on(effect)

    def _schedule_tick(self) -> None:
        if self._tick is not None:
            self._tick.cancel()
        due = self.supervisor.next_due()
        self._tick = None if due is None else self._loop.call_at(due, self._on_tick)

    def _on_tick(self) -> None:
        self._follow(self.supervisor.tick(self._loop.time()))

    # Processes

    def _spawn(self, node_id: str, number: int) -> None:
        if number > 0:
            self.counters = self.counters.plus(restarts=1)
        if self.context.dataflow.node(node_id).kind is NodeKind.DYNAMIC:
            self._attachments.begin(node_id, number, self.supervisor.closed_inputs(node_id))
            return
        self._starts.begin(self.context.dataflow.node(node_id), number, self.supervisor.closed_inputs(node_id))

    def attach(self, node: str) -> bool:
        """Let a process from outside take a node, if it can be taken."""
        effects = self.supervisor.attach(node, self._loop.time())
        self._follow(effects)
        return any(isinstance(effect, Spawn) for effect in effects)

    def started(self, incarnation: Incarnation) -> None:
        """Take charge of a new process."""
        node = incarnation.spec
        self.live[node.id] = incarnation
        self.inputs.expect(node, self._loop.time())
        if node.kind is not NodeKind.DYNAMIC:
            self._guard.add(incarnation.child.pid, interrupt=node.kind is NodeKind.ROS)
        text = f'started (pid {incarnation.child.pid})'
        self._write(EventKind.NODE_STARTING, text, incarnation, level=Level.DEBUG, warm=incarnation.child.is_warm)
        self._bring_up.started(incarnation)

    def unwanted(self, incarnation: Incarnation) -> None:
        """Stop a process that was to be stopped before it was there."""
        self._bring_up.stop(incarnation)

    def not_started(self, node: str, number: int, error: str) -> None:
        """Let supervision decide over a node that got no process."""
        end = Exit(cause=ExitCause.SPAWN, detail=error) if error else Exit(cause=ExitCause.CLEAN, code=0)
        if error:
            self._record(ProcessEnded(node, number, end))
        self._exited(node, number, end)

    def _started_cold(self, node: NodeSpec, reason: str) -> None:
        """Say why a node is not started warm, loudly if that was asked for."""
        level = Level.WARN if node.warm else Level.DEBUG
        self._journal.write(EventKind.WARNING, f'started cold: {reason}', node=node.id, level=level)

    def _announce_running(self) -> None:
        if self._bring_up.is_complete:
            self._lines.started()
        up = sum(shot.state is NodeState.RUNNING for shot in self.supervisor.snapshots().values())
        if up and self._bring_up.is_complete and not self._announced_running and not self.supervisor.stopping:
            self._announced_running = True
            self._journal.write(EventKind.DATAFLOW_RUNNING, f'{up} of {len(self.context.local)} nodes are up')

    def _write(
        self, kind: EventKind, text: str, incarnation: Incarnation, *, level: Level = Level.INFO, **details: object
    ) -> None:
        node = incarnation.spec.id
        self._journal.write(kind, text, node=node, incarnation=incarnation.number, level=level, **details)
