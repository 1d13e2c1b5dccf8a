"""Values that nodes of one machine leave for each other by name, for transports that are made outside of this package.

Each is a file in the run's folder in shared memory, named after the incarnation that stored it: the manager removes the
files of an incarnation that has ended, however it ended.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from adora_ros.errors import NodeError

if TYPE_CHECKING:
    from collections.abc import Iterator

MARK = '.x'
"""Between the incarnation and the name of the value in the name of a file."""


class ExtensionTable:
    """The values that a node stores and reads.

    Args:
        folder: the run's folder in shared memory; None for none.
        owner: begins the names of the files of this incarnation.

    """

    def __init__(self, folder: str | os.PathLike[str] | None, owner: str) -> None:
        self._folder = None if folder is None else Path(folder)
        self._owner = owner
        self._known: dict[tuple[str, str], int] = {}
        """The file, by its number, of each value that was stored or read."""

    def store(self, namespace: str, key: str, value: bytes) -> None:
        """Store a value, in place of one of that name.

        Raises:
            NodeError: there is no folder for it.

        """
        name = self._file_name(namespace, key)
        path = self._place() / f'{self._owner}{MARK}{name}'
        draft = path.with_name(f'{self._owner}.draft{name}')
        before = list(self._files(name))
        draft.write_bytes(value)
        self._known[namespace, key] = draft.stat().st_ino
        draft.replace(path)
        for other in before:
            if other != path:
                other.unlink(missing_ok=True)

    def load(self, namespace: str, key: str, *, remove: bool = False) -> bytes | None:
        """Return a value, None if there is none of that name; with ``remove``, take it away.

        Raises:
            NodeError: there is no folder for values.

        """
        for path in self._files(self._file_name(namespace, key)):
            with contextlib.suppress(FileNotFoundError), path.open('rb') as file:
                self._known[namespace, key] = os.fstat(file.fileno()).st_ino
                value = file.read()
                if remove:
                    path.unlink()
                return value
        return None

    def drop(self, namespace: str, key: str) -> None:
        """Take a value away; there need not be one.

        Raises:
            NodeError: there is no folder for values.

        """
        for path in self._files(self._file_name(namespace, key)):
            path.unlink(missing_ok=True)

    def drain_dropped(self, namespace: str) -> list[str]:
        """Return the keys whose values were stored or read here and are gone, once each."""
        dropped = []
        for (space, key), number in list(self._known.items()):
            if space == namespace and number not in self._numbers(self._file_name(space, key)):
                del self._known[space, key]
                dropped.append(key)
        return dropped

    def close(self) -> None:
        """Take away what this incarnation stored."""
        if self._folder is not None:
            for path in self._folder.glob(f'{self._owner}{MARK}*'):
                path.unlink(missing_ok=True)

    def _place(self) -> Path:
        if self._folder is None:
            msg = 'extension values need shared memory: remove `shared_memory_limit: 0` from the dataflow'
            raise NodeError(msg)
        return self._folder

    def _files(self, name: str) -> Iterator[Path]:
        yield from self._place().glob(f'*{MARK}{name}')

    def _numbers(self, name: str) -> set[int]:
        found = set()
        for path in self._files(name):
            with contextlib.suppress(FileNotFoundError):
                found.add(path.stat().st_ino)
        return found

    @staticmethod
    def _file_name(namespace: str, key: str) -> str:
        return hashlib.sha256(f'{len(namespace)}:{namespace}{key}'.encode()).hexdigest()
