"""Works on every event for as long as ``sys.argv`` says, event by event, then handles the others at once."""

from __future__ import annotations

import os
import sys
import time

from marks import mark

from adora_ros import Node

mark('spawned')
work = [float(text) for text in sys.argv[1:]]
node = Node()
mark('pid', os.getpid())
for event in node:
    if event['type'] == 'INPUT' and work:
        seconds = work.pop(0)
        time.sleep(seconds)
        mark('worked', seconds)
mark('end')
