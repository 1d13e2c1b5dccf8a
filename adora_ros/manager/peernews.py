"""What the nodes of other machines mean for those here."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from adora_ros.manager.events import EventKind, Level

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from adora_ros.manager.bringup import BringUp
    from adora_ros.manager.journal import Journal
    from adora_ros.manager.peers import PeerNode
    from adora_ros.manager.run import Run
    from adora_ros.manager.telling import Telling
    from adora_ros.supervision import Effect


class PeerNews:
    """Passes on what other machines tell, on the event loop.

    Args:
        run: The run of the nodes here.
        bring_up: Brings them up in the order of the whole dataflow.
        telling: Tells the nodes here.
        journal: Where news of machines go.
        follow: Carries out decisions.

    """

    def __init__(
        self,
        run: Run,
        bring_up: BringUp,
        telling: Telling,
        journal: Journal,
        *,
        follow: Callable[[Iterable[Effect]], None],
    ) -> None:
        self._run = run
        self._supervisor = run.supervisor
        self._bring_up = bring_up
        self._follow = follow
        self._telling = telling
        self._journal = journal
        self._loop = asyncio.get_running_loop()

    def peer_changed(self, node: str, before: PeerNode, after: PeerNode) -> None:
        """Take over how a node elsewhere is."""
        if after.ready:
            self._bring_up.peer_ready(node)
        if after.passed:
            self._bring_up.excuse(node)
        is_anew = after.life != before.life
        if before.state is not None and (after.state is None or is_anew):
            self._supervisor.peer_returned(node)
            self._bring_up.inputs_reopened()
        if after.restarts > before.restarts and not is_anew:
            self._follow(self._supervisor.peer_restarted(node, self._loop.time()))
        if before.incarnation >= 0 and after.incarnation >= 0 and (is_anew or after.incarnation > before.incarnation):
            self._telling.restarted(node, after.incarnation)
        if after.state is not None and (before.state is None or is_anew):
            self._follow(self._supervisor.peer_ended(node, after.state, after.reason, for_good=after.for_good))
        self._run.peers_moved()

    def machine_changed(self, text: str, *, lost: Iterable[str]) -> None:
        """Write down that a machine is lost or back, and wait for no node of one that is lost."""
        lost = tuple(lost)
        self._journal.write(EventKind.WARNING, text, level=Level.WARN if lost else Level.INFO)
        for node in lost:
            self._bring_up.excuse(node)
        self._run.peers_moved()
