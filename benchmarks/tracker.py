"""What an InputTracker costs per message, against a plain subscription.

Usage: ``python -m benchmarks.tracker [--messages N] [--rounds N]``; prints JSON.

Both subscriptions are called as an executor calls them, with the same message, in rounds that take turns. Time is that
of the processor as the thread's clock counts it, so that other programs do not count. The cost is the difference of the
medians. The executor and DDS, which take some hundred times as long, are left out on purpose: their scatter would hide
it. Memory is what Python has allocated after the rounds, less before.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import sys
import time
import tracemalloc
from typing import Any

import rclpy
from std_msgs.msg import String

from adora_ros import InputTracker

LIMIT = 3.0
"""Microseconds that a message may cost."""


def per_message(callback: Any, message: Any, messages: int) -> float:
    """Return the microseconds of processor time that one call takes."""
    start = time.thread_time_ns()
    for _ in range(messages):
        callback(message)
    return (time.thread_time_ns() - start) / messages / 1000


def summary(samples: list[float]) -> dict[str, float]:
    """Return median and quartiles, in microseconds."""
    low, median, high = statistics.quantiles(samples, n=4)
    return {'median_us': round(median, 4), 'q1_us': round(low, 4), 'q3_us': round(high, 4)}


def measure(messages: int, rounds: int) -> dict[str, Any]:
    """Return the figures."""
    rclpy.init(args=[])
    node = rclpy.create_node('benchmark')
    tracker = InputTracker(node)
    plain = node.create_subscription(String, 'plain', lambda _: None, 10).callback
    tracked = tracker.create_subscription(String, 'tracked', lambda _: None, 10, input_timeout=60.0).callback
    message = String()
    for callback in (plain, tracked):
        per_message(callback, message, messages)
    samples: dict[str, list[float]] = {'plain': [], 'tracked': []}
    for _ in range(rounds):
        samples['plain'].append(per_message(plain, message, messages))
        samples['tracked'].append(per_message(tracked, message, messages))
    growth = _growth(tracked, messages * rounds)
    tracker.destroy()
    node.destroy_node()
    rclpy.try_shutdown()
    cost = statistics.median(samples['tracked']) - statistics.median(samples['plain'])
    return {
        'messages': messages,
        'rounds': rounds,
        **{name: summary(values) for name, values in samples.items()},
        'cost_us': round(cost, 4),
        'limit_us': LIMIT,
        'growth_bytes': growth,
        'within_limit': cost <= LIMIT,
    }


def _growth(callback: Any, messages: int) -> int:
    """Return how many more bytes are allocated after many messages, each a new one, than after a few."""
    tracemalloc.start()
    for _ in range(100):
        callback(String())
    gc.collect()
    before, _ = tracemalloc.get_traced_memory()
    for _ in range(messages):
        callback(String())
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return after - before


def main() -> int:
    """Print the figures; return whether the cost is above the limit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument('--messages', type=int, default=2000, help='per round')
    parser.add_argument('--rounds', type=int, default=50)
    options = parser.parse_args()
    figures = measure(options.messages, options.rounds)
    sys.stdout.write(json.dumps(figures, indent=2) + '\n')
    return 0 if figures['within_limit'] else 1


if __name__ == '__main__':
    sys.exit(main())
