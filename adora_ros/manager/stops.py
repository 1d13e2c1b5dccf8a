"""Nodes on their way to a stop: across machines, what feeds a node from elsewhere ends first."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from adora_ros.dataflow import graph

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from adora_ros.dataflow import Dataflow
    from adora_ros.manager.bringup import BringUp
    from adora_ros.manager.environment import RunContext
    from adora_ros.manager.incarnation import Incarnation
    from adora_ros.manager.peers import PeerLink
    from adora_ros.manager.starts import Starts

PATIENCE = 4.0
"""Seconds that a node waits at most, when the dataflow is stopped on all machines, for those elsewhere that feed it to
have ended."""
PATIENCE_ALONE = 0.5
"""The same where the dataflow is stopped on this machine, and perhaps on no other one."""
PATIENCE_SHARE = 0.4
"""The same as a share of the node's ``stop_grace``."""
LOOK_PERIOD = 0.1
"""Seconds between two looks at those that are held back, beside those that follow from news."""


class Stops:
    """Stops nodes, on the event loop.

    On one machine the sources are told first, and their consumers right after them. On its way to another machine a
    stop may overtake messages, so a consumer there is told when what feeds it has ended: by then it has all of them.

    Args:
        context: The run.
        live: The current incarnation of each node that has a process.
        starts: Those that have none yet.
        bring_up: Stops a process in the way that suits it.
        peers: Knows how the nodes of other machines are.

    """

    def __init__(
        self,
        context: RunContext,
        live: Mapping[str, Incarnation],
        starts: Starts,
        bring_up: BringUp,
        peers: PeerLink,
    ) -> None:
        self._live = live
        self._starts = starts
        self._bring_up = bring_up
        self._peers = peers
        self._loop = asyncio.get_running_loop()
        self._grace = {node.id: node.stop_grace for node in context.dataflow.nodes}
        self._feeders = feeders_elsewhere(context.dataflow, context.local)
        self._patience = 0.0
        self._held: dict[str, float] = {}

    def in_turn(self, *, everywhere: bool) -> None:
        """Hold back from now on what is fed from elsewhere, since all nodes are to be stopped.

        Args:
            everywhere: Whether that is so on the other machines, too.

        """
        self._patience = PATIENCE if everywhere else PATIENCE_ALONE

    def stop(self, node: str) -> None:
        """Stop a node."""
        if not self._waits(node, 0.0):
            self._stop(node, 0.0)
            return
        if not self._held:
            self._loop.call_later(LOOK_PERIOD, self._look_again)
        self._held[node] = self._loop.time()

    def look(self) -> None:
        """Stop those that are held back and have nothing to wait for any more."""
        now = self._loop.time()
        for node, since in tuple(self._held.items()):
            if not self._waits(node, now - since):
                del self._held[node]
                self._stop(node, now - since)

    def hurry(self, *, kill: bool) -> None:
        """Skip to SIGTERM, or with ``kill`` to SIGKILL, for every process that is left."""
        while self._held:
            node, since = self._held.popitem()
            self._stop(node, self._loop.time() - since)
        for incarnation in tuple(self._live.values()):
            if kill:
                incarnation.kill(None)
            else:
                incarnation.terminate()

    def _look_again(self) -> None:
        self.look()
        if self._held:
            self._loop.call_later(LOOK_PERIOD, self._look_again)

    def _waits(self, node: str, held: float) -> bool:
        """Return whether a node that was held back for some seconds still waits for one that feeds it."""
        patience = min(self._patience, self._grace[node] * PATIENCE_SHARE)
        return held < patience and any(self._peers.takes_part(feeder) for feeder in self._feeders[node])

    def _stop(self, node: str, late: float) -> None:
        if node in self._live:
            self._bring_up.stop(self._live[node], late)
        else:
            self._starts.cancel(node)


def feeders_elsewhere(dataflow: Dataflow, local: Collection[str]) -> dict[str, frozenset[str]]:
    """Return for each node here those elsewhere that feed it, directly or through others, and that it does not feed."""
    if len(local) == len(dataflow.nodes):
        return dict.fromkeys(local, frozenset())
    fed = {node.id: frozenset(graph.downstream(dataflow, node.id)) for node in dataflow.nodes}
    return {
        node: frozenset(other for other in fed if other not in local and node in fed[other] and other not in fed[node])
        for node in local
    }
