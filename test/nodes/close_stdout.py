"""Closes its standard output and standard error and works on."""

from __future__ import annotations

import os

from marks import mark

from adora_ros import Node

mark('spawned')
node = Node()
mark('pid', os.getpid())
os.close(1)
os.close(2)
mark('running')
for event in node:
    mark(event['type'])
mark('end')
os._exit(0)
