"""Starting ROS in a process: where its environment does not allow that, with one line that says why."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import rclpy
from rclpy.signals import SignalHandlerOptions

from adora_ros.errors import TransportError
from adora_ros.transport.rundir import use_log_root

if TYPE_CHECKING:
    from rclpy.context import Context

LAST_DOMAIN = 232
"""The highest domain whose ports DDS can have."""


def start_ros(context: Context | None = None, args: list[str] | None = None, *, writes_log: bool = True) -> None:
    """Initialize ROS in a context, the default one unless given, and leave the signals alone.

    Args:
        context: The context.
        args: ROS's arguments, those of the command line unless given.
        writes_log: Whether ROS needs its log folder, which it does unless the arguments say otherwise.

    Raises:
        TransportError: it cannot be started with this environment.
        ManagerError: no folder for logs can be written.

    """
    _check_domain(os.environ.get('ROS_DOMAIN_ID') or '0')
    if writes_log:
        use_log_root()
    try:
        rclpy.init(args=args, context=context, signal_handler_options=SignalHandlerOptions.NO)
    except RuntimeError as error:  # RCLError, which rclpy does not export
        msg = f'ROS 2 cannot be started: {" ".join(str(error).split())}'
        raise TransportError(msg) from error


def _check_domain(text: str) -> None:
    is_dds = 'zenoh' not in os.environ.get('RMW_IMPLEMENTATION', '')
    if not text.isdecimal() or (is_dds and int(text) > LAST_DOMAIN):  # Fast DDS ends the process for a higher one
        msg = f'ROS_DOMAIN_ID is `{text}`; use a number from 0 to {LAST_DOMAIN}'
        raise TransportError(msg)
