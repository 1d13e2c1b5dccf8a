"""A plain ROS node, or with ``sys.argv[1]`` two of them in one process: answers questions.

The answer is the node's full name, its parameter ``prefix`` and the question.
"""

from __future__ import annotations

import sys

import rclpy
from marks import mark
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.utilities import remove_ros_args
from std_msgs.msg import String


class Answering(Node):
    """Answers questions."""

    def __init__(self, name: str) -> None:
        """Subscribe and publish."""
        super().__init__(name)
        self._prefix: str = self.declare_parameter('prefix', 'none').value
        self._answers = self.create_publisher(String, 'answer', 10)
        self.create_subscription(String, 'question', self._on_question, 10)
        mark('name', self.get_fully_qualified_name())

    def _on_question(self, question: String) -> None:
        mark('asked', question.data)
        self._answers.publish(String(data=f'{self.get_fully_qualified_name()} {self._prefix} {question.data}'))


rclpy.init()
executor = SingleThreadedExecutor()
for node_name in ('first', *remove_ros_args(sys.argv)[1:]):
    executor.add_node(Answering(node_name))
try:
    executor.spin()
except (KeyboardInterrupt, ExternalShutdownException):
    mark('interrupted')
rclpy.try_shutdown()
