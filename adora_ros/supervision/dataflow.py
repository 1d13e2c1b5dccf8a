"""Supervision of a whole dataflow: what one node's fate means for the others."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from adora_ros.dataflow import (
    Dataflow,
    LogSource,
    NodeKind,
    NodeSource,
    NodeSpec,
    OnGiveUp,
    RestartStrategy,
    TimerSource,
    graph,
)
from adora_ros.supervision.effects import (
    AllInputsClosedNotice,
    DataflowEnded,
    Effect,
    InputClosedNotice,
    NodeEnded,
    NodeFailedNotice,
    NodeState,
    NodeUp,
    RestartAnnounced,
    RestartCancelReason,
    Spawn,
    StopDataflow,
)
from adora_ros.supervision.node import NodeSnapshot, NodeSupervisor
from adora_ros.supervision.policy import Asked, Exit
from adora_ros.supervision.result import NodeResult, Result

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator


class DataflowSupervisor:
    """Decides over all nodes of one run.

    Times are seconds on a steady clock, passed in. Every method returns what has to happen, in order. It has one
    owner; others read :meth:`snapshots`.

    Args:
        dataflow: The dataflow.
        local: Ids of the nodes that it decides over; all unless given. What becomes of the others, which run on other
            machines, it is told.

    """

    def __init__(self, dataflow: Dataflow, local: Collection[str] | None = None) -> None:
        self._dataflow = dataflow
        nodes = [node for node in dataflow.nodes if local is None or node.id in local]
        self._nodes = {node.id: NodeSupervisor(node.id, node.restart) for node in nodes}
        self._open = {node.id: _closable_inputs(node, dataflow) for node in nodes}
        self._closed: dict[str, list[str]] = {node.id: [] for node in nodes}
        self._outside = [node for node in self._nodes if dataflow.node(node).kind is NodeKind.DYNAMIC]
        self._failed_order: list[str] = []
        self._stopping = False
        self._ended = False

    @property
    def stopping(self) -> bool:
        """Whether the run is being stopped."""
        return self._stopping

    @property
    def ended(self) -> bool:
        """Whether every node is in a final state."""
        return self._ended

    def snapshots(self) -> dict[str, NodeSnapshot]:
        """Return what is known of each node, by id, in the order of the dataflow."""
        return {node_id: node.snapshot() for node_id, node in self._nodes.items()}

    def state(self, node: str) -> NodeState:
        """Return where ``node`` is."""
        return self._nodes[node].state

    def inputs_closed(self, node: str) -> bool:
        """Return whether all inputs of ``node`` are closed for good."""
        return self._nodes[node].inputs_closed

    def closed_inputs(self, node: str) -> tuple[str, ...]:
        """Return the inputs of ``node`` whose source has ended."""
        return tuple(self._closed[node])

    def next_due(self) -> float | None:
        """Return the steady time in seconds at which :meth:`tick` has to be called next, or None."""
        return min((node.due for node in self._nodes.values() if node.due is not None), default=None)

    def start(self, now: float) -> tuple[Effect, ...]:
        """Start all nodes that were neither started nor stopped before, but for those that somebody else starts."""
        pending = [n for n in self._nodes.values() if n.state is NodeState.PENDING and n.node not in self._outside]
        return self._follow(effect for node in pending for effect in node.start(now))

    def attach(self, node: str, now: float) -> tuple[Effect, ...]:
        """Start a node whose process has come from outside; nothing follows if it cannot be taken."""
        if self._stopping or self._ended or node not in self._outside:
            return ()
        if self._nodes[node].state.is_final:
            self._reopen(node)
        return self._follow(self._nodes[node].start(now))

    def up(self, node: str, incarnation: int, now: float) -> tuple[Effect, ...]:
        """Note that an incarnation works."""
        if not self._nodes[node].up(incarnation, now):
            return ()
        fed = self._consumers(node) if incarnation > 0 else ()
        return (NodeUp(node, incarnation, tuple(c for c in fed if not self._nodes[c].state.is_final)),)

    def exited(self, node: str, incarnation: int, end: Exit, now: float) -> tuple[Effect, ...]:
        """Decide over the end of an incarnation whose whole process group is gone."""
        effects = self._follow(self._nodes[node].exited(incarnation, end, now))
        if any(isinstance(effect, RestartAnnounced) and effect.number > 0 for effect in effects):
            effects += self._restart_with(node, now)
        return effects

    def tick(self, now: float) -> tuple[Effect, ...]:
        """Spawn what is due, sinks first."""
        order = [node for level in graph.sinks_first(self._dataflow) for node in level if node in self._nodes]
        return self._follow(effect for node in order for effect in self._nodes[node].tick(now))

    def stop(self) -> tuple[Effect, ...]:
        """Stop everything, sources first. A second call has no effect."""
        if self._stopping:
            return ()
        self._stopping = True
        reason = RestartCancelReason.DATAFLOW_STOPPING
        return self._follow(effect for node in self._sources_first() for effect in node.stop(reason))

    def restart_node(self, node: str, now: float) -> tuple[Effect, ...]:
        """Restart one node as an operator asks, whatever had been asked of that node before."""
        if self._stopping or node in self._outside:
            return ()
        if self._nodes[node].state.is_final:
            self._ended = False
            self._reopen(node)
        return self._follow(self._nodes[node].restart(now, 'restart requested'))

    def stop_node(self, node: str) -> tuple[Effect, ...]:
        """Stop one node as an operator asks; the others go on."""
        return self._follow(self._nodes[node].stop(RestartCancelReason.NODE_STOPPED))

    def start_node(self, node: str, now: float) -> tuple[Effect, ...]:
        """Start one node as an operator asks, if it has ended or an operator's stop of it is under way."""
        supervisor = self._nodes[node]
        is_being_stopped = supervisor.state.has_process and supervisor.asked is Asked.STOP
        return self.restart_node(node, now) if supervisor.state.is_final or is_being_stopped else ()

    def ended_for_good(self, node: str) -> bool:
        """Return whether a node that has ended is not to be started again by whoever stopped it."""
        return self._nodes[node].asked is not Asked.STOP

    # Nodes that others decide over

    def peer_ended(self, node: str, state: NodeState, reason: str, *, for_good: bool) -> tuple[Effect, ...]:
        """Decide over what the end of a node elsewhere means here."""
        return self._follow(tuple(self._after_end(NodeEnded(node, state, reason), for_good=for_good)))

    def peer_returned(self, node: str) -> None:
        """Note that a node elsewhere, which had ended, is started again."""
        self._reopen(node)

    def peer_restarted(self, node: str, now: float) -> tuple[Effect, ...]:
        """Decide over what the restart of a node elsewhere means here."""
        return self._restart_with(node, now)

    def result(self) -> Result:
        """Return how the run ended, or how it would end if it ended now."""
        nodes = tuple(self._node_result(node) for node in self._nodes.values())
        by_id = {result.node: result for result in nodes}
        failed = [by_id[node] for node in self._failed_order if node in by_id]
        failures = [result for result in failed if result.state is NodeState.FAILED]
        return Result(nodes, tuple(sorted(failures, key=lambda failure: failure.consequence)))

    def _node_result(self, node: NodeSupervisor) -> NodeResult:
        shot = node.snapshot()
        consequence = self._is_consequence(node.node)
        return NodeResult(node=node.node, state=shot.state, reason=shot.reason, consequence=consequence)

    def _is_consequence(self, node: str) -> bool:
        if node not in self._failed_order:
            return False
        earlier = self._failed_order[: self._failed_order.index(node)]
        return any(node in graph.downstream(self._dataflow, cause) for cause in earlier)

    def _follow(self, effects: Iterable[Effect]) -> tuple[Effect, ...]:
        """Return ``effects`` and what they mean for other nodes: a cause's own consequences before theirs."""
        followed: list[Effect] = []
        todo = deque(effects)
        while todo:
            effect = todo.popleft()
            followed.append(effect)
            todo.extend(self._consequences(effect))
            todo.extend(self._let_go())
        if not self._ended and all(node.state.is_final for node in self._nodes.values()):
            self._ended = True
            followed.append(DataflowEnded())
        return tuple(followed)

    def _let_go(self) -> Iterator[Effect]:
        """Yield what ends the nodes that somebody else starts, once all others have ended."""
        inside = [node for node in self._nodes.values() if node.node not in self._outside]
        if inside and all(node.state.is_final for node in inside):
            for node in self._outside:
                if self._nodes[node].asked is not Asked.STOP and not self._nodes[node].state.is_final:
                    yield from self._nodes[node].stop(RestartCancelReason.DATAFLOW_STOPPING)

    def _consequences(self, effect: Effect) -> Iterator[Effect]:
        if isinstance(effect, Spawn) and self._nodes[effect.node].inputs_closed:
            yield AllInputsClosedNotice(effect.node)
        elif isinstance(effect, NodeEnded):
            yield from self._after_end(effect, for_good=self.ended_for_good(effect.node))

    def _after_end(self, ended: NodeEnded, *, for_good: bool) -> Iterator[Effect]:
        """Yield what follows from a node's end.

        A node that an operator stopped may be started again: inputs that it feeds close, but not for good, even if it
        had to be killed.
        """
        failed = ended.state is NodeState.FAILED
        if failed:
            self._failed_order.append(ended.node)
        if self._stopping:
            return
        if failed and for_good and self._dataflow.node(ended.node).on_give_up is OnGiveUp.STOP_DATAFLOW:
            yield StopDataflow(ended.node)
            return
        for consumer in self._consumers(ended.node):
            yield from self._close_inputs(consumer, ended, for_good=for_good)

    def _close_inputs(self, consumer: str, ended: NodeEnded, *, for_good: bool) -> Iterator[Effect]:
        """Close the inputs of ``consumer`` that the ended node fed, and tell it unless it has ended itself."""
        names = _inputs_from(self._dataflow.node(consumer), ended.node)
        listens = not self._nodes[consumer].state.is_final
        self._closed[consumer].extend(names)
        if listens and ended.state is NodeState.FAILED:
            yield NodeFailedNotice(consumer, ended.node, ended.reason, names)
        if listens:
            yield from (InputClosedNotice(consumer, name) for name in names)
        if not for_good:
            return
        self._open[consumer].difference_update(names)
        if self._open[consumer]:
            return
        if listens:
            yield AllInputsClosedNotice(consumer)
        yield from self._nodes[consumer].close_inputs()

    def _reopen(self, source: str) -> None:
        """Undo :meth:`_close_inputs` for a node that an operator starts again."""
        if source in self._failed_order:
            self._failed_order.remove(source)
        for consumer in self._consumers(source):
            reopened = set(_inputs_from(self._dataflow.node(consumer), source)).intersection(self._closed[consumer])
            self._closed[consumer] = [name for name in self._closed[consumer] if name not in reopened]
            self._open[consumer] |= reopened
            if reopened:
                self._nodes[consumer].reopen_inputs()

    def _restart_with(self, node: str, now: float) -> tuple[Effect, ...]:
        """Restart the nodes that the strategy ties to ``node``, at once: they are ready when it comes back.

        Those that wait to be restarted have no process that could be stale. Those that are being stopped, have ended,
        or have nothing left to receive are left alone.
        """
        strategy = self._dataflow.restart_strategy
        if strategy is RestartStrategy.ONE_FOR_ONE:
            return ()
        downstream = graph.downstream(self._dataflow, node)
        peers = [
            peer
            for peer in self._sources_first()
            if peer.node not in {node, *self._outside}
            and (strategy is RestartStrategy.ONE_FOR_ALL or peer.node in downstream)
        ]
        live = [p for p in peers if p.state.has_process and p.asked is Asked.NOTHING and not p.inputs_closed]
        return self._follow(effect for peer in live for effect in peer.restart(now, f'restart of `{node}`'))

    def _sources_first(self) -> tuple[NodeSupervisor, ...]:
        order = [node for level in graph.sources_first(self._dataflow) for node in level]
        return tuple(self._nodes[node] for node in order if node in self._nodes)

    def _consumers(self, node: str) -> tuple[str, ...]:
        """Return the nodes that consume an output of a node and are decided over here."""
        return tuple(consumer for consumer in graph.consumers(self._dataflow, node) if consumer in self._nodes)


def _inputs_from(node: NodeSpec, source: str) -> tuple[str, ...]:
    return tuple(i.id for i in node.inputs if isinstance(i.source, NodeSource) and i.source.node == source)


def _closable_inputs(node: NodeSpec, dataflow: Dataflow) -> set[str]:
    """Return the inputs that have to close before all of a node's inputs are closed.

    Timers and log lines never close, so that a node with one goes on; with ``exit_when_nodes_finish`` they do not
    count, both as in dora.
    """
    ignored = (TimerSource, LogSource) if dataflow.exit_when_nodes_finish else ()
    return {i.id for i in node.inputs if not isinstance(i.source, ignored)}
