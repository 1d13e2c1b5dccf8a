"""A plain ROS node that is there, with all its services, and answers none of them until the file ``go`` is."""

from __future__ import annotations

import rclpy
from marks import mark, wait_for_file
from rclpy.executors import ExternalShutdownException

rclpy.init()
node = rclpy.create_node('unnamed')
mark('there')
wait_for_file('go')
mark('spins')
try:
    rclpy.spin(node)
except (KeyboardInterrupt, ExternalShutdownException):
    mark('interrupted')
