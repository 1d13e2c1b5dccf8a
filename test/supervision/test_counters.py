"""Counters of fault tolerance."""

from __future__ import annotations

import pytest

from adora_ros.supervision import Counters


def test_the_log_line() -> None:
    counters = Counters().plus(restarts=3, input_timeouts=1, cb_recoveries=1)
    assert str(counters) == 'restarts=3 health_kills=0 startup_kills=0 input_timeouts=1 cb_recoveries=1'


def test_counting_makes_new_counters_that_accumulate() -> None:
    first = Counters()
    second = first.plus(health_kills=1).plus(health_kills=2, startup_kills=1)
    assert first == Counters()
    assert second == Counters(health_kills=3, startup_kills=1)


def test_there_is_no_other_counter() -> None:
    with pytest.raises(AttributeError):
        Counters().plus(crashes=1)
