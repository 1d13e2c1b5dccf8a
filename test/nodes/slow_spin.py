"""A plain ROS node whose executor is busy once, for ``sys.argv[1]`` seconds, a while after its start."""

from __future__ import annotations

import os
import sys
import time

import rclpy
from marks import mark
from rclpy.executors import ExternalShutdownException
from rclpy.utilities import remove_ros_args

seconds = float(remove_ros_args(sys.argv)[1])
mark('spawned')
mark('pid', os.getpid())
rclpy.init()
node = rclpy.create_node('unnamed')


def work() -> None:
    """Block the executor."""
    timer.cancel()
    time.sleep(seconds)
    mark('worked', seconds)


timer = node.create_timer(2.0, work)
try:
    rclpy.spin(node)
except (KeyboardInterrupt, ExternalShutdownException):
    mark('interrupted')
