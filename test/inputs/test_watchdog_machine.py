"""InputWatchdog against its specification, stated over the history of what happened."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from adora_ros.inputs import InputLimits, InputState, InputWatchdog

IDS = ('a', 'b', 'c')
TICK = 0.125
"""Times are multiples of it and therefore exact."""

timeouts = st.none() | st.integers(1, 40).map(lambda n: n * TICK)
limits = st.builds(InputLimits, input_timeout=timeouts, first_message_timeout=timeouts)
ids = st.sampled_from(IDS)


@dataclass
class History:
    """What happened to one input."""

    messages: list[float] = field(default_factory=list)
    """Times of the messages that counted."""
    closings: list[float] = field(default_factory=list)
    recoveries: list[float] = field(default_factory=list)
    final: bool = False
    silent: bool = False
    """A closing came after the last message that counted."""
    ended: bool = False
    """It was closed for good after the last message that counted, whether or not it has been reopened since."""

    @property
    def closed(self) -> bool:
        return self.ended or self.silent


class WatchdogMachine(RuleBasedStateMachine):
    """Drives a watchdog at random and compares it with what its documentation says."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1000.0
        self.activated: float | None = None
        self.history = {name: History() for name in IDS}

    @initialize(given=st.fixed_dictionaries(dict.fromkeys(IDS, limits)))
    def start(self, given: dict[str, InputLimits]) -> None:
        self.limits = {name: given[name] for name in IDS}
        self.dog = InputWatchdog(self.limits)

    def deadline(self, name: str) -> float | None:
        history, limit = self.history[name], self.limits[name]
        if self.activated is None or history.closed:
            return None
        last = history.messages[-1] if history.messages else None
        if last is not None and last >= self.activated and self.delivered_since_activation(name):
            return None if limit.input_timeout is None else last + limit.input_timeout
        timeout = limit.first_message_timeout
        if timeout is None and last is not None:
            timeout = limit.input_timeout
        return None if timeout is None else self.activated + timeout

    def delivered_since_activation(self, name: str) -> bool:
        return len(self.history[name].messages) > self.before_activation[name]

    def expected_due(self) -> list[tuple[float, str]]:
        deadlines = ((self.deadline(name), name) for name in IDS)
        return sorted((deadline, name) for deadline, name in deadlines if deadline is not None and deadline <= self.now)

    @rule(steps=st.integers(0, 60))
    def time_passes(self, steps: int) -> None:
        self.now += steps * TICK

    @precondition(lambda self: self.activated is None)
    @rule()
    def activate(self) -> None:
        self.dog.activate(self.now)
        self.activated = self.now
        self.before_activation = {name: len(self.history[name].messages) for name in IDS}

    @precondition(lambda self: self.activated is not None)
    @rule()
    def activate_again(self) -> None:
        self.dog.activate(self.now)

    @rule()
    def deactivate(self) -> None:
        self.dog.deactivate()
        self.activated = None

    @rule(name=ids)
    def message(self, name: str) -> None:
        history = self.history[name]
        counts = self.activated is not None and not history.final
        recovers = counts and history.closed
        assert self.dog.message(name, self.now) is recovers
        if counts:
            history.messages.append(self.now)
            if history.silent:
                history.recoveries.append(self.now)
            history.silent = history.ended = False

    @rule()
    def expire(self) -> None:
        expected = self.expected_due()
        expired = self.dog.expire(self.now)
        assert [item.id for item in expired] == [name for _, name in expected]
        for item in expired:
            history = self.history[item.id]
            assert self.activated is not None
            assert item.age == self.now - max([self.activated, *history.messages[-1:]])
            history.closings.append(self.now)
            history.silent = True
        assert self.dog.expire(self.now) == ()

    @rule()
    def go_to_the_deadline(self) -> None:
        deadline = self.dog.next_deadline()
        if deadline is None:
            return
        if deadline > self.now:
            self.now = deadline - TICK / 2
            assert self.dog.expire(self.now) == ()
            self.now = deadline
        assert self.expected_due()
        self.expire()

    @rule(name=ids)
    def close(self, name: str) -> None:
        history = self.history[name]
        assert self.dog.close(name) is not history.closed
        history.final = history.ended = True

    @rule(name=ids)
    def reopen(self, name: str) -> None:
        self.dog.reopen(name)
        self.history[name].final = False

    @invariant()
    def next_deadline_is_the_earliest(self) -> None:
        deadlines = [deadline for name in IDS if (deadline := self.deadline(name)) is not None]
        assert self.dog.next_deadline() == min(deadlines, default=None)

    @invariant()
    def counters_are_the_events(self) -> None:
        assert self.dog.input_timeouts == sum(len(h.closings) for h in self.history.values())
        assert self.dog.cb_recoveries == sum(len(h.recoveries) for h in self.history.values())
        assert self.dog.active is (self.activated is not None)

    @invariant()
    def closings_and_recoveries_alternate(self) -> None:
        for history in self.history.values():
            assert len(history.closings) - len(history.recoveries) == int(history.silent)

    @invariant()
    def states_follow_from_the_history(self) -> None:
        for name, history in self.history.items():
            if history.closed:
                expected = InputState.CLOSED
            else:
                expected = InputState.HEALTHY if history.messages else InputState.WAITING
            assert self.dog.state(name) is expected


TestWatchdogMachine = WatchdogMachine.TestCase
TestWatchdogMachine.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
