"""A lifecycle node as rclpy has it; it marks what is asked of it and tells its process id."""

from __future__ import annotations

import os
from typing import Any

import rclpy
from marks import mark
from rclpy.executors import ExternalShutdownException
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn


class Marked(LifecycleNode):
    """Marks each transition."""

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Mark it; raise if the parameter ``broken`` says so."""
        mark('configure', state.label)
        broken: Any = self.declare_parameter('broken', value=False).value
        if broken:
            msg = 'the sensor has no power'
            raise RuntimeError(msg)
        return super().on_configure(state)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Mark it."""
        mark('activate', state.label)
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Mark it."""
        mark('deactivate', state.label)
        return super().on_deactivate(state)


def main() -> None:
    """Turn the node until it is interrupted."""
    rclpy.init()
    node = Marked('unnamed')
    mark('pid', os.getpid())
    autostart: Any = node.declare_parameter('autostart', value=False).value
    if autostart:
        node.trigger_configure()
        node.trigger_activate()
    try:
        rclpy.spin(node)
    except (KeyboardInterrupt, ExternalShutdownException):
        mark('interrupted')
    node.destroy_node()
    rclpy.try_shutdown()


main()
