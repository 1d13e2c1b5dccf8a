"""What an InputTracker costs, as the benchmark measures it."""

from __future__ import annotations

from benchmarks import tracker


def test_a_message_costs_little_and_leaves_nothing_behind() -> None:
    figures = tracker.measure(messages=500, rounds=10)
    assert 0.0 < figures['cost_us'] <= 2 * tracker.LIMIT
    assert figures['growth_bytes'] < 1000
    assert figures['within_limit'] is (figures['cost_us'] <= tracker.LIMIT)
