"""Sends four chunks of a stream; the third flushes what waits at the receiver."""

from __future__ import annotations

import time

import pyarrow as pa
from dora import Node


def main() -> None:
    """Send, then end."""
    node = Node()
    for seq in range(4):
        stream = {'session_id': 's', 'segment_id': seq // 2, 'seq': seq % 2, 'fin': seq % 2 == 1, 'flush': seq == 2}
        node.send_output('data', pa.array([seq]), stream)
        time.sleep(0.02)
    time.sleep(1.2)


if __name__ == '__main__':
    main()
