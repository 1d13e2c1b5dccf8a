"""Writes every event that it is given as a JSON line to ``$RECORD_DIR/$RECORD_AS.jsonl``, and no times.

``DELAY`` is how many seconds it waits before the first event and ``PAUSE`` how many it works on each, ``TIMEOUT`` makes
it use ``next(timeout)`` instead of iterating, ``EXIT`` is its exit code at the end. ``RELAY`` is an output on which it
passes each message on, ``CRASH`` the number of messages after which its first incarnation dies. With ``DETAIL`` the
values of the metadata are written as well, with ``LOG_ENTRIES`` what a line of a log says in place of the line.
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

LONG = 100
"""Elements from which on only the number and the sum are written."""

LAST_WORDS = 0.3
"""Seconds that it takes at most until what was sent has arrived."""

END_WAIT = 0.2
"""Seconds that ``next`` may wait after the last event; it should not wait at all."""


def plain(value: Any) -> Any:
    """Return a value of Python as JSON can hold it."""
    if isinstance(value, list):
        short = value if len(value) < LONG else [len(value), sum(value)]
        return [plain(item) for item in short]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value if value is None or isinstance(value, (bool, int, str)) else repr(value)


def said(line: str) -> Any:
    """Return what a line says: of a log entry in JSON the parts that are the same in every run."""
    try:
        entry = json.loads(line)
    except ValueError:
        return line
    return {key: entry.get(key) for key in ('level', 'node_id', 'message', 'target', 'fields')}


def describe(event: dict[str, Any]) -> dict[str, Any]:
    """Return what of ``event`` does not depend on time."""
    record: dict[str, Any] = {'keys': sorted(event), 'kind': event['kind'], 'type': event['type']}
    if 'id' in event:
        record['id'] = event['id']
    if event['type'] == 'INPUT':
        record['arrow'] = str(event['value'].type)
        record['value'] = plain(event['value'].to_pylist())
        if 'LOG_ENTRIES' in os.environ:
            record['value'] = [said(line) for line in record['value']]
        record['metadata'] = sorted(event['metadata'])
        if 'DETAIL' in os.environ:
            given = {key: value for key, value in event['metadata'].items() if key != 'timestamp'}
            record['parameters'] = {key: f'{type(value).__name__} {value!r}' for key, value in sorted(given.items())}
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
        time.sleep(float(os.environ.get('DELAY', '0')))
        inputs = 0
        for event in events(node, timeout):
            write(describe(event))
            inputs += event['type'] == 'INPUT'
            if 'RELAY' in os.environ and event['type'] == 'INPUT':
                node.send_output(os.environ['RELAY'], event['value'], event['metadata'])
            if inputs == int(os.environ.get('CRASH', '-1')) and not node.is_restart():
                time.sleep(LAST_WORDS)
                os._exit(9)
            time.sleep(pause)
        write({'type': 'END', 'next': node.next(timeout=END_WAIT)})
    return int(os.environ.get('EXIT', '0'))


if __name__ == '__main__':
    sys.exit(main())
