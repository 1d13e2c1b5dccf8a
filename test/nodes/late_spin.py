"""A plain ROS node that is there, with all its services, and answers none of them until the file ``go`` is."""

from __future__ import annotations

import time
from pathlib import Path

import rclpy
from marks import mark
from rclpy.executors import ExternalShutdownException

rclpy.init()
node = rclpy.create_node('unnamed')
mark('there')
while not Path('go').exists():
    time.sleep(0.05)
mark('spins')
try:
    rclpy.spin(node)
except (KeyboardInterrupt, ExternalShutdownException):
    mark('interrupted')
