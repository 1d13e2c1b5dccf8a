"""Sends a ``std_msgs/String`` at every tick."""

from __future__ import annotations

import os

from marks import mark

from adora_ros import Node

mark('pid', os.getpid())
node = Node()
for event in node:
    if event['type'] == 'INPUT':
        node.send_output('cmd', {'data': 'go'})
