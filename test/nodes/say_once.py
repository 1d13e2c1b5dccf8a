"""Says ``sys.argv[1]`` once, at once."""

from __future__ import annotations

import sys

from adora_ros import Node

node = Node()
node.send_output('question', {'data': sys.argv[1]})
for _ in node:
    pass
