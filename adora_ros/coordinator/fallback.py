"""A store that goes on in memory when the one behind it fails."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from adora_ros.coordinator.records import KINDS, Record, RecordT
from adora_ros.coordinator.store import MemoryStore
from adora_ros.errors import StaleGenerationError, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from adora_ros.coordinator.store import CoordinatorStore, Warn

RETRY = 5.0
"""Seconds after a failed write before the next one is tried."""


class FallbackStore:
    """Answers from memory and writes through to a store; what could not be written is tried again.

    Reading never fails, and writing only for reasons that lie in the record.

    Args:
        durable: The store behind it; all of its records are read at once.
        warn: Told when writing fails, and when it works again.
        clock: Steady time in seconds.

    Raises:
        StoreError: the store cannot be read.

    """

    def __init__(self, durable: CoordinatorStore, *, warn: Warn, clock: Callable[[], float]) -> None:
        self._durable = durable
        self._warn = warn
        self._clock = clock
        self._memory = MemoryStore(record for cls in KINDS.values() for record in durable.list(cls))
        self._unsaved: dict[tuple[type[Record], str], Record | None] = {}
        self._retry_at = 0.0
        self._held = False
        self.failure = ''

    def put(self, record: Record) -> None:
        """Keep a record; see :meth:`CoordinatorStore.put`."""
        self._memory.put(record)
        self._unsaved[type(record), record.key] = record
        self.save()

    def get(self, cls: type[RecordT], key: str) -> RecordT | None:
        """Return a record, or None."""
        return self._memory.get(cls, key)

    def list(self, cls: type[RecordT]) -> tuple[RecordT, ...]:
        """Return all records of a kind, ordered by key."""
        return self._memory.list(cls)

    def delete(self, cls: type[RecordT], key: str) -> bool:
        """Forget a record; return whether there was one."""
        there = self._memory.delete(cls, key)
        if there:
            self._unsaved[cls, key] = None
            self.save()
        return there

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """Write what changes meanwhile at once; see :meth:`CoordinatorStore.together`."""
        self._held = True
        try:
            yield
        finally:
            self._held = False
            self.save()

    def close(self) -> None:
        """Try a last time to write what is left, and close the store behind."""
        self._retry_at = 0.0
        self.save()
        try:
            self._durable.close()
        except StoreError as error:
            self._warn(str(error))

    def save(self) -> None:
        """Write what is left to write, unless that failed a moment ago."""
        if self._held or not self._unsaved or (self.failure and self._clock() < self._retry_at):
            return
        try:
            self._write()
        except (StoreError, StaleGenerationError) as error:
            if str(error) != self.failure:
                self._warn(f'{error}; the coordinator goes on in memory')
            self.failure = str(error)
            self._retry_at = self._clock() + RETRY
        else:
            if self.failure:
                self._warn('the store can be written again; nothing was lost')
            self.failure = ''

    def _write(self) -> None:
        several = len(self._unsaved) > 1
        with self._durable.together() if several else contextlib.nullcontext():
            for (cls, key), record in self._unsaved.items():
                if record is None:
                    self._durable.delete(cls, key)
                else:
                    self._durable.put(record)
        self._unsaved.clear()
