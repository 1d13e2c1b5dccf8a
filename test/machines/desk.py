"""Asks the coordinator what it reads from its standard input, and answers with one line of JSON each.

Lines are ``start FILE``, ``stop NAME`` and ``overview``; the end of the input is its end.
"""

from __future__ import annotations

import dataclasses
import json
import sys

from adora_ros.coordinator.client import CoordinatorClient
from adora_ros.dataflow import load
from adora_ros.errors import AdoraError

with CoordinatorClient(timeout=15.0) as client:
    for line in sys.stdin:
        verb, _, argument = line.strip().partition(' ')
        try:
            if verb == 'start':
                answer: object = client.start(load(argument))
            elif verb == 'stop':
                answer = client.stop(argument).uuid
            else:
                answer = dataclasses.asdict(client.overview())
            text = json.dumps({'answer': answer})
        except AdoraError as error:
            text = json.dumps({'error': str(error)})
        sys.stdout.write(text + '\n')
        sys.stdout.flush()
