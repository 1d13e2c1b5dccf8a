"""Where the coordinator keeps its records: the protocol, and the store that forgets."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Protocol

from adora_ros.coordinator.encoding import encode
from adora_ros.errors import StaleGenerationError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from adora_ros.coordinator.records import Record, RecordT

Warn = Callable[[str], None]
"""Takes one line about something that went wrong and was survived."""


class CoordinatorStore(Protocol):
    """Keeps records by kind and key. Has one owner, and is called on one thread.

    Attributes:
        failure: Why what was put last is not as durable as it should be; empty if it is.

    """

    failure: str

    def put(self, record: Record) -> None:
        """Keep a record; when this returns, it is as durable as the store is.

        Raises:
            StaleGenerationError: the store has this record in the same or a later generation.
            RecordError: the record is too large.
            StoreError: it cannot be written; what was there before still is.

        """

    def get(self, cls: type[RecordT], key: str) -> RecordT | None:
        """Return a record, or None if there is none or it cannot be read.

        Raises:
            StoreError: the store cannot be read.

        """

    def list(self, cls: type[RecordT]) -> tuple[RecordT, ...]:
        """Return all records of a kind that can be read, ordered by key.

        Raises:
            StoreError: the store cannot be read.

        """

    def delete(self, cls: type[RecordT], key: str) -> bool:
        """Forget a record; return whether there was one.

        Raises:
            StoreError: it cannot be written.

        """

    def together(self) -> AbstractContextManager[None]:
        """Write what is put and deleted meanwhile at once: it becomes durable at the end, all of it or nothing.

        Raises:
            StoreError: it cannot be written; what was there before still is.

        """

    def close(self) -> None:
        """Give the store up; it is not used any more."""


class MemoryStore:
    """A store that is gone with its process.

    Args:
        records: What it begins with.
        failure: Why it is used in the place of a durable one; empty if it is not.

    """

    def __init__(self, records: Iterable[Record] = (), *, failure: str = '') -> None:
        self.failure = failure
        self._records = {(type(record), record.key): record for record in records}

    def put(self, record: Record) -> None:
        """Keep a record; see :meth:`CoordinatorStore.put`."""
        encode(record)
        place = (type(record), record.key)
        if place in self._records:
            refuse_stale(record, self._records[place].generation)
        self._records[place] = record

    def get(self, cls: type[RecordT], key: str) -> RecordT | None:
        """Return a record, or None."""
        record = self._records.get((cls, key))
        return record if isinstance(record, cls) else None

    def list(self, cls: type[RecordT]) -> tuple[RecordT, ...]:
        """Return all records of a kind, ordered by key."""
        found = [record for record in self._records.values() if isinstance(record, cls)]
        return tuple(sorted(found, key=lambda record: record.key))

    def delete(self, cls: type[RecordT], key: str) -> bool:
        """Forget a record; return whether there was one."""
        return self._records.pop((cls, key), None) is not None

    def together(self) -> AbstractContextManager[None]:
        """Do nothing beside the writing, since there is nothing to wait for."""
        return contextlib.nullcontext()

    def close(self) -> None:
        """Forget everything."""
        self._records.clear()


def refuse_stale(record: Record, kept: int) -> None:
    """Refuse a record that is not newer than the one that is kept.

    Raises:
        StaleGenerationError: it is not.

    """
    if record.generation <= kept:
        name = f'{record.KIND}.{record.key}'
        msg = f'{name}: generation {record.generation} is stale, {kept} is there; read it again and repeat the change'
        raise StaleGenerationError(msg)
