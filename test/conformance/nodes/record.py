"""Writes every event that it is given as a JSON line to ``$RECORD_DIR/$RECORD_AS.jsonl``, and no times.

``PAUSE`` is how many seconds it works on each event, ``TIMEOUT`` makes it use ``next(timeout)`` instead of iterating,
``EXIT`` is its exit code at the end.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dora import Node

if TYPE_CHECKING:
    from collections.abc import Iterator

END_WAIT = 0.2
"""Seconds that ``next`` may wait after the last event; it should not wait at all."""


def describe(event: dict[str, Any]) -> dict[str, Any]:
    """Return what of ``event`` does not depend on time."""
    record: dict[str, Any] = {'keys': sorted(event), 'kind': event['kind'], 'type': event['type']}
    if 'id' in event:
        record['id'] = event['id']
    if event['type'] == 'INPUT':
        record['arrow'] = str(event['value'].type)
        record['value'] = event['value'].to_pylist()
        record['metadata'] = sorted(event['metadata'])
        record['timestamp'] = str(event['metadata']['timestamp'].tzinfo)
    elif 'value' in event:
        record['value'] = event['value']
    if 'error' in event:
        record['error'] = event['error'].splitlines()[0]
    return record


def events(node: Any, timeout: float | None) -> Iterator[dict[str, Any]]:
    """Yield the events of ``node`` until it has no more."""
    if timeout is None:
        yield from node
        return
    while (event := node.next(timeout=timeout)) is not None:
        yield event


def main() -> int:
    """Record until the events end."""
    node = Node()
    pause = float(os.environ.get('PAUSE', '0'))
    timeout = float(os.environ['TIMEOUT']) if 'TIMEOUT' in os.environ else None
    path = Path(os.environ['RECORD_DIR']) / f'{os.environ["RECORD_AS"]}.jsonl'
    with path.open('a', encoding='utf-8', buffering=1) as file:

        def write(record: dict[str, Any]) -> None:
            file.write(json.dumps(record, sort_keys=True) + '\n')

        write({'type': 'START', 'is_restart': node.is_restart(), 'restart_count': node.restart_count()})
        for event in events(node, timeout):
            write(describe(event))
            time.sleep(pause)
        write({'type': 'END', 'next': node.next(timeout=END_WAIT)})
    return int(os.environ.get('EXIT', '0'))


if __name__ == '__main__':
    sys.exit(main())
