"""Ignores SIGINT and SIGTERM and its STOP, and starts a child that does so, too."""

from __future__ import annotations

import os
import signal
import time

from marks import mark

for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, signal.SIG_IGN)
child = os.fork()
if child:
    from adora_ros import Node

    mark('pid', os.getpid())
    mark('child', child)
    Node()
while True:
    time.sleep(1)
