"""Sends numbered messages, and dies after ``sys.argv[3]`` more once the consumer ``sys.argv[2]`` has got one."""

import time

STARTED = time.monotonic_ns()

import os
import sys

from link import Stamps, connect

stamps = Stamps(sys.argv[1])
stamps.write('start', STARTED)
consumer, left = sys.argv[2], int(sys.argv[3])
node = connect()
heard = False
for number, event in enumerate(node):
    if event['type'] == 'INPUT':
        node.send_output('data', [os.getpid(), number])
        heard = heard or stamps.has_heard(consumer, os.getpid())
        left -= heard
        if left <= 0:
            stamps.write('exit')
            os._exit(3)
