"""Sends at each tick for ``sys.argv[2]`` seconds, then falls silent for ``sys.argv[3]``, and so on.

The first silence comes ``sys.argv[4]`` seconds later than that. It is silent by not sending: its loop takes every tick.
"""

import time

STARTED = time.monotonic_ns()

import os
import sys

from link import Stamps, connect

stamps = Stamps(sys.argv[1])
stamps.write('start', STARTED)
talk, pause, offset = (float(word) for word in sys.argv[2:5])
node = connect()
until = time.monotonic() + talk + offset
resume = 0.0
for event in node:
    now = time.monotonic()
    if event['type'] != 'INPUT' or now < resume:
        continue
    back = resume > 0 and until < resume
    if back:
        until = now + talk
    stamp = time.monotonic_ns()
    node.send_output('data', [os.getpid(), stamp])
    if back:
        stamps.write('back', stamp)
    elif now >= until:
        stamps.write('last', stamp)
        resume = now + pause
