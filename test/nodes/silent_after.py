"""Sends ``sys.argv[1]`` messages, one every 0.1 s, is silent for ``sys.argv[2]`` seconds, goes on.

With ``go`` instead of seconds it is silent until the file of that name is there.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pyarrow as pa
from marks import mark

from adora_ros import Node


def be_silent(until: str) -> None:
    """Wait for seconds or for a file."""
    if until != 'go':
        time.sleep(float(until))
    else:
        while not Path(until).exists():
            time.sleep(0.05)


count, silence = int(sys.argv[1]), sys.argv[2]
node = Node()
mark('running')
sent = 0
while not any(event['type'] == 'STOP' for event in node.drain()):
    if sent == count:
        be_silent(silence)
    node.send_output('data', pa.array([sent]))
    sent += 1
    time.sleep(0.1)
