"""Sends a ``std_msgs/String`` every 0.05 s."""

from __future__ import annotations

from std_msgs.msg import String

from adora_ros import Node

node = Node()
for event in node:
    if event['type'] == 'INPUT':
        node.send_output('chatter', String(data='hello'))
