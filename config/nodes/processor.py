"""Measures the brightness of pictures. Its first incarnation hangs after ``HANG_AFTER`` of them."""

from __future__ import annotations

import os

import pyarrow as pa
import pyarrow.compute as pc

from adora_ros import Node


def hang() -> None:
    """Never return."""
    while True:
        pass


def main() -> None:
    """Measure until there are no more pictures."""
    node = Node()
    left = None if node.is_restart() else int(os.environ['HANG_AFTER'])
    for event in node:
        if event['type'] != 'INPUT':
            continue
        if left == 0:
            print('hangs')
            hang()
        elif left is not None:
            left -= 1
        node.send_output('brightness', pa.array([pc.mean(event['value']).as_py()]), event['metadata'])


if __name__ == '__main__':
    main()
