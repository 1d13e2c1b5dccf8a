"""Whether an answer can still come: pure, and for one thread at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adora_ros.errors import AnswerError, ServerEndedError, ServerRestartedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class Servers:
    """What became of the nodes that feed this one.

    Args:
        fed_by: for each of these nodes the inputs of this one that it feeds.

    """

    def __init__(self, fed_by: Mapping[str, Iterable[str]]) -> None:
        self._inputs = {node: frozenset(input_ids) for node, input_ids in fed_by.items()}
        self._restarted: dict[str, int] = {}
        self._failed: dict[str, str] = {}
        self._closed: set[str] = set()

    def inputs(self, node: str) -> frozenset[str]:
        """Return the inputs that a node feeds; none for a node that feeds none."""
        return self._inputs.get(node, frozenset())

    def names(self) -> tuple[str, ...]:
        """Return the nodes that feed this one."""
        return tuple(self._inputs)

    def restarted(self, node: str, at: int) -> None:
        """Note that a node has a new incarnation; ``at`` grows from event to event."""
        self._restarted[node] = at
        self._failed.pop(node, None)
        self._closed -= self.inputs(node)

    def failed(self, node: str, error: str) -> None:
        """Note that a node failed for good."""
        self._failed[node] = error

    def closed(self, input_id: str) -> None:
        """Note that an input can never deliver again."""
        self._closed.add(input_id)

    def loss(self, node: str, since: int) -> AnswerError | None:
        """Return why a question that was asked at ``since`` has no answer any more, None if there may be one."""
        if self._restarted.get(node, -1) > since:
            return ServerRestartedError(f'node `{node}` was restarted and knows nothing of it: ask again')
        if node in self._failed:
            return ServerEndedError(f'node `{node}` failed: {self._failed[node]}')
        if self.inputs(node) <= self._closed:
            return ServerEndedError(f'node `{node}` has ended')
        return None
