"""From what ``--store`` says to a store."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from adora_ros.coordinator.fallback import FallbackStore
from adora_ros.coordinator.sqlite import DEFAULT_PATH, SqliteStore
from adora_ros.coordinator.store import CoordinatorStore, MemoryStore
from adora_ros.errors import CoordinatorError, StoreError, StoreVersionError

if TYPE_CHECKING:
    from adora_ros.coordinator.store import Warn


def open_store(text: str, *, warn: Warn) -> CoordinatorStore:
    """Return the store for ``memory``, ``sqlite`` or ``sqlite:PATH``.

    Raises:
        CoordinatorError: the text names no store, or a path that is refused.
        StoreVersionError: the database is one of another version.
        StoreError: the file cannot be used.

    """
    name, colon, path = text.partition(':')
    if text == 'memory':
        return MemoryStore()
    if name == 'sqlite':
        return SqliteStore(path if colon else DEFAULT_PATH, warn=warn)
    if name == 'redb':
        msg = '--store redb: redb has no Python binding that works; use --store sqlite'
        raise CoordinatorError(msg)
    msg = f'--store {text}: there is no such store; use memory, sqlite or sqlite:PATH'
    raise CoordinatorError(msg)


def open_or_fall_back(text: str, *, warn: Warn) -> tuple[CoordinatorStore, str]:
    """Return the store that ``text`` names, or memory, with a warning, if it cannot be used at the moment.

    Returns:
        The store, and what it is, for people.

    Raises:
        CoordinatorError: the text names no store, or a path that is refused.
        StoreVersionError: the database is one of another version; going on without its records would hide them.

    """
    try:
        store = open_store(text, warn=warn)
        if isinstance(store, MemoryStore):
            return store, 'memory'
        return FallbackStore(store, warn=warn, clock=time.monotonic), text
    except StoreVersionError:
        raise
    except StoreError as error:
        warn(f'{error}; the coordinator goes on in memory, without the records in it')
        return MemoryStore(failure=str(error)), f'memory, since {text} cannot be used'
