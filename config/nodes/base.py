"""A mobile base: passes commands on to its motors, and stops them when no command comes."""

from __future__ import annotations

from geometry_msgs.msg import Twist

from adora_ros import InputTracker, Node


def main() -> None:
    """Drive as commanded until the dataflow ends, and then stop."""
    node = Node()
    tracker = InputTracker(['cmd_vel'])
    for event in node:
        tracker.process_event(event)
        if event['type'] == 'INPUT':
            node.send_output('drive', event['value'])
        elif event['type'] == 'INPUT_CLOSED':
            node.send_output('drive', Twist())
            print(f'stopped: the last command is {tracker.age("cmd_vel"):.1f} s old')
        elif event['type'] == 'INPUT_RECOVERED':
            print('commands again')
    node.send_output('drive', Twist())


if __name__ == '__main__':
    main()
