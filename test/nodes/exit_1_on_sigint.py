"""A plain ROS node that takes its interruption for an error, as many do."""

from __future__ import annotations

import os
import sys

import rclpy
from marks import mark
from rclpy.executors import ExternalShutdownException

rclpy.init()
node = rclpy.create_node('unnamed')
mark('pid', os.getpid())
try:
    rclpy.spin(node)
except (KeyboardInterrupt, ExternalShutdownException):
    mark('interrupted')
    sys.exit(1)
