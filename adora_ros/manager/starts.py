"""Nodes that are on their way to a process."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Protocol

from adora_ros.dataflow import graph
from adora_ros.errors import SpawnError
from adora_ros.manager.admission import Admission
from adora_ros.manager.incarnation import Owner as IncarnationOwner

if TYPE_CHECKING:
    from adora_ros.dataflow import Dataflow, NodeSpec
    from adora_ros.manager.incarnation import Incarnation
    from adora_ros.manager.launcher import Launcher
    from adora_ros.transport.contract import ManagerOp


class Owner(IncarnationOwner, Protocol):
    """Whoever is told what becomes of a start, and of what comes of it; all calls come on the event loop."""

    def started(self, incarnation: Incarnation) -> None:
        """A node has a process."""

    def unwanted(self, incarnation: Incarnation) -> None:
        """A node has a process, and is to be stopped since before it had."""

    def not_started(self, node: str, number: int, error: str) -> None:
        """A node gets no process; the text says why, and is empty if none is wanted any more."""


class Start:
    """One node from the decision to start it until it has a process."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.is_wanted = True
        self.is_waiting = False
        self.untold: list[tuple[ManagerOp, dict[str, Any]]] = []
        """What it is to be told as soon as it has a process."""
        self.task: asyncio.Task[None] | None = None


class Starts:
    """All starts that are under way."""

    def __init__(self, launcher: Launcher, dataflow: Dataflow, owner: Owner) -> None:
        self._launcher = launcher
        self._ranks = {node: rank for rank, level in enumerate(graph.sinks_first(dataflow)) for node in level}
        self._owner = owner
        self._admission = Admission()
        self._starts: dict[str, Start] = {}

    def begin(self, node: NodeSpec, number: int, closed_inputs: tuple[str, ...]) -> None:
        """Start incarnation ``number`` of a node, in its turn."""
        start = self._starts[node.id] = Start(number)
        start.task = asyncio.get_running_loop().create_task(self._run(node, start, closed_inputs))

    def tell(self, node: str, op: ManagerOp, keys: dict[str, Any]) -> None:
        """Have a node that is starting told something; has no effect on others."""
        if node in self._starts:
            self._starts[node].untold.append((op, keys))

    def cancel(self, node: str) -> None:
        """Have a node that is starting get no process, or not keep it."""
        start = self._starts.get(node)
        if start is None:
            return
        start.is_wanted = False
        if start.is_waiting and start.task is not None:
            start.task.cancel()

    def settled(self, node: str) -> None:
        """Note that a process is ready or has ended."""
        self._admission.leave(node)

    async def _run(self, node: NodeSpec, start: Start, closed_inputs: tuple[str, ...]) -> None:
        incarnation, error = None, ''
        try:
            incarnation = await self._launcher.start(
                node,
                start.number,
                closed_inputs=closed_inputs,
                owner=self._owner,
                admit=lambda: self._admit(node, start),
            )
        except SpawnError as problem:
            error = str(problem)
        except asyncio.CancelledError:
            if start.is_wanted:
                raise
        except Exception as problem:  # noqa: BLE001 - whatever it is, the node must not stay half started
            error = f'internal error: {problem!r}'
        del self._starts[node.id]
        if incarnation is None:
            self.settled(node.id)
            self._owner.not_started(node.id, start.number, error)
            return
        self._owner.started(incarnation)
        for op, keys in start.untold:
            incarnation.tell(op, **keys)
        if not start.is_wanted:
            self._owner.unwanted(incarnation)

    async def _admit(self, node: NodeSpec, start: Start) -> None:
        start.is_waiting = True
        try:
            await self._admission.enter(node.id, self._ranks[node.id])
        finally:
            start.is_waiting = False
