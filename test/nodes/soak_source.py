"""Sends ten messages a second; SIGUSR1 makes it pause for ``sys.argv[1]`` seconds, in which it waits in ``next()``."""

from __future__ import annotations

import os
import signal
import sys
import time

import pyarrow as pa
from marks import mark

from adora_ros import Node

PERIOD = 0.1
pause = float(sys.argv[1])
silent_until = 0.0


def be_silent(_number: int, _frame: object) -> None:
    """Begin a pause."""
    global silent_until  # noqa: PLW0603 - a signal handler has no other way
    silent_until = time.monotonic() + pause
    mark('silent')


signal.signal(signal.SIGUSR1, be_silent)
node = Node()
mark('pid', os.getpid())
node.log_info('up')  # so that the log file is open from the beginning
sent = 0
due = time.monotonic()
while True:
    event = node.next(timeout=max(0.0, due - time.monotonic()))
    if event is None or event['type'] == 'STOP':
        break
    if time.monotonic() >= due:
        due = time.monotonic() + PERIOD
        if due > silent_until:
            node.send_output('data', pa.array([sent]))
            sent += 1
