"""A sensor: sends a measurement at every tick, but for a while.

``SILENCE``, if it is set, has the numbers of the first tick without a measurement and of the first one with a
measurement again.
"""

from __future__ import annotations

import os

import pyarrow as pa

from adora_ros import Node


def main() -> None:
    """Measure until the dataflow ends."""
    node = Node()
    first, last = (int(number) for number in os.environ.get('SILENCE', '0 0').split())
    ticks = 0
    for event in node:
        if event['type'] == 'INPUT':
            if not first <= ticks < last:
                node.send_output('data', pa.array([ticks]))
            ticks += 1


if __name__ == '__main__':
    main()
