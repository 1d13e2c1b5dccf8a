"""Answers requests and goals until its inputs close."""

from __future__ import annotations

import time

import pyarrow as pa
from dora import Node

PAUSE = 0.1
"""Seconds between two messages whose order is to be the same in every run."""


def main() -> None:
    """Serve."""
    node = Node()
    for event in node:
        if event['type'] != 'INPUT':
            continue
        number = event['value'][0].as_py()
        if event['id'] == 'request':
            node.send_service_response('response', pa.array([number * 10]), event['metadata'])
        elif event['id'] == 'goal':
            goal = {'goal_id': event['metadata']['goal_id']}
            for step in range(number):
                node.send_output('feedback', pa.array([step]), goal)
                time.sleep(PAUSE)
            node.send_output('result', pa.array([number]), {**goal, 'goal_status': 'succeeded'})
        elif event['id'] == 'cancel':
            goal = {'goal_id': event['metadata']['goal_id']}
            node.send_output('result', pa.array([number]), {**goal, 'goal_status': 'canceled'})


if __name__ == '__main__':
    main()
