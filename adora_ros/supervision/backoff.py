"""How often and how late a node is restarted: budget, window, exponential delay and the guard against crash loops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from adora_ros.dataflow import RestartSpec

MAX_EXPONENT = 16
"""Doublings after which a delay no longer grows, as in dora."""
HEALTHY_AFTER = 60.0
"""Seconds of health that at least are needed to forget earlier delays."""
GUARD_LIFE = 1.0
"""Seconds: an incarnation that lived shorter counts as a step of a crash loop."""
GUARD_DELAY = 0.1
"""Seconds: first delay of the guard; it doubles."""
GUARD_CAP = 5.0
"""Seconds: largest delay of the guard."""


def delay_of(number: int, *, delay: float, max_delay: float | None) -> float:
    """Return the delay in seconds before restart ``number`` (from 1): ``min(max, delay * 2^min(number - 1, 16))``."""
    grown = delay * float(2 ** min(number - 1, MAX_EXPONENT))
    return grown if max_delay is None else min(max_delay, grown)


@dataclass(frozen=True, kw_only=True)
class Granted:
    """A restart that the budget allows.

    Attributes:
        number: Number of this restart in the current window, from 1.
        delay: Seconds to wait before it.

    """

    number: int
    delay: float


class RestartBudget:
    """Counts the restarts of one node and spaces them.

    The window begins with its first restart and ends ``restart_window`` seconds later; the first exit after that
    begins a new one. The delay's exponent follows the count, and is also forgotten after a healthy stretch.
    """

    def __init__(self, spec: RestartSpec) -> None:
        self._spec = spec
        self._window_start: float | None = None
        self._count = 0
        self._exponent = 0
        self._last_delay: float | None = None
        self._died_early = False
        self._loop = 0

    @property
    def count(self) -> int:
        """Restarts granted in the current window."""
        return self._count

    def note_life(self, *, lived: float, healthy: float) -> None:
        """Note the end of an incarnation, whether or not a restart is going to be requested for it.

        Args:
            lived: Seconds from its start to its end.
            healthy: Seconds for which it was up; 0 if it never was.

        """
        if healthy >= max(2 * (self._last_delay or 0.0), HEALTHY_AFTER):
            self._exponent = 0
        self._died_early = lived < GUARD_LIFE
        if not self._died_early:
            self._loop = 0

    def request(self, now: float) -> Granted | None:
        """Ask for one restart at ``now``, steady time in seconds; None when ``max_restarts`` is used up."""
        self._forget_old_window(now)
        if 0 < self._spec.max_restarts <= self._count:
            return None
        if self._count == 0:
            self._window_start = now
        self._count += 1
        self._exponent += 1
        self._last_delay = self._next_delay()
        return Granted(number=self._count, delay=self._last_delay)

    def _forget_old_window(self, now: float) -> None:
        window = self._spec.window
        if window is not None and self._window_start is not None and now - self._window_start > window:
            self._count = 0
            self._exponent = 0
            self._window_start = None

    def _next_delay(self) -> float:
        if self._spec.delay is not None:
            return delay_of(self._exponent, delay=self._spec.delay, max_delay=self._spec.max_delay)
        return self._guard_delay()

    def _guard_delay(self) -> float:
        """Without ``restart_delay`` the first restart is immediate; a crash loop after it is slowed down."""
        is_first = self._last_delay is None
        if is_first or not self._died_early:
            return 0.0
        self._loop += 1
        cap = GUARD_CAP if self._spec.max_delay is None else min(GUARD_CAP, self._spec.max_delay)
        return delay_of(self._loop, delay=GUARD_DELAY, max_delay=cap)
