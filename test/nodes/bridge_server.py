"""Answers what comes through bridges, in reverse order and in every way that there is."""

from __future__ import annotations

import os

import pyarrow as pa
from marks import mark

from adora_ros import Node

node = Node()
requests = []
for event in node:
    mark('event', event['type'], event['id'])
    if event['type'] != 'INPUT':
        continue
    metadata = event['metadata']
    if event['id'] == 'request':
        requests.append((event['value'][0].as_py()['data'], metadata['request_id']))
        for number, (data, request_id) in enumerate(reversed(requests)) if len(requests) == 2 else ():
            answer = pa.array([{'success': data, 'message': f'answer {number}'}])
            node.send_output('response', answer, {'request_id': request_id})
        continue
    goal = {'goal_id': metadata['goal_id']}
    if event['id'] == 'cancel':
        node.send_output('result', pa.array([{'sequence': [3]}]), {**goal, 'goal_status': 'canceled'})
        continue
    order = event['value'][0].as_py()['order']
    node.send_output('feedback', pa.array([{'sequence': [0, order]}]), goal)
    if order == 1:
        node.send_output('result', pa.array([{'sequence': [1, 1]}]), goal)
    elif order == 2:
        node.send_output('result', pa.array([{'sequence': [2]}]), {**goal, 'goal_status': 'aborted'})
    elif order == 4:
        os._exit(1)
