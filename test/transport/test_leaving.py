"""The end of a process that used ROS."""

from __future__ import annotations

import subprocess
import sys

import pytest

LEAVING = """
import os
import rclpy
from adora_ros.transport.leaving import keep_factory
rclpy.init()
node = rclpy.create_node('leaving')
print(keep_factory(), os.environ.get('RMW_IMPLEMENTATION', 'rmw_fastrtps_cpp'))
node.destroy_node()
rclpy.shutdown()
print(keep_factory())
"""


def test_the_factory_of_participants_is_kept_once_there_are_none() -> None:
    done = subprocess.run([sys.executable, '-c', LEAVING], capture_output=True, text=True, check=True)
    during, middleware, after = done.stdout.split()
    if middleware != 'rmw_fastrtps_cpp':
        pytest.skip('another middleware')
    assert (during, after) == ('False', 'True')
