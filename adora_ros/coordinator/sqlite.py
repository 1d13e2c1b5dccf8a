"""The store in an SQLite database: every write is on the disk before it is answered.

The file belongs to one coordinator at a time. It is locked for as long as it is open, so a second coordinator, or a
tool that would write to it, is refused and not raced.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from adora_ros.coordinator.encoding import MAX_RECORD, decode, encode
from adora_ros.coordinator.store import refuse_stale
from adora_ros.errors import CoordinatorError, RecordError, StoreError, StoreVersionError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from adora_ros.coordinator.records import Record, RecordT
    from adora_ros.coordinator.store import Warn

DEFAULT_PATH = '~/.adora/coordinator.db'
SCHEMA_VERSION = 1
"""``PRAGMA user_version`` of the database."""
APPLICATION_ID = 0x41444F52
"""``PRAGMA application_id`` of the database: ``ADOR``."""
BUSY_TIMEOUT = 1.0
"""Seconds to wait for another process that holds the database."""
WAL_LIMIT = 16 * 1024 * 1024
"""Bytes that the write-ahead log keeps after a checkpoint."""

_MAGIC = b'SQLite format 3\0'
_HEADER = 72
"""Bytes at the start of the file with all that is looked at (https://www.sqlite.org/fileformat.html)."""
_VERSION_AT = slice(60, 64)
_APPLICATION_AT = slice(68, 72)

_SCHEMA = """
CREATE TABLE records (
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    generation INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    body BLOB NOT NULL,
    UNIQUE (kind, key)
)
"""
_PUT = """
INSERT INTO records (kind, key, generation, checksum, body) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (kind, key) DO UPDATE
SET generation = excluded.generation, checksum = excluded.checksum, body = excluded.body
WHERE excluded.generation > generation
"""
_GET = """
SELECT checksum, length(body), CASE WHEN length(body) <= ? THEN body END FROM records WHERE kind = ? AND key = ?
"""
_WAYS_OUT = {
    'locked': 'end the process that has it open (fuser shows which), or name another path',
    'full': 'free some space',
    'not a database': 'move the file away, or name another path',
    'malformed': 'move the file away, or restore a backup',
    'readonly': 'make the file and its folder writable, or name another path',
    'unable to open': 'make the file and its folder writable, or name another path',
}


class SqliteStore:
    """A :class:`CoordinatorStore` in one file."""

    def __init__(self, path: str = DEFAULT_PATH, *, warn: Warn) -> None:
        """Open a database, or make one.

        Args:
            path: The file; a missing folder is made. ``~`` stands for the home of the user.
            warn: Told of records that cannot be read.

        Raises:
            CoordinatorError: the path is refused.
            StoreVersionError: the file is a database of another version or program; it has not been touched.
            StoreError: the file cannot be used.

        """
        self.failure = ''
        self._warn = warn
        self._path = _checked(path)
        with self._explained(), contextlib.ExitStack() as opened:
            # Held open until the connection is closed: closing it would drop the connection's locks, which belong to
            # the process. It shows whether the file is still the one that was opened.
            self._file = _open(self._path)
            opened.callback(os.close, self._file)
            self._refuse_foreign()
            uri = f'file:{quote(str(self._path))}?mode=rw'
            self._db = sqlite3.connect(uri, uri=True, timeout=BUSY_TIMEOUT, isolation_level=None)
            opened.callback(self._db.close)
            self._prepare()
            self._opened = opened.pop_all()

    def put(self, record: Record) -> None:
        """Keep a record; it is on the disk when this returns. See :meth:`CoordinatorStore.put`."""
        body = encode(record)
        with self._explained():
            self._refuse_replaced()
            row = (record.KIND, record.key, record.generation, zlib.crc32(body), body)
            written = self._db.execute(_PUT, row).rowcount
            if not written:
                select = 'SELECT generation FROM records WHERE kind = ? AND key = ?'
                refuse_stale(record, self._db.execute(select, (record.KIND, record.key)).fetchone()[0])

    def get(self, cls: type[RecordT], key: str) -> RecordT | None:
        """Return a record, or None, with a warning, if it cannot be read."""
        with self._explained():
            row = self._db.execute(_GET, (MAX_RECORD, cls.KIND, key)).fetchone()
        return None if row is None else self._read(cls, key, row)

    def list(self, cls: type[RecordT]) -> tuple[RecordT, ...]:
        """Return all records of a kind that can be read; the others are skipped with a warning each."""
        with self._explained():
            keys = [
                row[0] for row in self._db.execute('SELECT key FROM records WHERE kind = ? ORDER BY key', (cls.KIND,))
            ]
        found = (self._get_or_skip(cls, key) for key in keys)
        return tuple(record for record in found if record is not None)

    def delete(self, cls: type[RecordT], key: str) -> bool:
        """Forget a record; return whether there was one."""
        with self._explained():
            self._refuse_replaced()
            return bool(self._db.execute('DELETE FROM records WHERE kind = ? AND key = ?', (cls.KIND, key)).rowcount)

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """Write what is put and deleted meanwhile in one transaction; see :meth:`CoordinatorStore.together`."""
        with self._explained():
            self._db.execute('BEGIN IMMEDIATE')
        try:
            yield
            with self._explained():
                self._db.execute('COMMIT')
        except BaseException:
            if self._db.in_transaction:  # some errors have ended it already
                self._db.execute('ROLLBACK')
            raise

    def close(self) -> None:
        """Close the database and let others open it."""
        with self._explained():
            self._opened.close()

    # Reading

    def _get_or_skip(self, cls: type[RecordT], key: str) -> RecordT | None:
        try:
            return self.get(cls, key)
        except StoreError as error:
            self._warn(f'{cls.KIND}.{key} skipped: {error}')
            return None

    def _read(self, cls: type[RecordT], key: str, row: tuple[int, int, bytes | None]) -> RecordT | None:
        checksum, size, body = row
        try:
            if body is None:
                msg = f'{size} bytes are more than the {MAX_RECORD} of a record'
                raise RecordError(msg)  # noqa: TRY301 - one way for all that can be wrong with a record
            if type(body) is not bytes or zlib.crc32(body) != checksum:
                msg = 'its checksum is wrong'
                raise RecordError(msg)  # noqa: TRY301
            record = decode(cls, body)
            if record.key != key:
                msg = f'it is the record of {record.key}'
                raise RecordError(msg)  # noqa: TRY301
        except RecordError as error:
            self._warn(f'{self._path}: {cls.KIND}.{key} skipped, it is corrupt: {error}')
            return None
        return record

    # Opening

    def _refuse_foreign(self) -> None:
        """Refuse, by its header alone, a file that must not be touched.

        A transaction that was cut short has left its journal; the header may be half of it, and counts after that.
        """
        header = os.pread(self._file, _HEADER, 0)
        if not header or self._path.with_name(f'{self._path.name}-journal').exists():
            return
        if header[: len(_MAGIC)] != _MAGIC:
            raise StoreError(self._text('file is not a database'))
        version, application = (int.from_bytes(header[at], 'big') for at in (_VERSION_AT, _APPLICATION_AT))
        self._refuse_version(version, application)

    def _refuse_version(self, version: int, application: int) -> None:
        if application not in {0, APPLICATION_ID}:
            msg = f"{self._path}: it is another program's database, not a coordinator's; name another path"
            raise StoreVersionError(msg)
        if version not in {0, SCHEMA_VERSION} or (version == 0) != (application == 0):
            msg = (
                f'{self._path}: it has schema version {version}, this adora_ros has {SCHEMA_VERSION}; '
                f'use the adora_ros that wrote it, or name another path (the file has not been touched)'
            )
            raise StoreVersionError(msg)

    def _prepare(self) -> None:
        self._pragma('locking_mode=EXCLUSIVE')
        self._db.execute('BEGIN EXCLUSIVE')
        try:
            self._refuse_version(self._pragma('user_version'), self._pragma('application_id'))
            if self._pragma('user_version') == 0:
                self._create()
        except BaseException:
            self._db.execute('ROLLBACK')
            raise
        self._db.execute('COMMIT')
        mode = self._pragma('journal_mode=WAL')
        if mode != 'wal':
            msg = f'{self._path}: this file system cannot keep a write-ahead log (got {mode}); name another path'
            raise StoreError(msg)
        self._pragma('synchronous=FULL')
        self._pragma(f'journal_size_limit={WAL_LIMIT}')

    def _create(self) -> None:
        tables = self._db.execute('SELECT count(*) FROM sqlite_master').fetchone()[0]
        if tables:
            msg = f"{self._path}: it is another program's database, not a coordinator's; name another path"
            raise StoreVersionError(msg)
        self._db.execute(_SCHEMA)
        self._pragma(f'application_id={APPLICATION_ID}')
        self._pragma(f'user_version={SCHEMA_VERSION}')

    def _pragma(self, text: str) -> Any:
        row = self._db.execute(f'PRAGMA {text}').fetchone()
        return None if row is None else row[0]

    # What may go wrong

    def _refuse_replaced(self) -> None:
        """Refuse to write where nobody would find it again: into a file that is not the one at the path any more."""
        opened, there = os.fstat(self._file), self._path.stat()
        if (opened.st_dev, opened.st_ino) != (there.st_dev, there.st_ino):
            msg = f'{self._path}: the file was replaced by another one; restart the coordinator'
            raise StoreError(msg)
        if os.pread(self._file, len(_MAGIC), 0) != _MAGIC:
            raise StoreError(self._text('file is not a database'))

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn what SQLite and the system say into a :class:`StoreError` with a way out."""
        try:
            yield
        except sqlite3.Error as error:
            raise StoreError(self._text(str(error))) from error
        except StoreError:
            raise
        except OSError as error:
            msg = f'{error.filename or self._path}: {error.strerror}; make it writable, or name another path'
            raise StoreError(msg) from error

    def _text(self, problem: str) -> str:
        way_out = next((way for sign, way in _WAYS_OUT.items() if sign in problem), 'look at the disk')
        return f'{self._path}: {problem}; {way_out}'


def _checked(path: str) -> Path:
    if '..' in Path(path).parts:
        msg = f'{path}: a path with `..` is refused; give the path that you mean'
        raise CoordinatorError(msg)
    if not path.strip():
        msg = 'the path of the database is empty; leave it out for the default, or give one'
        raise CoordinatorError(msg)
    return Path(path).expanduser().absolute()


def _open(path: Path) -> int:
    """Open the file, make it and its folder if they are not there, and return its descriptor."""
    folder = path.parent
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
    if folder == Path(DEFAULT_PATH).expanduser().parent:
        folder.chmod(0o700)
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    status = os.fstat(file)
    if status.st_uid == os.geteuid() and stat.S_IMODE(status.st_mode) & 0o077:
        os.fchmod(file, 0o600)
    return file
