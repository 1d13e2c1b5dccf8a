"""When the timers of a node tick: pure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class TimerSchedule:
    """Timers on a fixed grid that starts with a tick at once.

    The rule is that of dora 1.1: ticks lie at whole periods after the start, and those that were missed are skipped
    rather than made up for.

    Args:
        periods: seconds between two ticks per timer, positive.

    """

    def __init__(self, periods: Mapping[str, float]) -> None:
        self._periods = dict(periods)
        self._start = 0.0
        self._next: dict[str, float] = {}

    def start(self, now: float) -> None:
        """Begin at ``now`` (seconds on a steady clock); no effect while running."""
        if not self._next:
            self._start = now
            self._next = dict.fromkeys(self._periods, now)

    def stop(self) -> None:
        """Tick no more."""
        self._next = {}

    def due(self, now: float) -> tuple[str, ...]:
        """Return the timers that tick at ``now``, the one that has been due longest first."""
        ticking = sorted((id_ for id_, time in self._next.items() if time <= now), key=lambda id_: self._next[id_])
        for timer_id in ticking:
            self._next[timer_id] = self._following(timer_id, now)
        return tuple(ticking)

    def next_deadline(self) -> float | None:
        """Return when :meth:`due` next has something to return, None while stopped."""
        return min(self._next.values(), default=None)

    def _following(self, timer_id: str, now: float) -> float:
        period = self._periods[timer_id]
        step = math.floor((now - self._start) / period) + 1
        time = self._start + step * period
        return time if time > now else self._start + (step + 1) * period
