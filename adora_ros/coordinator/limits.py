"""What a registry is told to do, and whom it tells."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Protocol

from adora_ros.coordinator.protocol import MACHINE_TIMEOUT, RECOVERY_TIMEOUT

if TYPE_CHECKING:
    from adora_ros.coordinator.records import Record


class Recovery(str, Enum):
    """What a restarted coordinator does with dataflows that were not final."""

    ADOPT = 'adopt'
    """Wait for their managers to report."""
    FAIL = 'fail'
    """Mark them failed."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Times, in seconds.

    Attributes:
        machine_timeout: Silence after which a manager is gone.
        recovery_timeout: Time that managers have to report after a coordinator has started again.

    """

    machine_timeout: float = MACHINE_TIMEOUT
    recovery_timeout: float = RECOVERY_TIMEOUT


class Observer(Protocol):
    """Whoever is told of what happens to the records."""

    def changed(self, before: Record | None, after: Record | None) -> None:
        """Take a change that has been written; None stands for no record."""

    def machine_lost(self, machine: str, age: float) -> None:
        """Take the news that a machine fell silent, ``age`` seconds ago."""

    def machine_back(self, machine: str) -> None:
        """Take the news that a machine that was lost reports again."""

    def warn(self, text: str) -> None:
        """Take one line about something that is not as it should be."""
