"""Crashes with exit code 3: ``early``, before it connects, ``late``, once the dataflow runs, or after N seconds."""

from __future__ import annotations

import os
import sys

from marks import mark

when = sys.argv[1]
mark('spawned')
if when != 'early':
    from adora_ros import Node

    node = Node()
    mark('running')
    if when != 'late':
        node.next(float(when))
os._exit(3)
