"""Where a manager's dataflow is, as told by the manager's own events."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from adora_ros.manager.events import EventKind

if TYPE_CHECKING:
    from adora_ros.manager.events import ManagerEvent


class Phase(str, Enum):
    """Where a dataflow is; the words are those of the coordinator's records, but for the first."""

    WAITING = 'Waiting'
    """The manager has not been told to start it."""
    PENDING = 'Pending'
    RUNNING = 'Running'
    STOPPING = 'Stopping'
    SUCCEEDED = 'Succeeded'
    FAILED = 'Failed'


@dataclass
class PhaseKeeper:
    """Follows the events of a manager.

    Attributes:
        phase: Where the dataflow is.
        error: Every failure of the last run as ``node: reason``, joined by ``; ``; empty if there was none.

    """

    phase: Phase = Phase.WAITING
    error: str = ''

    def take(self, event: ManagerEvent) -> None:
        """Take one event."""
        if event.kind is EventKind.DATAFLOW_STARTING:
            self.phase, self.error = Phase.PENDING, ''
        elif event.kind is EventKind.DATAFLOW_RUNNING:
            self.phase = Phase.RUNNING
        elif event.kind is EventKind.DATAFLOW_STOPPING:
            self.phase = Phase.STOPPING
        elif event.kind is EventKind.DATAFLOW_ENDED:
            self.error = event.details['error']
            self.phase = Phase.FAILED if self.error else Phase.SUCCEEDED
