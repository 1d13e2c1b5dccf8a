"""Sends ``sys.argv[1]`` messages, one every 0.1 s, is silent for ``sys.argv[2]`` seconds, goes on.

With ``go`` instead of seconds it is silent until the file of that name is there.
"""

from __future__ import annotations

import sys
import time

import pyarrow as pa
from marks import mark, wait_for_file

from adora_ros import Node

count, silence = int(sys.argv[1]), sys.argv[2]
node = Node()
mark('running')
sent = 0
while not any(event['type'] == 'STOP' for event in node.drain()):
    if sent == count and silence == 'go':
        wait_for_file(silence)
    elif sent == count:
        time.sleep(float(silence))
    node.send_output('data', pa.array([sent]))
    sent += 1
    time.sleep(0.1)
