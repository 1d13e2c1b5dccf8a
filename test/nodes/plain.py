"""A plain ROS node; after ``sys.argv[1]`` seconds, if given and in that incarnation only, its executor hangs.

The second argument is the incarnation that hangs, by default all do.
"""

from __future__ import annotations

import os
import sys
import time

import rclpy
from marks import INCARNATION, mark
from rclpy.executors import ExternalShutdownException
from rclpy.utilities import remove_ros_args

arguments = remove_ros_args(sys.argv)[1:]
mark('spawned')
mark('pid', os.getpid())
rclpy.init()
node = rclpy.create_node('unnamed')
hangs = bool(arguments) and (len(arguments) == 1 or int(arguments[1]) == INCARNATION)
end = time.monotonic() + float(arguments[0]) if hangs else float('inf')
try:
    while time.monotonic() < end:
        rclpy.spin_once(node, timeout_sec=0.05)
    mark('hanging')
    time.sleep(1000)
except (KeyboardInterrupt, ExternalShutdownException):
    mark('interrupted')
finally:
    mark('cleaned')
rclpy.try_shutdown()
