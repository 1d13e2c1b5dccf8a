"""Connects after some seconds: the n-th argument is for incarnation n, the last one for all that follow."""

from __future__ import annotations

import os
import sys
import time

from marks import INCARNATION, mark

mark('spawned')
mark('pid', os.getpid())
delays = [float(text) for text in sys.argv[1:]]
time.sleep(delays[min(INCARNATION, len(delays) - 1)])
from adora_ros import Node  # noqa: E402 - as late as the rest

node = Node()
mark('running')
for _ in node:
    pass
mark('end')
