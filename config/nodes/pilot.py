"""Drives straight ahead, as long as it knows how the robot moves."""

from __future__ import annotations

from geometry_msgs.msg import Twist

from adora_ros import InputState, InputTracker, Node

SPEED = 0.5
"""Metres per second."""


def main() -> None:
    """Drive until the dataflow ends, and then stop the robot."""
    node = Node()
    tracker = InputTracker(['imu'])
    for event in node:
        tracker.process_event(event)
        if event['type'] in {'INPUT_CLOSED', 'INPUT_RECOVERED'}:
            print(f'{event["id"]}: {"lost" if tracker.is_closed("imu") else "back"}')
        if event.get('id') == 'tick':
            command = Twist()
            command.linear.x = SPEED if tracker.state('imu') is InputState.HEALTHY else 0.0
            node.send_output('cmd_vel', command)
    node.send_output('cmd_vel', Twist())


if __name__ == '__main__':
    main()
