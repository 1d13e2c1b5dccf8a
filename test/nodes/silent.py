"""Neither sends nor prints anything; it waits for events, and cleans up in ``finally``."""

from __future__ import annotations

import os

from marks import mark

from adora_ros import Node

mark('spawned')
mark('pid', os.getpid())
node = Node()
mark('running')
try:
    for event in node:
        mark(event['type'])
finally:
    mark('cleaned')
