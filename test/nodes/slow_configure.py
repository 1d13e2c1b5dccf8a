"""A lifecycle node as rclpy has it: configuring takes the parameter ``seconds``, and fails if ``fails`` is set."""

from __future__ import annotations

import os
import time
from typing import Any

import rclpy
from marks import mark
from rclpy.executors import ExternalShutdownException
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn


class Slow(LifecycleNode):
    """Takes its time."""

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Block the executor, as a driver that opens its device does."""
        mark('configure', state.label)
        seconds: Any = self.declare_parameter('seconds', 0.0).value
        fails: Any = self.declare_parameter('fails', value=False).value
        time.sleep(seconds)
        if fails:
            return TransitionCallbackReturn.FAILURE
        mark('configured')
        return super().on_configure(state)


rclpy.init()
slow = Slow('unnamed')
mark('spawned')
mark('pid', os.getpid())
try:
    rclpy.spin(slow)
except (KeyboardInterrupt, ExternalShutdownException):
    mark('interrupted')
slow.destroy_node()
rclpy.try_shutdown()
