"""Takes its ticks and does nothing."""

import time

STARTED = time.monotonic_ns()

import sys

from link import Stamps, connect

stamps = Stamps(sys.argv[1])
stamps.write('start', STARTED)
ticked = False
for event in connect():
    if event['type'] == 'INPUT' and not ticked:
        ticked = True
        stamps.write('first')
