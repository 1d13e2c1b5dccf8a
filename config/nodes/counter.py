"""Counts its ticks."""

from __future__ import annotations

import pyarrow as pa

from adora_ros import Node


def main() -> None:
    """Count until the dataflow ends."""
    node = Node()
    number = 0
    for event in node:
        if event['type'] == 'INPUT':
            node.send_output('count', pa.array([number]), {'number': number})
            number += 1


if __name__ == '__main__':
    main()
