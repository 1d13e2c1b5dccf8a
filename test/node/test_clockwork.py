"""Timers on a fake clock."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adora_ros.node.clockwork import TimerSchedule


def test_nothing_ticks_before_the_start() -> None:
    timers = TimerSchedule({'t': 0.1})
    assert timers.next_deadline() is None
    assert timers.due(1e9) == ()


def test_the_first_tick_comes_at_once_and_the_others_on_the_grid() -> None:
    timers = TimerSchedule({'t': 0.25})
    timers.start(10.0)
    assert timers.next_deadline() == 10.0
    assert timers.due(10.0) == ('t',)
    assert timers.next_deadline() == 10.25
    assert timers.due(10.24) == ()
    assert timers.due(10.25) == ('t',)
    assert timers.next_deadline() == 10.5


def test_missed_ticks_are_skipped_and_the_grid_stays() -> None:
    timers = TimerSchedule({'t': 0.5})
    timers.start(0.0)
    timers.due(0.0)
    assert timers.due(2.3) == ('t',)
    assert timers.next_deadline() == 2.5


def test_the_longest_due_timer_comes_first() -> None:
    timers = TimerSchedule({'slow': 1.0, 'fast': 0.25})
    timers.start(0.0)
    assert timers.due(0.0) == ('slow', 'fast')
    assert timers.due(1.1) == ('fast', 'slow')


def test_stopping_and_starting_begins_a_new_grid() -> None:
    timers = TimerSchedule({'t': 1.0})
    timers.start(0.0)
    timers.due(0.0)
    timers.start(0.3)
    assert timers.next_deadline() == 1.0
    timers.stop()
    assert timers.due(5.0) == ()
    timers.start(5.5)
    assert timers.next_deadline() == 5.5


@pytest.mark.parametrize('period', [0.1, 0.3, 1e-3, 1 / 3, 7.7])
def test_the_count_is_exact_over_a_long_time(period: float) -> None:
    timers = TimerSchedule({'t': period})
    timers.start(1000.1)
    now, count = 0.0, 0
    for _ in range(5000):
        now = timers.next_deadline() or 0.0
        count += len(timers.due(now))
    assert count == 5000
    assert now == pytest.approx(1000.1 + 4999 * period, abs=1e-6)


@given(
    st.floats(0.001, 10.0),
    st.floats(0, 1e6),
    st.lists(st.floats(0, 5.0), max_size=50),
)
def test_the_next_tick_is_always_ahead_and_within_one_period(period: float, start: float, waits: list[float]) -> None:
    timers = TimerSchedule({'t': period})
    timers.start(start)
    now = start
    for wait in waits:
        now += wait
        timers.due(now)
        deadline = timers.next_deadline()
        assert deadline is not None
        assert now < deadline
        assert deadline - now <= period + math.ulp(now) * 4
