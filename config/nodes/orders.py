"""Hands out ``BATCHES`` batches of ten orders: the one with the number that is asked for."""

from __future__ import annotations

import os

import pyarrow as pa

from adora_ros import Node

SIZE = 10


def main() -> None:
    """Answer requests until somebody asks for more than there is."""
    node = Node()
    batches = int(os.environ['BATCHES'])
    for event in node:
        if event['type'] != 'INPUT':
            continue
        number = event['value'][0].as_py()
        if number >= batches:
            print('no more batches')
            break
        node.send_output('batch', pa.array(range(number * SIZE, (number + 1) * SIZE)))


if __name__ == '__main__':
    main()
