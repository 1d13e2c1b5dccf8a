"""Tells the coordinator, if there is one, of every step that a run makes."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

from adora_ros.coordinator.records import Status
from adora_ros.coordinator.reporter import Reporter
from adora_ros.manager.events import EventKind, ManagerEvent

if TYPE_CHECKING:
    from adora_ros.manager.environment import RunContext
    from adora_ros.manager.ros import ManagerNode

_STEPS = {
    EventKind.DATAFLOW_STARTING: Status.PENDING,
    EventKind.DATAFLOW_RUNNING: Status.RUNNING,
    EventKind.DATAFLOW_STOPPING: Status.STOPPING,
}
PATIENCE = 0.5
"""Seconds that the end of a run waits for a coordinator that listens."""
EXPECTED_PATIENCE = 5.0
"""The same for a run that a coordinator has asked for: a run may be over before the two have found each other."""


class Reporting:
    """Makes the reports of one run after another, on the event loop.

    Args:
        node: The manager's node.
        machine: Name of this machine; empty if it has none.

    """

    def __init__(self, node: ManagerNode, machine: str) -> None:
        self._node = node
        self._machine = machine
        self._loop = asyncio.get_running_loop()
        self._reporter: Reporter | None = None
        self._expected = False
        self._beat: asyncio.TimerHandle | None = None

    def begin(self, context: RunContext, *, expected: bool) -> None:
        """Report a run from now on.

        Args:
            context: The run.
            expected: Whether a coordinator has asked for it.

        """
        self._expected = expected
        descriptor = json.dumps(context.dataflow.descriptor, default=str)
        period = self._node.heartbeat_period
        self._reporter = Reporter(
            self._node, context.dataflow.name, context.run_id, self._machine, descriptor=descriptor, period=period / 2
        )
        self._schedule(self._reporter, period)

    def event(self, event: ManagerEvent) -> None:
        """Report what is a step of the run."""
        if self._reporter is None:
            return
        if event.kind in _STEPS:
            self._reporter.transition(_STEPS[event.kind])
        elif event.kind is EventKind.DATAFLOW_ENDED:
            error = event.details['error']
            self._reporter.transition(Status.FAILED if error else Status.SUCCEEDED, error)

    async def end(self) -> None:
        """Say that nothing more will come of the run, and give a coordinator a moment to hear it."""
        reporter, self._reporter = self._reporter, None
        if self._beat is not None:
            self._beat.cancel()
        if reporter is not None:
            patience = EXPECTED_PATIENCE if self._expected else PATIENCE
            await self._loop.run_in_executor(None, lambda: reporter.close(patience, expected=self._expected))

    def _schedule(self, reporter: Reporter, period: float) -> None:
        self._beat = self._loop.call_later(period, self._heartbeat, reporter, period)

    def _heartbeat(self, reporter: Reporter, period: float) -> None:
        reporter.heartbeat()
        self._schedule(reporter, period)
