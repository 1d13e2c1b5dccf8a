"""Sends ``sys.argv[1]`` numbered messages at once, then ends; with a second argument it waits that long between two."""

from __future__ import annotations

import sys
import time

import pyarrow as pa
from marks import mark

from adora_ros import Node

count = int(sys.argv[1])
pause = float(sys.argv[2]) if len(sys.argv) > 2 else 0.0
node = Node()
mark('running')
for number in range(count):
    node.send_output('data', pa.array([number]))
    if pause:
        time.sleep(pause)
