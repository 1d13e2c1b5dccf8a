"""Sensor fusion: drives the slower the fewer sensors there are, and not at all without the IMU."""

from __future__ import annotations

from geometry_msgs.msg import Twist

from adora_ros import InputState, InputTracker, Node

SENSORS = ('lidar', 'camera', 'gps', 'imu')
VITAL = 'imu'
SPEEDS = (1.0, 0.6, 0.3, 0.1)
"""Metres per second, by the number of closed inputs."""


def safe_speed(tracker: InputTracker) -> float:
    """Return how fast the robot may drive with what it knows; before every sensor has spoken once it stands."""
    states = [tracker.state(sensor) for sensor in SENSORS]
    if InputState.WAITING in states or tracker.is_closed(VITAL):
        return 0.0
    return SPEEDS[states.count(InputState.CLOSED)]


def twist(speed: float) -> Twist:
    """Return the command to drive straight ahead."""
    command = Twist()
    command.linear.x = speed
    return command


def main() -> None:
    """Drive until the dataflow ends, and then stop the robot."""
    node = Node()
    tracker = InputTracker(SENSORS)
    speed = 0.0
    for event in node:
        tracker.process_event(event)
        wanted = safe_speed(tracker)
        changed = wanted != speed
        speed = wanted
        if changed:
            print(f'{speed} m/s, without {", ".join(tracker.closed_inputs()) or "nothing"}')
        if changed or event.get('id') == 'tick':
            node.send_output('cmd_vel', twist(speed))
    node.send_output('cmd_vel', Twist())


if __name__ == '__main__':
    main()
