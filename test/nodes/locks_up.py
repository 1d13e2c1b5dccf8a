"""Ends with exit code 0, and then locks up in the C library while it leaves ROS, as Fast DDS does at times."""

from __future__ import annotations

import ctypes

from marks import mark

from adora_ros import Node
from adora_ros.transport import leaving

leaving.PATIENCE = 0.5
node = Node()
node._runtime.ros.destroy_node = ctypes.PyDLL(None).pause  # type: ignore[method-assign]  # PyDLL keeps the interpreter's lock
mark('end')
