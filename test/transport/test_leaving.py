"""The end of a process that used ROS."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

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

LOCKS_UP = """
import ctypes
import rclpy
from adora_ros.transport import dds, leaving
leaving.PATIENCE = 0.2
def work():
    rclpy.init()
    work.node = rclpy.create_node('leaving')
    print(*dds.own_segments(), flush=True)
    leaving.leave(ctypes.PyDLL(None).pause)  # PyDLL keeps the interpreter's lock
    return 7
leaving.leaving_last(work)
"""


def test_who_locks_up_ends_with_its_exit_code_and_leaves_no_shared_memory() -> None:
    done = subprocess.run([sys.executable, '-c', LOCKS_UP], capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stderr) == (7, '')
    segment, lock = map(Path, done.stdout.split())
    assert lock.name == f'{segment.name}_el'
    assert (segment.exists(), lock.exists()) == (False, False)


def test_the_factory_of_participants_is_kept_once_there_are_none() -> None:
    done = subprocess.run([sys.executable, '-c', LEAVING], capture_output=True, text=True, check=True)
    during, middleware, after = done.stdout.split()
    if middleware != 'rmw_fastrtps_cpp':
        pytest.skip('another middleware')
    assert (during, after) == ('False', 'True')
