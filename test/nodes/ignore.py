"""Ignores its STOP and the signals named in ``sys.argv``; it works until it is killed, or a signal not named comes."""

from __future__ import annotations

import os
import signal
import sys
import time

from marks import mark

for name in sys.argv[1:]:
    signal.signal(signal.Signals[name], signal.SIG_IGN)
from adora_ros import Node  # noqa: E402 - the signals are ignored from the beginning

mark('spawned')
mark('pid', os.getpid())
node = Node()
mark('running')
while True:
    node.try_recv()
    time.sleep(0.02)
