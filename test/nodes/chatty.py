"""Prints 10 MB/s, or what of it is read, until it is told to stop; with ``early`` before it connects, for ever."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING

from marks import mark

if TYPE_CHECKING:
    from collections.abc import Callable

LINE = b'x' * 99 + b'\n'
PERIOD = 0.01
BURST = LINE * int(10e6 * PERIOD / len(LINE))


def flood(is_over: Callable[[], bool]) -> None:
    """Print until it is over."""
    due = time.monotonic()
    while not is_over():
        os.write(1, BURST)
        due += PERIOD
        time.sleep(max(0.0, due - time.monotonic()))


mark('spawned')
mark('pid', os.getpid())
if sys.argv[1:] == ['early']:
    flood(lambda: False)
from adora_ros import Node  # noqa: E402 - an early flood does not wait for it

node = Node()
mark('running')
flood(lambda: any(event['type'] == 'STOP' for event in node.drain()))
mark('end')
