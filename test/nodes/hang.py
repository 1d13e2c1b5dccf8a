"""Hangs in every incarnation: ``sys.argv[1]`` says how, ``sys.argv[2]`` after how many seconds of a healthy loop.

``start`` before it connects, ``native`` in a C call that never gives the interpreter up, ``loop`` in Python code,
``sleep`` where it should wait in ``next()``.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time

from marks import mark

how = sys.argv[1]
healthy = float(sys.argv[2]) if len(sys.argv) > 2 else 0.0
mark('spawned')
mark('pid', os.getpid())
if how == 'start':
    time.sleep(1000)

from adora_ros import Node  # noqa: E402 - a node that hangs before it connects may not even have come this far

node = Node()
mark('running')
end = time.monotonic() + healthy
while (left := end - time.monotonic()) > 0:
    node.next(left)
mark('hanging')
if how == 'native':
    ctypes.PyDLL(None).pause()
while how == 'loop':
    pass
time.sleep(1000)
