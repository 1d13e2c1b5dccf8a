"""Sends at each tick."""

import time

STARTED = time.monotonic_ns()

import os
import sys

from link import Stamps, connect

stamps = Stamps(sys.argv[1])
stamps.write('start', STARTED)
node = connect()
for event in node:
    if event['type'] == 'INPUT':
        node.send_output('data', [os.getpid()])
