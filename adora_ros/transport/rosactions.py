"""How the goals of ROS actions end, in dora's words (``goal_status``)."""

from __future__ import annotations

from typing import Any

from action_msgs.msg import GoalStatus

from adora_ros.transport.metadata import ABORTED, CANCELED, SUCCEEDED

STATUSES = {
    GoalStatus.STATUS_SUCCEEDED: SUCCEEDED,
    GoalStatus.STATUS_ABORTED: ABORTED,
    GoalStatus.STATUS_CANCELED: CANCELED,
}
"""The word for each final status of ROS."""


def settle(handle: Any, status: str) -> None:
    """End a goal at its server.

    Args:
        handle: rclpy's handle of the goal.
        status: how it has ended; what is none of the words, or a cancellation that nobody has asked for, is an abort.

    """
    if status == SUCCEEDED:
        handle.succeed()
    elif status == CANCELED and handle.is_cancel_requested:
        handle.canceled()
    else:
        handle.abort()
