"""A lifecycle node that carries out what ``change_state`` asks for, and answers as ``sys.argv[1]`` says.

``denies``: that it failed. ``silent``: not at all. ``hangs``: never comes back from it. ``fails``: it does fail, and
logs why.
"""

from __future__ import annotations

import sys
import time

import rclpy
from lifecycle_msgs.msg import State, TransitionEvent
from lifecycle_msgs.srv import ChangeState, GetState
from marks import mark
from rclpy.executors import ExternalShutdownException
from rclpy.utilities import remove_ros_args

REACHED = {1: State(id=2, label='inactive'), 3: State(id=3, label='active'), 4: State(id=2, label='inactive')}

how = remove_ros_args(sys.argv)[1]
rclpy.init()
node = rclpy.create_node('unnamed')
state = State(id=1, label='unconfigured')


def on_get(_: GetState.Request, response: GetState.Response) -> GetState.Response:
    """Tell the state."""
    response.current_state = state
    return response


def on_change(request: ChangeState.Request, response: ChangeState.Response) -> ChangeState.Response:
    """Change it."""
    global state  # noqa: PLW0603 - the node has one
    mark('asked', request.transition.id)
    if how == 'hangs':
        time.sleep(1000)
    if how == 'fails':
        node.get_logger().error('the sensor has no power')
        return response
    state = REACHED[request.transition.id]
    if how == 'silent':
        msg = 'no answer'
        raise Unanswered(msg)
    response.success = how != 'denies'
    return response


class Unanswered(Exception):  # noqa: N818 - it is no error
    """Leaves a callback before the answer is sent."""


node.create_publisher(TransitionEvent, '~/transition_event', 1)
node.create_service(GetState, '~/get_state', on_get)
node.create_service(ChangeState, '~/change_state', on_change)
while rclpy.ok():
    try:
        rclpy.spin(node)
    except Unanswered:
        continue
    except (KeyboardInterrupt, ExternalShutdownException):
        mark('interrupted')
        break
rclpy.try_shutdown()
