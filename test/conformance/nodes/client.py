"""Asks a server three things of the kind that ``KIND`` names, and writes what it gets as ``record.py`` does."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
from dora import Node

UUID_LENGTH = 36


def ask(node: Node, number: int) -> str:
    """Send a question; return its id."""
    if os.environ['KIND'] == 'service':
        return str(node.send_service_request('request', pa.array([number]), {'request_id': 'mine', 'number': number}))
    goal = f'goal-{number}'
    node.send_output('goal', pa.array([number]), {'goal_id': goal})
    return goal


def answered(metadata: dict[str, Any]) -> bool:
    """Return whether a message ends a question."""
    return 'request_id' in metadata or metadata.get('goal_status') is not None


def main() -> None:
    """Ask one question after the other."""
    node = Node()
    path = Path(os.environ['RECORD_DIR']) / f'{os.environ["RECORD_AS"]}.jsonl'
    with path.open('a', encoding='utf-8', buffering=1) as file:
        for number in range(3):
            question = ask(node, number)
            ends = 2 if number == 0 and os.environ['KIND'] == 'action' else 1
            while ends:
                event = node.next(timeout=10.0)
                metadata = {key: value for key, value in event['metadata'].items() if key != 'timestamp'}
                ends -= answered(metadata)
                if ends and answered(metadata):
                    node.send_output('cancel', pa.array([number]), {'goal_id': question})
                id_key = 'request_id' if 'request_id' in metadata else 'goal_id'
                own = metadata.pop(id_key) == question
                what = f'{number} {event["value"].to_pylist()} {sorted(metadata.items())} own {own}'
                if os.environ['KIND'] == 'service':
                    what += f' uuid {len(question) == UUID_LENGTH and question[14] == "7"}'
                file.write(json.dumps({'type': event['id'], 'id': what}, sort_keys=True) + '\n')


if __name__ == '__main__':
    main()
