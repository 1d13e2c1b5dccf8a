"""Questions about who feeds whom. Every answer is in file order, whatever the cycles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from adora_ros.dataflow.model import NodeSource

if TYPE_CHECKING:
    from adora_ros.dataflow.model import Dataflow


@dataclass(frozen=True, kw_only=True)
class Edge:
    """One output of a node that feeds one input of a node."""

    source_node: str
    output: str
    target_node: str
    input: str


def edges(dataflow: Dataflow) -> tuple[Edge, ...]:
    """Return every edge, in the order of the consuming inputs."""
    return tuple(
        Edge(source_node=port.source.node, output=port.source.output, target_node=node.id, input=port.id)
        for node in dataflow.nodes
        for port in node.inputs
        if isinstance(port.source, NodeSource)
    )


def consumers(dataflow: Dataflow, node_id: str) -> tuple[str, ...]:
    """Return the ids of the nodes that consume any output of a node (itself too, if it feeds itself).

    Raises:
        DataflowError: there is no node of that id.

    """
    dataflow.node(node_id)
    fed = {edge.target_node for edge in edges(dataflow) if edge.source_node == node_id}
    return tuple(node.id for node in dataflow.nodes if node.id in fed)


def neighbours(dataflow: Dataflow) -> dict[str, frozenset[str]]:
    """Return the nodes that each node sends to or gets something from."""
    found: dict[str, set[str]] = {node.id: set() for node in dataflow.nodes}
    for edge in edges(dataflow):
        found[edge.source_node].add(edge.target_node)
        found[edge.target_node].add(edge.source_node)
    return {node: frozenset(others) for node, others in found.items()}


def downstream(dataflow: Dataflow, node_id: str) -> tuple[str, ...]:
    """Return the ids of all nodes that a node feeds, directly or through others; never the node itself.

    Raises:
        DataflowError: there is no node of that id.

    """
    dataflow.node(node_id)
    targets = _targets(dataflow)
    reached = _reachable(targets, node_id)
    return tuple(node.id for node in dataflow.nodes if node.id in reached and node.id != node_id)


def sources_first(dataflow: Dataflow) -> tuple[tuple[str, ...], ...]:
    """Return the node ids in levels: each node is in a later level than all that feed it.

    The nodes of a cycle share one level, after everything that feeds the cycle.
    """
    targets = _targets(dataflow)
    ids = [node.id for node in dataflow.nodes]
    reached = {node_id: _reachable(targets, node_id) for node_id in ids}
    cycle_of = {a: frozenset({a} | {b for b in reached[a] if a in reached[b]}) for a in ids}
    level: dict[frozenset[str], int] = {}
    pending = list(dict.fromkeys(cycle_of[node_id] for node_id in ids))
    feeders: dict[frozenset[str], set[frozenset[str]]] = {cycle: set() for cycle in pending}
    for source, fed in targets.items():
        for target in fed:
            if cycle_of[source] != cycle_of[target]:
                feeders[cycle_of[target]].add(cycle_of[source])
    while pending:
        ready = [cycle for cycle in pending if all(feeder in level for feeder in feeders[cycle])]
        for cycle in ready:
            level[cycle] = max((level[feeder] + 1 for feeder in feeders[cycle]), default=0)
        pending = [cycle for cycle in pending if cycle not in level]
    depth = max(level.values(), default=-1) + 1
    return tuple(tuple(node_id for node_id in ids if level[cycle_of[node_id]] == n) for n in range(depth))


def sinks_first(dataflow: Dataflow) -> tuple[tuple[str, ...], ...]:
    """Return the levels of :func:`sources_first` from the last to the first."""
    return tuple(reversed(sources_first(dataflow)))


def _targets(dataflow: Dataflow) -> dict[str, tuple[str, ...]]:
    targets: dict[str, dict[str, None]] = {node.id: {} for node in dataflow.nodes}
    for edge in edges(dataflow):
        targets[edge.source_node][edge.target_node] = None
    return {node_id: tuple(fed) for node_id, fed in targets.items()}


def _reachable(targets: dict[str, tuple[str, ...]], start: str) -> set[str]:
    reached: set[str] = set()
    todo = list(targets[start])
    while todo:
        node_id = todo.pop()
        if node_id not in reached:
            reached.add(node_id)
            todo.extend(targets[node_id])
    return reached
