"""The store that goes on in memory."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from adora_ros.coordinator.fallback import RETRY, FallbackStore
from adora_ros.coordinator.records import DataflowRecord, MachineRecord, Record, RecordT, Status
from adora_ros.coordinator.store import MemoryStore
from adora_ros.errors import StoreError
from coordinator.build import STAMP, record

if TYPE_CHECKING:
    from collections.abc import Iterator


class Broken(MemoryStore):
    """A store that fails to write for as long as it is told to, and counts what it is asked."""

    def __init__(self) -> None:
        super().__init__()
        self.problem = ''
        self.attempts = 0
        self.transactions = 0

    def put(self, record: Record) -> None:
        """Fail, or keep a record."""
        self._fail()
        super().put(record)

    def delete(self, cls: type[RecordT], key: str) -> bool:
        """Fail, or forget a record."""
        self._fail()
        return super().delete(cls, key)

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """Count what is written at once."""
        self.transactions += 1
        yield

    def close(self) -> None:
        """Keep what is there, to be looked at."""

    def _fail(self) -> None:
        self.attempts += 1
        if self.problem:
            raise StoreError(self.problem)


class Fixture:
    """A store over a broken one, on a clock that is set by hand."""

    def __init__(self, *records: Record) -> None:
        self.behind = Broken()
        for each in records:
            self.behind.put(each)
        self.behind.attempts = 0
        self.warnings: list[str] = []
        self.now = 100.0
        self.store = FallbackStore(self.behind, warn=self.warnings.append, clock=lambda: self.now)


def test_it_begins_with_what_the_store_behind_has() -> None:
    made = record(DataflowRecord)
    fixture = Fixture(made, record(MachineRecord))
    fixture.behind.problem = 'gone'
    assert fixture.store.list(DataflowRecord) == (made,)
    assert fixture.store.get(MachineRecord, 'a') is not None
    assert (fixture.behind.attempts, fixture.warnings) == (0, [])


def test_a_write_that_fails_is_a_warning_and_is_tried_again() -> None:
    fixture = Fixture(record(DataflowRecord, 'old'))
    made = record(DataflowRecord)
    fixture.behind.problem = '/db: database or disk is full; free some space'
    fixture.store.put(made)
    fixture.store.put(made.moved(STAMP, Status.RUNNING))
    assert fixture.store.delete(DataflowRecord, 'old')
    assert [each.status for each in fixture.store.list(DataflowRecord)] == [Status.RUNNING]
    warning = '/db: database or disk is full; free some space; the coordinator goes on in memory'
    assert (fixture.behind.attempts, fixture.warnings) == (1, [warning])
    assert fixture.store.failure == fixture.behind.problem

    fixture.now += RETRY
    fixture.store.save()
    fixture.store.save()
    assert (fixture.behind.attempts, fixture.warnings) == (2, [warning])

    fixture.behind.problem = ''
    fixture.now += RETRY
    fixture.store.save()
    assert fixture.warnings == [warning, 'the store can be written again; nothing was lost']
    assert fixture.store.failure == ''
    assert fixture.behind.list(DataflowRecord) == fixture.store.list(DataflowRecord)


def test_another_reason_is_another_warning() -> None:
    fixture = Fixture()
    fixture.behind.problem = 'one'
    fixture.store.put(record(DataflowRecord))
    fixture.behind.problem = 'two'
    fixture.now += RETRY
    fixture.store.save()
    assert fixture.warnings == ['one; the coordinator goes on in memory', 'two; the coordinator goes on in memory']


def test_it_tries_a_last_time_when_it_is_closed() -> None:
    fixture = Fixture()
    fixture.behind.problem = 'full'
    made = record(DataflowRecord)
    fixture.store.put(made)
    fixture.behind.problem = ''
    fixture.store.close()
    assert fixture.behind.list(DataflowRecord) == (made,)


def test_what_changes_together_is_written_at_once_and_every_record_only_as_it_is_in_the_end() -> None:
    fixture = Fixture(record(DataflowRecord, 'old'))
    made = record(DataflowRecord)
    with fixture.store.together():
        fixture.store.put(made)
        fixture.store.put(made.moved(STAMP, Status.RUNNING))
        fixture.store.put(record(MachineRecord))
        fixture.store.delete(DataflowRecord, 'old')
        assert fixture.behind.attempts == 0
    assert (fixture.behind.transactions, fixture.behind.attempts) == (1, 3)
    assert fixture.behind.list(DataflowRecord) == fixture.store.list(DataflowRecord)

    fixture.behind.problem = 'full'
    with fixture.store.together():
        fixture.store.put(made.moved(STAMP, Status.RUNNING).moved(STAMP, Status.STOPPING))
    assert fixture.warnings == ['full; the coordinator goes on in memory']
    fixture.behind.problem = ''
    fixture.store.close()
    assert [each.status for each in fixture.behind.list(DataflowRecord)] == [Status.STOPPING]
