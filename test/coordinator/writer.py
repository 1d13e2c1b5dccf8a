"""Writes to a store as fast as it can, and says on the standard output of what it has written that it was answered.

It writes one at a time and several together, in turns.

Usage: ``writer.py DATABASE FIRST``, with the number of the first write.
"""

from __future__ import annotations

import os
import sys

from adora_ros.coordinator.records import DataflowRecord
from adora_ros.coordinator.sqlite import SqliteStore

KEYS = 5
DELETES = 11
"""Every how many writes one is a deletion."""


def written(number: int) -> tuple[str, DataflowRecord | None]:
    """Return the key that a write is about, and what it writes; None for a deletion."""
    key = f'run-{number % KEYS}'
    if number % DELETES == 0:
        return key, None
    # Its size goes from some bytes to some pages, and its contents are different each time.
    descriptor = f'{number:08d}' * (1 + number * 7919 % 3000)
    return key, DataflowRecord(uuid=key, descriptor=descriptor, generation=number + 1, created_at=str(number))


def written_together(first: int) -> int:
    """Return how many are written together from a number on."""
    return 1 + first * 7 % 4


def state_after(writes: int) -> dict[str, DataflowRecord]:
    """Return what the store holds after so many writes, from 0 on."""
    last = dict(map(written, range(max(0, writes - KEYS), writes)))
    return {key: record for key, record in last.items() if record is not None}


def main() -> None:
    """Write until killed."""
    store = SqliteStore(sys.argv[1], warn=print)
    number = int(sys.argv[2])
    os.write(1, b'ready\n')
    while True:
        numbers = range(number, number + written_together(number))
        with store.together():
            for each in numbers:
                write(store, each)
        os.write(1, ''.join(f'{each}\n' for each in numbers).encode())
        number = numbers.stop


def write(store: SqliteStore, number: int) -> None:
    """Make one write."""
    key, record = written(number)
    if record is None:
        store.delete(DataflowRecord, key)
    else:
        store.put(record)


if __name__ == '__main__':
    main()
