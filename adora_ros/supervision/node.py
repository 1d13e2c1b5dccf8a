"""The life of one node: a state machine over its incarnations, without clock, processes or ROS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from adora_ros.supervision.backoff import RestartBudget
from adora_ros.supervision.effects import (
    Effect,
    GaveUp,
    NodeEnded,
    NodeState,
    ProcessEnded,
    RestartAnnounced,
    RestartCancelled,
    RestartCancelReason,
    Spawn,
    StopProcess,
)
from adora_ros.supervision.policy import Asked, Exit, ExitCause, Verdict, decide

if TYPE_CHECKING:
    from adora_ros.dataflow import RestartSpec


@dataclass(frozen=True, kw_only=True)
class NodeSnapshot:
    """What is known of a node.

    Attributes:
        node: Its id.
        state: Where it is.
        incarnation: Number of the current or last incarnation, from 0; -1 before the first.
        restarts: Incarnations after the first.
        last_exit: How the last incarnation that ended did so.
        due: Steady time in seconds at which it is spawned again, while it waits for that.
        up_since: Steady time in seconds since which the current incarnation works.
        inputs_closed: Whether all of its inputs are closed for good.
        reason: Why it is in its final state; empty before that.

    """

    node: str
    state: NodeState
    incarnation: int
    restarts: int
    last_exit: Exit | None
    due: float | None
    up_since: float | None
    inputs_closed: bool
    reason: str


class NodeSupervisor:
    """Decides over the incarnations of one node.

    Every method returns what has to happen, in order. News of an incarnation other than the current one has no effect.
    """

    def __init__(self, node: str, spec: RestartSpec) -> None:
        self.node = node
        self._spec = spec
        self._budget = RestartBudget(spec)
        self._state = NodeState.PENDING
        self._incarnation = -1
        self._asked = Asked.NOTHING
        self._inputs_closed = False
        self._last_exit: Exit | None = None
        self._reason = ''
        self._why_restart = ''
        self._if_not_restarted = NodeState.STOPPED
        self._due: float | None = None
        self._started_at = 0.0
        self._up_since: float | None = None

    @property
    def state(self) -> NodeState:
        """Where the node is."""
        return self._state

    @property
    def incarnation(self) -> int:
        """Number of the current or last incarnation, -1 before the first."""
        return self._incarnation

    @property
    def asked(self) -> Asked:
        """What has been asked of the node since its last spawn, by an operator or on behalf of the dataflow."""
        return self._asked

    @property
    def inputs_closed(self) -> bool:
        """Whether all inputs are closed for good."""
        return self._inputs_closed

    @property
    def due(self) -> float | None:
        """Steady time in seconds at which :meth:`tick` has to be called, or None."""
        return self._due

    def snapshot(self) -> NodeSnapshot:
        """Return what is known of the node now."""
        return NodeSnapshot(
            node=self.node,
            state=self._state,
            incarnation=self._incarnation,
            restarts=max(0, self._incarnation),
            last_exit=self._last_exit,
            due=self._due,
            up_since=self._up_since,
            inputs_closed=self._inputs_closed,
            reason=self._reason,
        )

    def start(self, now: float) -> tuple[Effect, ...]:
        """Start the node if it has no process and none is due; also after a final state, as an operator may ask."""
        if self._state is not NodeState.PENDING and not self._state.is_final:
            return ()
        self._budget = RestartBudget(self._spec)
        return self._spawn(now)

    def up(self, incarnation: int, now: float) -> bool:
        """Note that an incarnation works; return whether that is news."""
        if incarnation != self._incarnation or self._state is not NodeState.STARTING:
            return False
        self._state = NodeState.RUNNING
        self._up_since = now
        return True

    def tick(self, now: float) -> tuple[Effect, ...]:
        """Spawn if that is due."""
        if self._state is NodeState.BACKOFF and self._due is not None and now >= self._due:
            return self._spawn(now)
        return ()

    def exited(self, incarnation: int, end: Exit, now: float) -> tuple[Effect, ...]:
        """Decide over the end of an incarnation."""
        if incarnation != self._incarnation or not self._state.has_process:
            return ()
        healthy = 0.0 if self._up_since is None else now - self._up_since
        self._budget.note_life(lived=now - self._started_at, healthy=healthy)
        self._last_exit = end
        self._up_since = None
        ended = ProcessEnded(self.node, incarnation, end)
        verdict = decide(self._spec.policy, end, asked=self._asked, inputs_closed=self._inputs_closed)
        if verdict is not Verdict.RESTART:
            return (ended, *self._finish(NodeState(verdict.value), end.reason))
        if self._asked is Asked.RESTART:
            self._if_not_restarted = NodeState.STOPPED
            return (ended, *self._announce(now, number=0, delay=0.0, reason=self._why_restart))
        self._if_not_restarted = NodeState.FINISHED if end.cause is ExitCause.CLEAN else NodeState.FAILED
        granted = self._budget.request(now)
        if granted is None:
            return (ended, *self._give_up(end.reason))
        return (ended, *self._announce(now, number=granted.number, delay=granted.delay, reason=end.reason))

    def restart(self, now: float, reason: str) -> tuple[Effect, ...]:
        """Restart at once, as an operator or another node's restart asks; no budget is spent.

        A stop that is still under way becomes a restart.
        """
        if self._state.has_process:
            self._why_restart = reason
            return self._end_process(Asked.RESTART)
        if self._state is NodeState.BACKOFF:
            return self._spawn(now)
        if self._state.is_final:
            return self.start(now)
        return ()

    def stop(self, reason: RestartCancelReason) -> tuple[Effect, ...]:
        """Stop for good; this beats any restart."""
        if self._state.has_process:
            return self._end_process(Asked.STOP)
        if self._state is NodeState.BACKOFF:
            self._asked = Asked.STOP
            return self._cancel(reason)
        if self._state is NodeState.PENDING:
            return self._finish(NodeState.STOPPED, 'never started')
        return ()

    def close_inputs(self) -> tuple[Effect, ...]:
        """Note that all inputs are closed for good: from here on the policy restarts nothing.

        A restart that was asked for still takes place: the process that it replaces was stopped for that alone.
        """
        self._inputs_closed = True
        waits_by_policy = self._state is NodeState.BACKOFF and self._asked is Asked.NOTHING
        return self._cancel(RestartCancelReason.INPUTS_CLOSED) if waits_by_policy else ()

    def reopen_inputs(self) -> None:
        """Note that an input can deliver again: its source was started by an operator."""
        self._inputs_closed = False

    def _spawn(self, now: float) -> tuple[Effect, ...]:
        self._incarnation += 1
        self._state = NodeState.STARTING
        self._asked = Asked.NOTHING
        self._reason = ''
        self._due = None
        self._started_at = now
        return (Spawn(self.node, self._incarnation),)

    def _end_process(self, asked: Asked) -> tuple[Effect, ...]:
        self._asked = asked
        if self._state is NodeState.STOPPING:
            return ()
        self._state = NodeState.STOPPING
        return (StopProcess(self.node, self._incarnation),)

    def _announce(self, now: float, *, number: int, delay: float, reason: str) -> tuple[Effect, ...]:
        self._state = NodeState.BACKOFF
        self._due = now + delay
        return (RestartAnnounced(self.node, number, delay, reason),)

    def _cancel(self, reason: RestartCancelReason) -> tuple[Effect, ...]:
        """End a backoff wait.

        What counts for the result is the exit that led to it, unless an operator wants the node down.
        """
        last = self._last_exit.reason if self._last_exit is not None else ''
        state = NodeState.STOPPED if reason is RestartCancelReason.NODE_STOPPED else self._if_not_restarted
        return (RestartCancelled(self.node, reason.value), *self._finish(state, last))

    def _give_up(self, reason: str) -> tuple[Effect, ...]:
        """End because the budget is used up; what counts for the result is the last exit, as everywhere."""
        made = self._budget.count
        times = f'{made} restart' if made == 1 else f'{made} restarts'
        return (
            GaveUp(self.node, made, reason),
            *self._finish(self._if_not_restarted, f'gave up after {times}: {reason}'),
        )

    def _finish(self, state: NodeState, reason: str) -> tuple[Effect, ...]:
        self._state = state
        self._reason = reason
        self._due = None
        return (NodeEnded(self.node, state, reason),)
