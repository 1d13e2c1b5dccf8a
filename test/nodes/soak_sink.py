"""Receives, and marks the first message of each incarnation."""

from __future__ import annotations

import os

from marks import mark

from adora_ros import Node

node = Node()
mark('pid', os.getpid())
node.log_info('up')  # so that the log file is open from the beginning
fed = False
for event in node:
    if event['type'] == 'INPUT' and not fed:
        fed = True
        mark('fed')
