"""Silence on an input, told from the consumer's side.

Pure: every time is an argument, in seconds on one steady clock (``time.monotonic``), never the ROS clock, which
simulation can stop.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from adora_ros.inputs.events import InputState

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, kw_only=True)
class InputLimits:
    """How long an input may be silent, in seconds; None for ever."""

    input_timeout: float | None = None
    """Between two messages. Unarmed until the first one."""
    first_message_timeout: float | None = None
    """Between activation and the first message after it."""


@dataclass(frozen=True)
class Expired:
    """An input that has just been closed by silence."""

    id: str
    age: float
    """Seconds since its last message, or since activation where that is later."""


class _Watch:
    """One input: armed while it has a deadline."""

    __slots__ = ('deadline', 'final', 'limits', 'silent', 'since', 'state')

    def __init__(self, limits: InputLimits) -> None:
        self.limits = limits
        self.state = InputState.WAITING
        self.final = False
        self.silent = False
        self.since = 0.0
        self.deadline: float | None = None

    def arm(self, now: float, timeout: float | None) -> None:
        self.since = now
        self.deadline = None if timeout is None else now + timeout


class InputWatchdog:
    """Decides when an input is closed by silence and when it has recovered.

    An input closes when ``now >= last message + input_timeout``, once per silence. It recovers only by a message.
    While inactive nothing happens and messages do not count. Activation arms anew: with ``first_message_timeout``
    where it is given, else with ``input_timeout`` if a message had ever come; an input that silence had closed stays
    closed until its next message.

    A message can bring :meth:`next_deadline` nearer only where the input was not ``HEALTHY`` before, so a thread that
    waits for the deadline has to be woken only then, and on :meth:`activate`.

    Not thread-safe: its owner holds one lock around every call.

    Args:
        limits: limits per input id; an input that is not among them is not watched.

    """

    def __init__(self, limits: Mapping[str, InputLimits]) -> None:
        """See the class."""
        self._watches = {input_id: _Watch(limit) for input_id, limit in limits.items()}
        self._active = False
        self._input_timeouts = 0
        self._recoveries = 0

    @property
    def active(self) -> bool:
        """Whether silence counts."""
        return self._active

    @property
    def input_timeouts(self) -> int:
        """How often an input was closed by silence."""
        return self._input_timeouts

    @property
    def cb_recoveries(self) -> int:
        """How often an input that silence had closed came back."""
        return self._recoveries

    def activate(self, now: float) -> None:
        """Start to count silence at ``now``; no effect while active."""
        if self._active:
            return
        self._active = True
        for watch in self._watches.values():
            if watch.state is InputState.CLOSED:
                continue
            timeout = watch.limits.first_message_timeout
            if timeout is None and watch.state is InputState.HEALTHY:
                timeout = watch.limits.input_timeout
            watch.arm(now, timeout)

    def deactivate(self) -> None:
        """Stop to count silence."""
        self._active = False

    def message(self, input_id: str, now: float) -> bool:
        """Note a message that is being delivered.

        Returns:
            Whether the input had been closed: InputRecovered goes before the message.

        """
        watch = self._watches.get(input_id)
        if watch is None or watch.final or not self._active:
            return False
        recovered = watch.state is InputState.CLOSED
        self._recoveries += watch.silent
        watch.silent = False
        watch.state = InputState.HEALTHY
        watch.arm(now, watch.limits.input_timeout)
        return recovered

    def expire(self, now: float) -> tuple[Expired, ...]:
        """Close the inputs whose deadline has come and return them, earliest deadline first."""
        if not self._active:
            return ()
        due = sorted(
            (watch.deadline, index, input_id, watch)
            for index, (input_id, watch) in enumerate(self._watches.items())
            if watch.deadline is not None and now >= watch.deadline
        )
        for _, _, _, watch in due:
            watch.state = InputState.CLOSED
            watch.silent = True
            watch.deadline = None
        self._input_timeouts += len(due)
        return tuple(Expired(input_id, now - watch.since) for _, _, input_id, watch in due)

    def next_deadline(self) -> float | None:
        """Return when :meth:`expire` next has something to do, None while nothing is armed."""
        if not self._active:
            return None
        return min((w.deadline for w in self._watches.values() if w.deadline is not None), default=None)

    def state(self, input_id: str) -> InputState | None:
        """Return the state of an input, None if it is not watched."""
        watch = self._watches.get(input_id)
        return None if watch is None else watch.state

    def revive(self, input_id: str, now: float) -> bool:
        """Expect messages again on an input that silence has closed, since its source has a new incarnation.

        Returns:
            Whether it had been closed by silence: it is ``HEALTHY`` now, and closes again after ``input_timeout``.

        """
        watch = self._watches.get(input_id)
        if watch is None or watch.final or not self._active or watch.state is not InputState.CLOSED:
            return False
        watch.state = InputState.HEALTHY
        watch.arm(now, watch.limits.input_timeout)
        return True

    def close(self, input_id: str) -> bool:
        """Close an input for good, that is until :meth:`reopen`: no deadline, no recovery, and no count.

        Returns:
            Whether InputClosed is to be told: not if silence or an earlier call had closed the input already.

        """
        watch = self._watches.get(input_id)
        if watch is None:
            return True
        open_before = watch.state is not InputState.CLOSED
        watch.state = InputState.CLOSED
        watch.final = True
        watch.deadline = None
        return open_before

    def reopen(self, input_id: str) -> None:
        """Undo :meth:`close`, since the source is there again: the next message recovers the input."""
        watch = self._watches.get(input_id)
        if watch is not None:
            watch.final = False
