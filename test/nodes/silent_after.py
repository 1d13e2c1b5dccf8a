"""Sends a message every 0.1 s until it has sent ``sys.argv[1]``, is silent for ``sys.argv[2]`` seconds, goes on."""

from __future__ import annotations

import sys
import time

import pyarrow as pa
from marks import mark

from adora_ros import Node

count, silence = int(sys.argv[1]), float(sys.argv[2])
node = Node()
mark('running')
sent = 0
while not any(event['type'] == 'STOP' for event in node.drain()):
    if sent == count:
        time.sleep(silence)
    node.send_output('data', pa.array([sent]))
    sent += 1
    time.sleep(0.1)
