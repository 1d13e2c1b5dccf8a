"""Writes down the first message of each process that sends one, and what happens to its inputs."""

import time

STARTED = time.monotonic_ns()

import sys

from link import Stamps, connect

stamps = Stamps(sys.argv[1])
stamps.write('start', STARTED)
seen = set()
for event in connect():
    now = time.monotonic_ns()
    if event['type'] == 'INPUT':
        sender = (event['id'], event['value'][0])
        if sender not in seen:
            seen.add(sender)
            stamps.write('first', now, input=sender[0], sender=sender[1])
            stamps.hear(sender[1])
    elif event['type'] in {'INPUT_CLOSED', 'INPUT_RECOVERED'}:
        stamps.write(event['type'].lower(), now, input=event['id'])
