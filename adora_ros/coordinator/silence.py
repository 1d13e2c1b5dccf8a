"""Who is expected to be heard of, and who has not been for too long: pure data.

Silence can only be judged by somebody who listened. A coordinator that was stopped, or that got no CPU, knows of that
time that it did not listen, and not that nobody spoke.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from adora_ros.coordinator.records import BuildRecord, DataflowRecord

TOLERANCE = 0.25
"""Share of its period by which a look may be late without that being an absence."""


@dataclass(frozen=True)
class Source:
    """A manager that runs a share of a dataflow."""

    run: str
    machine: str


@dataclass(frozen=True)
class Waiting:
    """A manager that waits for shares of dataflows."""

    machine: str


@dataclass(frozen=True)
class Heard:
    """A machine that was heard of in this life; its managers are what is expected to report."""

    machine: str


@dataclass(frozen=True)
class Unfinished:
    """A record that was not final when the last coordinator ended, and that somebody is expected to take up again."""

    cls: type[DataflowRecord | BuildRecord]
    key: str


@dataclass
class _Expected:
    """Until when somebody has to be heard of, and when that was the case last."""

    deadline: float
    heard_at: float


class Silence:
    """Keeps the time that those who are expected have been silent, in seconds of a steady clock.

    Args:
        grace: Seconds that everybody gets to be heard of after an absence of the listener: what they said meanwhile may
            be lost, and the middleware may have to find them anew.

    """

    def __init__(self, *, grace: float) -> None:
        self._grace = grace
        self._expected: dict[Hashable, _Expected] = {}
        self._looked_at: float | None = None

    def __contains__(self, who: Hashable) -> bool:
        """Return whether somebody is expected."""
        return who in self._expected

    def __iter__(self) -> Iterator[Hashable]:
        """Return those who are expected."""
        return iter(self._expected)

    def expect(self, who: Hashable, now: float, patience: float) -> None:
        """Note that somebody was heard of, or begins to be expected."""
        self._expected[who] = _Expected(deadline=now + patience, heard_at=now)

    def forget(self, who: Hashable) -> None:
        """Expect somebody no more."""
        self._expected.pop(who, None)

    def age(self, who: Hashable, now: float) -> float | None:
        """Return the seconds since somebody was last heard of, or None for who is not expected."""
        expected = self._expected.get(who)
        return None if expected is None else now - expected.heard_at

    def listened(self, now: float, period: float) -> None:
        """Note that the listener is there, ``period`` seconds after the last time if it was there all along."""
        late = 0.0 if self._looked_at is None else now - self._looked_at - period
        self._looked_at = now
        if late <= period * TOLERANCE:
            return
        for expected in self._expected.values():
            expected.heard_at += late
            expected.deadline += late
            if late > period:
                expected.deadline = max(expected.deadline, now + self._grace)

    def overdue(self, now: float) -> tuple[tuple[Hashable, float], ...]:
        """Return those who were silent for too long, and for how many seconds."""
        found = self._expected.items()
        return tuple((who, now - expected.heard_at) for who, expected in found if now >= expected.deadline)
