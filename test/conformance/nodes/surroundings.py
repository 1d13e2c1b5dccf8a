"""Writes what a node can find out about itself, as ``record.py`` writes events."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

import pyarrow as pa
from dora import Node

VARIABLES = ('PLAIN', 'NUMBER', 'FLAG', 'SPACES', 'EXPANDED', 'ROOT', 'BOTH', 'PYTHONUNBUFFERED')


def attempt(call: object, *args: object) -> str:
    """Return the result of a call, or that it raised."""
    try:
        return repr(call(*args))  # type: ignore[operator]
    except (RuntimeError, ValueError, TypeError, OverflowError):
        return 'raises'


def main() -> None:
    """Write, then end."""
    node = Node()
    descriptor = node.dataflow_descriptor()
    facts = {
        'args': sys.argv[1:],
        'env': {name: os.environ.get(name) for name in VARIABLES},
        'folder': Path.cwd().name,
        'config': node.node_config(),
        'nodes': [entry['id'] for entry in descriptor['nodes']],
        'id': len(node.dataflow_id()),
        'time': str(node.timestamp().tzinfo),
        'restart': [node.is_restart(), node.restart_count()],
        'undeclared': attempt(node.send_output, 'nope', pa.array([1])),
        'raw undeclared': attempt(node.send_output_raw, 'nope', 4),
        'empty': attempt(node.is_empty),
        'try_recv': attempt(node.try_recv),
        'timeout': node.next(timeout=0.05)['type'],
        'async': asyncio.run(node.recv_async(timeout=0.05))['type'],
        'negative': attempt(node.next, -1.0),
        'nan': attempt(node.next, float('nan')),
        'text': attempt(node.send_output, 'data', 'text'),
        'list': attempt(node.send_output, 'data', [1]),
        'none': attempt(node.send_output, 'data', None),
        'key': attempt(node.send_output, 'data', pa.array([1]), {1: 2}),
        'huge': attempt(node.send_output, 'data', pa.array([1]), {'a': 2**63}),
        'metadata': attempt(node.send_output, 'data', pa.array([1]), [1]),
        'log': attempt(node.log, 'info', 'text', 'target', {'k': 'v'}),
    }
    with node.send_output_raw('data', 4) as buffer:
        memoryview(buffer)[:] = b'1234'
    path = Path(os.environ['RECORD_DIR']) / f'{os.environ["RECORD_AS"]}.jsonl'
    with path.open('a', encoding='utf-8') as file:
        for name, value in facts.items():
            file.write(json.dumps({'type': name, 'id': value}, sort_keys=True) + '\n')


if __name__ == '__main__':
    main()
