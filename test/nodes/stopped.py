"""Suspends itself with SIGSTOP once the dataflow runs."""

from __future__ import annotations

import os
import signal

from marks import mark

from adora_ros import Node

mark('spawned')
mark('pid', os.getpid())
node = Node()
mark('running')
os.kill(os.getpid(), signal.SIGSTOP)
mark('continued')
for _ in node:
    pass
