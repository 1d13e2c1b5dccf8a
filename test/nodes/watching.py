"""A plain ROS node that listens to the lifecycle of others."""

from __future__ import annotations

import contextlib

import rclpy
from lifecycle_msgs.msg import TransitionEvent
from rclpy.executors import ExternalShutdownException

rclpy.init()
node = rclpy.create_node('unnamed')
node.create_subscription(TransitionEvent, '/somebody/transition_event', [].append, 10)
with contextlib.suppress(KeyboardInterrupt, ExternalShutdownException):
    rclpy.spin(node)
rclpy.try_shutdown()
