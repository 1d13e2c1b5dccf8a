"""Sends every 50 ms for ``sys.argv[2]`` seconds, then hangs: ``loop`` for ever or ``sleep`` for ever.

It has no inputs, since dora-rs takes a node with a timer input for alive whatever its loop does.
"""

import time

STARTED = time.monotonic_ns()

import os
import sys

from link import Stamps, connect

stamps = Stamps(sys.argv[1])
stamps.write('start', STARTED)
node = connect()
end = time.monotonic() + float(sys.argv[2])
while True:
    node.send_output('data', [os.getpid()])
    if time.monotonic() >= end:
        break
    time.sleep(0.05)
stamps.write('hang')
while sys.argv[3] == 'loop':
    pass
time.sleep(1e9)
