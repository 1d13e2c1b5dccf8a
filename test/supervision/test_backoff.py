"""Delays, window and budget of restarts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from adora_ros.supervision.backoff import Granted, RestartBudget, delay_of
from supervision.build import on_failure

if TYPE_CHECKING:
    from adora_ros.dataflow.model import RestartSpec


class Life:
    """A node that lives, dies and asks for a restart."""

    def __init__(self, spec: RestartSpec) -> None:
        self.budget = RestartBudget(spec)
        self.now = 50.0

    def die(self, *, lived: float = 2.0, healthy: float = 0.0) -> Granted | None:
        """Live, die, ask and wait for the delay."""
        self.now += lived
        self.budget.note_life(lived=lived, healthy=healthy)
        granted = self.budget.request(self.now)
        self.now += granted.delay if granted is not None else 0.0
        return granted

    def delays(self, *lives: float) -> list[float]:
        """Return the delay after each life."""
        granted = [self.die(lived=lived) for lived in lives]
        return [g.delay for g in granted if g is not None]


@pytest.mark.parametrize(
    ('number', 'expected'),
    [(1, 0.5), (2, 1.0), (3, 2.0), (4, 4.0), (16, 16384.0), (17, 32768.0), (18, 32768.0), (10**6, 32768.0)],
)
def test_a_delay_doubles_sixteen_times(number: int, expected: float) -> None:
    assert delay_of(number, delay=0.5, max_delay=None) == expected


@pytest.mark.parametrize(
    ('number', 'expected'), [(1, 0.5), (2, 1.0), (3, 2.0), (4, 3.0), (5, 3.0), (17, 3.0), (10**6, 3.0)]
)
def test_a_delay_stays_below_its_cap(number: int, expected: float) -> None:
    assert delay_of(number, delay=0.5, max_delay=3.0) == expected


def test_a_cap_below_the_first_delay_wins() -> None:
    assert delay_of(1, delay=10.0, max_delay=2.0) == 2.0


def test_no_restart_delay_overflows() -> None:
    life = Life(on_failure(delay=1.0))
    assert life.delays(*[2.0] * 1100)[-1] == 65536.0


def test_the_budget_without_a_window_is_for_ever() -> None:
    life = Life(on_failure(max_restarts=2, delay=0.0))
    assert life.die(lived=1e6) == Granted(number=1, delay=0.0)
    assert life.die(lived=1e6) == Granted(number=2, delay=0.0)
    assert life.die(lived=1e6) is None
    assert life.die(lived=1e6) is None
    assert life.budget.count == 2


def test_no_limit_is_no_limit() -> None:
    life = Life(on_failure(max_restarts=0, delay=0.0))
    assert len(life.delays(*[2.0] * 500)) == 500


def test_the_window_begins_with_its_first_restart() -> None:
    life = Life(on_failure(max_restarts=2, delay=0.0, window=60.0))
    assert life.die(lived=1000.0) == Granted(number=1, delay=0.0)
    assert life.die(lived=59.0) == Granted(number=2, delay=0.0)
    assert life.die(lived=1.0) is None


def test_the_window_ends_after_its_length_and_the_next_begins_with_the_next_restart() -> None:
    life = Life(on_failure(max_restarts=2, delay=1.0, window=60.0))
    assert life.die(lived=5.0) == Granted(number=1, delay=1.0)
    assert life.die(lived=40.0) == Granted(number=2, delay=2.0)
    assert life.die(lived=20.0) == Granted(number=1, delay=1.0)
    assert life.die(lived=30.0) == Granted(number=2, delay=2.0)
    assert life.die(lived=20.0) is None


@pytest.mark.parametrize(
    ('delays', 'healthy', 'expected'),
    [
        (3, 59.9, 8.0),
        (3, 60.0, 1.0),
        (6, 60.0, 64.0),
        (6, 63.9, 64.0),
        (6, 64.0, 1.0),
    ],
)
def test_health_forgets_the_delays(delays: int, healthy: float, expected: float) -> None:
    """It takes ``max(2 * last delay, 60 s)``: the third delay is 4 s, the sixth 32 s."""
    life = Life(on_failure(delay=1.0))
    life.delays(*[2.0] * delays)
    granted = life.die(lived=healthy, healthy=healthy)
    assert granted is not None
    assert granted.delay == expected


def test_health_does_not_forget_the_budget() -> None:
    life = Life(on_failure(max_restarts=3, delay=1.0))
    assert [life.die(), life.die()] == [Granted(number=1, delay=1.0), Granted(number=2, delay=2.0)]
    assert life.die(lived=1000.0, healthy=1000.0) == Granted(number=3, delay=1.0)
    assert life.die(lived=1000.0, healthy=1000.0) is None


def test_delays_double_anew_after_health() -> None:
    life = Life(on_failure(delay=1.0))
    life.delays(2.0, 2.0, 2.0)
    life.die(lived=100.0, healthy=100.0)
    assert life.delays(2.0, 2.0) == [2.0, 4.0]


def test_being_alive_is_not_being_healthy() -> None:
    life = Life(on_failure(delay=1.0))
    assert life.delays(1000.0, 1000.0, 1000.0) == [1.0, 2.0, 4.0]


def test_health_before_a_restart_that_was_asked_for_counts_too() -> None:
    life = Life(on_failure(delay=1.0))
    life.delays(2.0, 2.0, 2.0)
    life.budget.note_life(lived=100.0, healthy=100.0)
    assert life.delays(2.0) == [1.0]


def test_a_long_life_before_a_restart_that_was_asked_for_ends_a_crash_loop() -> None:
    life = Life(on_failure())
    assert life.delays(0.5, 0.5, 0.5, 0.5) == [0.0, 0.1, 0.2, 0.4]
    life.budget.note_life(lived=100.0, healthy=0.0)
    assert life.delays(0.5, 0.5) == [0.1, 0.2]


def test_an_early_death_on_request_is_no_step_of_a_crash_loop() -> None:
    life = Life(on_failure())
    assert life.delays(0.5, 0.5) == [0.0, 0.1]
    life.budget.note_life(lived=0.5, healthy=0.0)
    assert life.delays(0.5) == [0.2]


def test_a_new_window_does_not_end_a_crash_loop() -> None:
    life = Life(on_failure(max_restarts=3, window=0.25))
    assert life.delays(*[0.5] * 8) == pytest.approx([0.0, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0])


def test_max_restart_delay_caps_the_guard_as_well() -> None:
    life = Life(on_failure(max_delay=0.3))
    assert life.delays(*[0.5] * 5) == pytest.approx([0.0, 0.1, 0.2, 0.3, 0.3])
    life = Life(on_failure(max_delay=30.0))
    assert life.delays(*[0.5] * 9)[-1] == 5.0
