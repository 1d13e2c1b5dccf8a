"""Asks ``sys.argv[1]`` at every tick and marks the answers, as messages and as Arrow."""

from __future__ import annotations

import sys

from marks import mark

from adora_ros import Node

node = Node()
for event in node:
    if event['type'] == 'INPUT' and event['id'] == 'tick':
        node.send_output('question', {'data': sys.argv[1]})
    elif event['type'] == 'INPUT':
        assert event['value'].to_pylist() == [{'data': event['message'].data}]
        mark('answer', event['message'].data)
