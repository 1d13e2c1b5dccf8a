"""A base that uses rclpy and an InputTracker: drives as commanded, brakes after ``sys.argv[1]`` s without a command."""

from __future__ import annotations

import functools
import os
import sys

import rclpy
from marks import mark
from rclpy.executors import ExternalShutdownException
from rclpy.utilities import remove_ros_args
from std_msgs.msg import String

from adora_ros import InputTracker

rclpy.init()
node = rclpy.create_node('unnamed')
tracker = InputTracker(node, on_node_restarted=lambda source: mark('source restarted', source))
tracker.create_subscription(
    String,
    'cmd',
    lambda _: mark('drive'),
    10,
    input_timeout=float(remove_ros_args(sys.argv)[1]),
    on_closed=functools.partial(mark, 'brake'),
    on_recovered=functools.partial(mark, 'resume'),
)
mark('pid', os.getpid())
try:
    rclpy.spin(node)
except (KeyboardInterrupt, ExternalShutdownException):
    tracker.destroy()
rclpy.try_shutdown()
