"""How a run ended, per node and as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from adora_ros.supervision.effects import NodeState


@dataclass(frozen=True, kw_only=True)
class NodeResult:
    """The last exit of one node.

    Attributes:
        node: Its id.
        state: Its final state.
        reason: Why it is in it.
        consequence: Whether another node, upstream of it, had failed before.

    """

    node: str
    state: NodeState
    reason: str
    consequence: bool = False


@dataclass(frozen=True)
class Result:
    """How a run ended: ``nodes`` in the order of the dataflow, ``failures`` with real causes before consequences."""

    nodes: tuple[NodeResult, ...]
    failures: tuple[NodeResult, ...]

    @property
    def ok(self) -> bool:
        """Whether no node failed."""
        return not self.failures

    @property
    def error(self) -> str:
        """Every failure as ``node: reason``, joined by ``; ``; empty when all went well."""
        return '; '.join(f'{failure.node}: {failure.reason}' for failure in self.failures)
