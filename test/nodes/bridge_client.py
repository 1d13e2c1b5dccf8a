"""Says, calls and sends goals through bridges once it hears ``go``, and marks what comes back."""

from __future__ import annotations

import uuid

import pyarrow as pa
from marks import mark

from adora_ros import Node

GOALS = {str(uuid.UUID(int=order)): order for order in (1, 2, 3)}

node = Node()
node.send_output('say', pa.array([{'data': 'hello'}]))


def ask() -> None:
    """Call, and send all goals."""
    for name, data in (('yes', True), ('no', False)):
        node.send_output('request', pa.array([{'data': data}]), {'request_id': name, 'extra': 7})
    node.send_output('request', pa.array([{'date': True}]))
    for goal_id, order in GOALS.items():
        node.send_output('goal', pa.array([{'order': order}]), {'goal_id': goal_id})


for event in node:
    if event['type'] != 'INPUT':
        continue
    fields, metadata = event['value'][0].as_py(), event['metadata']
    if event['id'] == 'heard':
        mark('heard', fields['data'])
        if fields['data'] == 'go':
            ask()
    elif event['id'] == 'response':
        mark('response', metadata['request_id'], metadata['extra'], fields['success'], fields['message'])
    else:
        order = GOALS[metadata['goal_id']]
        mark(event['id'], order, metadata.get('goal_status', ''), fields['sequence'], metadata.get('error', ''))
        if event['id'] == 'feedback' and order == 2:
            node.send_output('cancel', pa.array([0]), {'goal_id': metadata['goal_id']})
