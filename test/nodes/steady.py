"""Sends numbered messages, one each ``sys.argv[1]`` seconds, and on a stop at once as many more as in a second."""

from __future__ import annotations

import os
import sys
import time

import pyarrow as pa
from marks import mark

from adora_ros import Node

period = float(sys.argv[1])
node = Node()
mark('pid', os.getpid())
sent = 0
due = time.monotonic()
while True:
    event = node.next(timeout=max(0.0, due - time.monotonic()))
    if event is None or event['type'] == 'STOP':
        break
    if time.monotonic() >= due:
        due = time.monotonic() + period
        node.send_output('data', pa.array([sent]))
        sent += 1
for _ in range(round(1 / period)):
    node.send_output('data', pa.array([sent]))
    sent += 1
mark('sent', sent)
