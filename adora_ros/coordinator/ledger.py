"""The records as they are kept, and whoever is told of what becomes of them."""

from __future__ import annotations

import contextlib
import functools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from adora_ros.coordinator.limits import Observer
    from adora_ros.coordinator.records import Record, RecordT
    from adora_ros.coordinator.store import CoordinatorStore


class Ledger:
    """Keeps records in a store, and tells of every change once it is as durable as the store is.

    Args:
        store: Where the records are kept.
        observer: Told of every change.

    """

    def __init__(self, store: CoordinatorStore, observer: Observer) -> None:
        self._store = store
        self._observer = observer
        self._untold: list[Callable[[], None]] | None = None

    def get(self, cls: type[RecordT], key: str) -> RecordT | None:
        """Return a record, or None."""
        return self._store.get(cls, key)

    def list(self, cls: type[RecordT]) -> tuple[RecordT, ...]:
        """Return all records of a kind, ordered by key."""
        return self._store.list(cls)

    @property
    def failure(self) -> str:
        """Why what was written last is in memory only; empty if it is where it should be."""
        return self._store.failure

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """Write what changes meanwhile at once, and tell of it after that: many changes then wait for the disk once."""
        untold: list[Callable[[], None]] = []
        self._untold = untold
        try:
            with self._store.together():
                yield
        finally:
            self._untold = None
            for tell in untold:
                tell()

    def commit(self, before: Record | None, after: Record) -> None:
        """Write the next generation of a record and tell the observer.

        Raises:
            StaleGenerationError: somebody else has changed it.
            RecordError: it is too large.
            StoreError: it cannot be written.

        """
        self._store.put(after)
        self._tell(functools.partial(self._observer.changed, before, after))

    def _erase(self, record: Record) -> None:
        """Forget a record and tell the observer."""
        self._store.delete(type(record), record.key)
        self._tell(functools.partial(self._observer.changed, record, None))

    def _tell(self, tell: Callable[[], None]) -> None:
        """Tell the observer, once all that led to it is written."""
        if self._untold is None:
            tell()
        else:
            self._untold.append(tell)
