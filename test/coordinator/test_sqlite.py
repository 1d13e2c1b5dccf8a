"""The SQLite store where things go wrong: other people's files, broken files, full disks, other processes."""

from __future__ import annotations

import contextlib
import hashlib
import os
import resource
import sqlite3
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from adora_ros.coordinator import sqlite
from adora_ros.coordinator.encoding import MAX_RECORD
from adora_ros.coordinator.opening import open_or_fall_back, open_store
from adora_ros.coordinator.records import BuildRecord, DataflowRecord, Record, Status
from adora_ros.coordinator.sqlite import SqliteStore
from adora_ros.coordinator.store import MemoryStore
from adora_ros.errors import CoordinatorError, RecordError, StaleGenerationError, StoreError, StoreVersionError
from coordinator.build import STAMP, record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NOBODY = 65534
IN_MEMORY = '; the coordinator goes on in memory, without the records in it'
RUBBISH = b'these are not the pages you are looking for ' * 1000


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / 'coordinator.db'


def opened(database: Path, warnings: list[str] | None = None) -> SqliteStore:
    return SqliteStore(str(database), warn=(warnings if warnings is not None else []).append)


def filled(database: Path, count: int = 3) -> list[Any]:
    made = [record(DataflowRecord, f'run-{number}', name='flow') for number in range(count)]
    store = opened(database)
    for each in made:
        store.put(each)
    store.close()
    return made


def change(database: Path, *statements: str) -> None:
    with contextlib.closing(sqlite3.connect(database, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def digest(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


# Where it is


def test_a_new_folder_and_its_file_are_for_their_owner_only(tmp_path: Path) -> None:
    database = tmp_path / 'new' / 'folder' / 'coordinator.db'
    old = os.umask(0)
    try:
        store = opened(database)
        store.put(record(DataflowRecord))
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (database.parent, *database.parent.iterdir())}
    finally:
        os.umask(old)
    store.close()
    assert modes == {'folder': 0o700, 'coordinator.db': 0o600, 'coordinator.db-wal': 0o600}


def test_a_file_that_others_could_read_is_closed_to_them(database: Path) -> None:
    filled(database)
    database.chmod(0o644)
    opened(database).close()
    assert stat.S_IMODE(database.stat().st_mode) == 0o600


def test_the_default_is_in_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('HOME', str(tmp_path))
    (tmp_path / '.adora').mkdir(mode=0o755)
    store = open_store('sqlite', warn=print)
    store.close()
    assert (tmp_path / '.adora' / 'coordinator.db').is_file()
    assert stat.S_IMODE((tmp_path / '.adora').stat().st_mode) == 0o700


@pytest.mark.parametrize('path', ['../coordinator.db', '/tmp/../etc/coordinator.db', 'a/..'])
def test_a_path_with_two_dots_is_refused(path: str) -> None:
    with pytest.raises(CoordinatorError, match=r'a path with `\.\.` is refused; give the path that you mean$'):
        open_store(f'sqlite:{path}', warn=print)


@pytest.mark.parametrize(
    ('text', 'problem'),
    [
        ('redb', '--store redb: redb has no Python binding that works; use --store sqlite'),
        ('redb:/tmp/x', '--store redb: redb has no Python binding that works; use --store sqlite'),
        ('memory:/tmp/x', '--store memory:/tmp/x: there is no such store; use memory, sqlite or sqlite:PATH'),
        ('', '--store : there is no such store; use memory, sqlite or sqlite:PATH'),
        ('sqlite:', 'the path of the database is empty; leave it out for the default, or give one'),
    ],
)
def test_what_is_no_store(text: str, problem: str) -> None:
    with pytest.raises(CoordinatorError) as caught:
        open_or_fall_back(text, warn=print)
    assert str(caught.value) == problem


# What is in it


def test_it_is_durable_before_it_answers(database: Path) -> None:
    store = opened(database)
    assert store._pragma('journal_mode') == 'wal'
    assert store._pragma('synchronous') == 2
    store.close()


def test_what_was_put_is_there_when_it_is_opened_again(database: Path) -> None:
    made = filled(database)
    store = opened(database)
    assert list(store.list(DataflowRecord)) == made
    store.close()


@pytest.mark.parametrize('version', [2, 0, 99])
def test_a76_a_database_of_another_version_is_refused_and_left_untouched(database: Path, version: int) -> None:
    filled(database)
    change(database, f'PRAGMA user_version={version}')
    before = digest(database.parent)
    with pytest.raises(StoreVersionError) as caught:
        opened(database)
    assert str(caught.value) == (
        f'{database}: it has schema version {version}, this adora_ros has 1; use the adora_ros that wrote it, or name '
        'another path (the file has not been touched)'
    )
    assert digest(database.parent) == before
    with pytest.raises(StoreVersionError):
        open_or_fall_back(f'sqlite:{database}', warn=print)
    assert digest(database.parent) == before


@pytest.mark.parametrize('application', [0, 1234])
def test_the_database_of_another_program_is_refused_and_left_untouched(database: Path, application: int) -> None:
    change(database, 'CREATE TABLE theirs (x)', f'PRAGMA application_id={application}')
    before = digest(database.parent)
    with pytest.raises(StoreVersionError, match="it is another program's database, not a coordinator's; name another"):
        opened(database)
    assert digest(database.parent) == before


CORRUPTIONS = {
    'not JSON': ("body = '{'", 'its checksum is wrong'),
    'a changed byte': ('body = CAST(replace(body, "flow", "flaw") AS BLOB)', 'its checksum is wrong'),
    'a text': ('body = CAST(body AS TEXT)', 'its checksum is wrong'),
    'nothing': ('body = zeroblob(0)', 'its checksum is wrong'),
    'no record': ("body = CAST('[]' AS BLOB), checksum = 223132457", 'not an object: []'),
    'another record': ("key = 'run-9'", 'it is the record of run-1'),
    'a key that cannot be': ("key = ''", 'it is the record of run-1'),
    'too large': (f'body = zeroblob({MAX_RECORD + 1})', f'{MAX_RECORD + 1} bytes are more than the {MAX_RECORD} of a'),
}


@pytest.mark.parametrize('corruption', CORRUPTIONS)
def test_a_corrupt_record_is_skipped_with_a_warning_and_the_rest_is_listed(database: Path, corruption: str) -> None:
    made = filled(database)
    assignment, problem = CORRUPTIONS[corruption]
    change(database, f"UPDATE records SET {assignment.replace(chr(34), chr(39))} WHERE key = 'run-1'")  # noqa: S608
    warnings: list[str] = []
    store = opened(database, warnings)
    assert list(store.list(DataflowRecord)) == [made[0], made[2]]
    assert len(warnings) == 1
    assert warnings[0].startswith(f'{database}: dataflows.')
    assert f'skipped, it is corrupt: {problem}' in warnings[0]
    store.put(made[1].moved(STAMP, Status.RUNNING).changed(STAMP))
    store.close()


def test_a_broken_page_costs_what_was_on_it_and_no_more(database: Path) -> None:
    store = opened(database)
    made = [record(DataflowRecord, f'run-{number:02d}', descriptor=f'{number:04d}' * 5000) for number in range(8)]
    for each in made:
        store.put(each)
    store.close()
    content = bytearray(database.read_bytes())
    place = content.index(b'0003' * 400)
    content[place : place + 40] = b'?' * 40
    database.write_bytes(content)
    warnings: list[str] = []
    store = opened(database, warnings)
    assert list(store.list(DataflowRecord)) == [*made[:3], *made[4:]]
    store.close()
    assert warnings == [f'{database}: dataflows.run-03 skipped, it is corrupt: its checksum is wrong']


def test_a_record_above_64_mib_is_refused_on_the_way_in(database: Path) -> None:
    store = opened(database)
    with pytest.raises(RecordError, match=rf'bytes are more than the {64 * 1024 * 1024} of a record'):
        store.put(record(DataflowRecord, descriptor='x' * MAX_RECORD))
    assert store.list(DataflowRecord) == ()
    store.close()


# What happens to it


def test_a_database_that_another_process_holds(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = filled(database)
    monkeypatch.setattr(sqlite, 'BUSY_TIMEOUT', 0.1)
    script = (
        'import sqlite3, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None); c.execute("BEGIN IMMEDIATE");'
        'print("held", flush=True); sys.stdin.read()'
    )
    command = [sys.executable, '-S', '-c', script, str(database)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == 'held\n'
        warnings: list[str] = []
        store, kind = open_or_fall_back(f'sqlite:{database}', warn=warnings.append)
        holder.communicate()
    assert isinstance(store, MemoryStore)
    assert store.failure.startswith(f'{database}: database is locked')
    assert kind == f'memory, since sqlite:{database} cannot be used'
    assert warnings == [
        f'{database}: database is locked; end the process that has it open (fuser shows which), or name another path'
        + IN_MEMORY
    ]
    again = opened(database)
    assert list(again.list(DataflowRecord)) == made
    again.close()


def test_while_it_is_open_no_other_process_can_change_it(database: Path) -> None:
    store = opened(database)
    store.put(record(DataflowRecord))
    script = (
        'import sqlite3, sys; c = sqlite3.connect(sys.argv[1], timeout=0.1)\n'
        'try: c.execute("DELETE FROM records")\n'
        'except sqlite3.OperationalError as e: print(e)'
    )
    command = [sys.executable, '-S', '-c', script, str(database)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout == 'database is locked\n'
    assert len(store.list(DataflowRecord)) == 1
    store.close()


@contextlib.contextmanager
def full_disk(database: Path) -> Iterator[None]:
    """Let no file grow beyond what the write-ahead log has now, which is how a full disk looks to it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (database.with_name('coordinator.db-wal').stat().st_size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_disk_that_is_full(database: Path) -> None:
    store = opened(database)
    first = record(DataflowRecord)
    store.put(first)
    with full_disk(database), pytest.raises(StoreError, match=rf'^{database}: .*; (free some space|look at the disk)$'):
        store.put(first.changed(STAMP, descriptor='x' * 100_000))
    assert store.list(DataflowRecord) == (first,)
    store.put(first.changed('later'))
    store.close()
    again = opened(database)
    assert again.list(DataflowRecord) == (first.changed('later'),)
    again.close()


@contextlib.contextmanager
def as_nobody() -> Iterator[None]:
    """Give up what root may do, if this is root: it may write everywhere."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def put_together(store: SqliteStore, *records: Record) -> None:
    with store.together():
        for each in records:
            store.put(each)


def test_what_is_written_together_is_written_as_a_whole_or_not_at_all(database: Path) -> None:
    before = filled(database)
    store = opened(database)
    store.put(record(BuildRecord))
    large = record(DataflowRecord, 'large', descriptor='x' * 10_000_000)
    small = record(DataflowRecord, 'small')
    with full_disk(database), pytest.raises(StoreError, match=rf'^{database}: '):
        put_together(store, small, large)
    assert list(store.list(DataflowRecord)) == before
    with pytest.raises(StaleGenerationError):
        put_together(store, small, before[0])
    assert list(store.list(DataflowRecord)) == before
    put_together(store, small, large)
    store.close()
    again = opened(database)
    assert list(again.list(DataflowRecord)) == [large, *before, small]
    again.close()


def test_a_folder_that_cannot_be_written() -> None:
    with tempfile.TemporaryDirectory(prefix='adora_ros_test_') as name:
        folder = Path(name) / 'read_only'
        Path(name).chmod(0o755)
        database = folder / 'coordinator.db'
        made = filled(database)
        database.chmod(0o644)
        folder.chmod(0o555)
        before = digest(folder)
        warnings: list[str] = []
        try:
            with as_nobody():
                new, _ = open_or_fall_back(f'sqlite:{folder / "other.db"}', warn=warnings.append)
                old, _ = open_or_fall_back(f'sqlite:{database}', warn=warnings.append)
        finally:
            folder.chmod(0o755)
        assert isinstance(new, MemoryStore)
        assert isinstance(old, MemoryStore) or os.geteuid() != 0
        assert warnings[0] == (
            f'{folder / "other.db"}: Permission denied; make it writable, or name another path; '
            'the coordinator goes on in memory, without the records in it'
        )
        assert digest(folder) == before
        old.close()
        again = opened(database)
        assert list(again.list(DataflowRecord)) == made
        again.close()


@pytest.mark.parametrize('path', ['/proc/adora/coordinator.db', '/dev/null/coordinator.db', '/'])
def test_a_path_that_cannot_be(path: str) -> None:
    warnings: list[str] = []
    store, _ = open_or_fall_back(f'sqlite:{path}', warn=warnings.append)
    assert isinstance(store, MemoryStore)
    assert len(warnings) == 1
    assert warnings[0].endswith(IN_MEMORY)


def test_a_file_that_is_rubbish_is_left_as_it_is(database: Path) -> None:
    database.write_bytes(RUBBISH)
    warnings: list[str] = []
    store, _ = open_or_fall_back(f'sqlite:{database}', warn=warnings.append)
    assert isinstance(store, MemoryStore)
    assert warnings == [f'{database}: file is not a database; move the file away, or name another path' + IN_MEMORY]
    assert database.read_bytes() == RUBBISH


def overwrite(database: Path) -> None:
    with database.open('r+b') as file:
        file.write(RUBBISH)


def replace(database: Path) -> None:
    other = database.with_name('other')
    other.write_bytes(RUBBISH)
    other.replace(database)


@pytest.mark.parametrize(
    ('damage', 'problem'),
    [
        (overwrite, 'file is not a database; move the file away, or name another path'),
        (replace, 'the file was replaced by another one; restart the coordinator'),
        (Path.unlink, 'No such file or directory; make it writable, or name another path'),
    ],
)
def test_a_file_that_is_replaced_by_rubbish_while_it_is_open(
    database: Path, damage: Callable[[Path], None], problem: str
) -> None:
    warnings: list[str] = []
    store, kind = open_or_fall_back(f'sqlite:{database}', warn=warnings.append)
    assert kind == f'sqlite:{database}'
    first = record(BuildRecord)
    store.put(first)
    damage(database)
    second = first.moved(STAMP, Status.RUNNING)
    store.put(second)
    assert store.list(BuildRecord) == (second,)
    assert warnings == [f'{database}: {problem}; the coordinator goes on in memory']
    store.put(second.moved(STAMP, Status.SUCCEEDED))
    store.close()
    assert len(warnings) == 1
    if damage is replace:
        assert database.read_bytes() == RUBBISH
