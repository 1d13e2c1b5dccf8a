"""What every store does, whatever keeps it."""

from __future__ import annotations

import dataclasses
import time
from typing import TYPE_CHECKING

import pytest

from adora_ros.coordinator import encoding
from adora_ros.coordinator.encoding import encode
from adora_ros.coordinator.fallback import FallbackStore
from adora_ros.coordinator.records import BuildRecord, DataflowRecord, MachineRecord, Part, Record, Status
from adora_ros.coordinator.sqlite import SqliteStore
from adora_ros.coordinator.store import CoordinatorStore, MemoryStore
from adora_ros.errors import RecordError, StaleGenerationError
from coordinator.build import STAMP, record, records

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(params=['memory', 'sqlite', 'fallback'])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[CoordinatorStore]:
    warnings: list[str] = []
    made: CoordinatorStore = MemoryStore()
    if request.param != 'memory':
        made = SqliteStore(str(tmp_path / 'store' / 'coordinator.db'), warn=warnings.append)
    if request.param == 'fallback':
        made = FallbackStore(made, warn=warnings.append, clock=time.monotonic)
    yield made
    made.close()
    assert warnings == []


def test_a_record_is_found_as_it_was_put(store: CoordinatorStore) -> None:
    for made in records():
        assert store.get(type(made), 'a') is None
        store.put(made)
        assert store.get(type(made), 'a') == made


def test_a_full_record_is_found_as_it_was_put(store: CoordinatorStore) -> None:
    made = record(
        DataflowRecord,
        name='相机',
        descriptor='{"nodes": [\x00"\\"]}\ud800',
        status=Status.FAILED,
        error="a: it's; b",
        machines=('A', 'B.local'),
        parts=(Part(machine='A', status=Status.FAILED, error='a', seq=7),),
        presumed=True,
    )
    store.put(made)
    assert store.get(DataflowRecord, 'a') == made


def test_the_kinds_do_not_meet(store: CoordinatorStore) -> None:
    store.put(record(DataflowRecord))
    assert store.get(BuildRecord, 'a') is None
    assert store.list(BuildRecord) == ()
    assert not store.delete(MachineRecord, 'a')
    assert len(store.list(DataflowRecord)) == 1


def test_a_list_is_in_the_order_of_the_keys(store: CoordinatorStore) -> None:
    keys = ['b', 'a', "'; DROP TABLE records; --".replace(' ', '_'), 'Z', 'ä', '10', '9', '%']
    for key in keys:
        store.put(record(MachineRecord, key))
    assert [made.id for made in store.list(MachineRecord)] == sorted(keys)


@pytest.mark.parametrize('cls', [DataflowRecord, BuildRecord, MachineRecord])
def test_only_a_newer_generation_is_taken(store: CoordinatorStore, cls: type[Record]) -> None:
    first = record(cls)
    second = first.changed('later')
    store.put(first)
    store.put(second)
    for stale in (first, second, dataclasses.replace(first, created_at='other')):
        with pytest.raises(StaleGenerationError, match=rf'^{cls.KIND}\.a: generation \d is stale, 2 is there; read it'):
            store.put(stale)
    assert store.get(cls, 'a') == second
    later = dataclasses.replace(second, generation=9)
    store.put(later)
    assert store.list(cls) == (later,)


def test_of_two_that_change_the_same_generation_one_wins(store: CoordinatorStore) -> None:
    first = record(DataflowRecord)
    store.put(first)
    one, other = (first.moved(STAMP, status) for status in (Status.RUNNING, Status.STOPPING))
    store.put(one)
    with pytest.raises(StaleGenerationError):
        store.put(other)
    assert store.list(DataflowRecord) == (one,)


def test_what_is_deleted_is_gone_and_can_come_again(store: CoordinatorStore) -> None:
    for made in records():
        assert not store.delete(type(made), 'a')
        store.put(made.changed(STAMP))
        assert store.delete(type(made), 'a')
        assert store.get(type(made), 'a') is None
        assert store.list(type(made)) == ()
        assert not store.delete(type(made), 'a')
        store.put(made)
        assert store.list(type(made)) == (made,)


def test_a_record_at_the_limit_is_taken_and_one_above_refused(
    store: CoordinatorStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    largest = record(DataflowRecord, descriptor='x' * 5000)
    monkeypatch.setattr(encoding, 'MAX_RECORD', len(encode(largest)))
    store.put(largest)
    assert store.get(DataflowRecord, 'a') == largest
    with pytest.raises(RecordError, match=r'^dataflows\.a: \d+ bytes are more than the \d+ of a record; shorten'):
        store.put(dataclasses.replace(largest, generation=2, descriptor='x' * 5001))
    assert store.list(DataflowRecord) == (largest,)


def test_what_is_written_together_is_there_at_the_end(store: CoordinatorStore) -> None:
    old = record(DataflowRecord, 'old')
    store.put(old)
    with store.together():
        for made in records():
            store.put(made)
        store.put(record(DataflowRecord).changed('later'))
        store.delete(DataflowRecord, 'old')
        with pytest.raises(StaleGenerationError):
            store.put(record(DataflowRecord))
        assert store.get(MachineRecord, 'a') == record(MachineRecord)
    assert store.list(DataflowRecord) == (record(DataflowRecord).changed('later'),)
    assert store.list(MachineRecord) == (record(MachineRecord),)
    with store.together():
        pass
    assert len(store.list(BuildRecord)) == 1
