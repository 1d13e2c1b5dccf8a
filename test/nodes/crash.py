"""Crashes with exit code 3: ``early``, before it connects, ``late``, once the dataflow runs, or after N seconds.

Or ``activating``, when it is asked to become active.
"""

from __future__ import annotations

import os
import sys

from marks import mark

when = sys.argv[1]
mark('spawned')
if when != 'early':
    from adora_ros import Node
    from adora_ros.node.ros import DataflowNode

    if when == 'activating':
        DataflowNode.on_activate = lambda _node, _state: os._exit(3)  # type: ignore[method-assign,assignment]
    node = Node()
    mark('running')
    if when != 'late':
        node.next(1000.0 if when == 'activating' else float(when))
os._exit(3)
