"""A planner: drives fast while it knows what is around, slowly by its last knowledge while it does not."""

from __future__ import annotations

import pyarrow as pa

from adora_ros import InputTracker, Node

CRUISE = 1.0
CRAWL = 0.2
"""Metres per second."""


def safe_speed(tracker: InputTracker) -> float:
    """Return how fast the robot may drive; before it has seen anything it stands."""
    if tracker.last_value('objects') is None:
        return 0.0
    return CRAWL if tracker.is_closed('objects') else CRUISE


def main() -> None:
    """Plan at every tick until the dataflow ends."""
    node = Node()
    tracker = InputTracker(['objects'])
    speed = 0.0
    for event in node:
        tracker.process_event(event)
        if event['type'] != 'INPUT' or event['id'] != 'tick':
            continue
        wanted = safe_speed(tracker)
        if wanted != speed:
            speed = wanted
            (spot,) = tracker.last_value('objects').to_pylist()
            print(f'{speed} m/s by the object at {spot["x"]}, {spot["y"]}, seen {tracker.age("objects"):.1f} s ago')
        node.send_output('speed', pa.array([speed]))
    node.send_output('speed', pa.array([0.0]))


if __name__ == '__main__':
    main()
