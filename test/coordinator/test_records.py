"""Records: which steps they may make, how the parts of a dataflow add up, and their encoding."""

from __future__ import annotations

import dataclasses
import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adora_ros.coordinator import encoding
from adora_ros.coordinator.encoding import decode, encode
from adora_ros.coordinator.records import (
    BuildRecord,
    DataflowRecord,
    MachineRecord,
    Part,
    Presence,
    Record,
    Status,
    check_step,
    combine,
)
from adora_ros.errors import RecordError
from coordinator.build import STAMP, record

P, R, X, S, F, C = (
    Status.PENDING,
    Status.RUNNING,
    Status.STOPPING,
    Status.SUCCEEDED,
    Status.FAILED,
    Status.RECOVERING,
)
ALLOWED = {
    *((P, to) for to in (R, X, S, F, C)),
    *((R, to) for to in (X, S, F, C)),
    *((X, to) for to in (S, F, C)),
    *((C, to) for to in (P, R, X, S, F)),
}


@pytest.mark.parametrize(('origin', 'target'), list(itertools.product(Status, Status)))
def test_every_step(origin: Status, target: Status) -> None:
    if (origin, target) in ALLOWED:
        check_step(origin, target)
    else:
        with pytest.raises(RecordError, match=rf'^{origin.value} cannot become {target.value}; what may follow is '):
            check_step(origin, target)


def test_a_step_makes_a_generation_and_leaves_the_first_stamp() -> None:
    first = record(DataflowRecord, name='flow')
    second = first.moved('later', R)
    assert (first.generation, first.created_at, first.updated_at) == (1, STAMP, STAMP)
    assert (second.generation, second.created_at, second.updated_at) == (2, STAMP, 'later')
    assert (second.name, second.status) == ('flow', R)


def test_only_a_presumed_failure_can_be_corrected() -> None:
    failed = record(DataflowRecord).moved(STAMP, F, 'a: exit code 1')
    with pytest.raises(RecordError, match=r'^Failed cannot become Running; what may follow is nothing; it is final$'):
        failed.moved(STAMP, R)
    presumed = record(DataflowRecord).moved(STAMP, F, 'silent', presumed=True)
    running = presumed.moved(STAMP, R)
    assert (running.status, running.error, running.presumed) == (R, '', False)
    assert (failed.over, presumed.over, running.over) == (True, False, False)


@pytest.mark.parametrize('key', ['', 'a b', 'a\n', 'x' * 201, '\x7f'])
def test_what_cannot_be_a_key(key: str) -> None:
    with pytest.raises(RecordError, match=r'^machines: .* cannot be a key: use 1 to 200 printable characters'):
        MachineRecord.new(key)


@pytest.mark.parametrize(
    ('parts', 'lost', 'expected'),
    [
        ([], [], (P, '')),
        ([], ['A'], (F, 'machine A: gone')),
        ([('A', P, '')], [], (P, '')),
        ([('A', R, ''), ('B', P, '')], [], (P, '')),
        ([('A', R, ''), ('B', S, '')], [], (R, '')),
        ([('A', R, ''), ('B', F, 'b: exit code 1')], [], (R, '')),
        ([('A', R, ''), ('B', X, '')], [], (X, '')),
        ([('A', S, ''), ('B', S, '')], [], (S, '')),
        ([('A', F, 'a: exit code 1'), ('B', F, 'b: signal:SIGKILL')], [], (F, 'a: exit code 1; b: signal:SIGKILL')),
        ([('A', S, ''), ('B', F, '')], [], (F, 'machine B: failed')),
        ([('A', R, ''), ('B', R, '')], ['B'], (R, '')),
        ([('A', S, ''), ('B', R, '')], ['B'], (F, 'machine B: gone')),
        ([('A', R, '')], ['A'], (F, 'machine A: gone')),
        ([('A', S, '')], ['A'], (S, '')),
    ],
)
def test_the_parts_of_a_dataflow_add_up(
    parts: list[tuple[str, Status, str]], lost: list[str], expected: tuple[Status, str]
) -> None:
    made = tuple(Part(machine=machine, status=status, error=error) for machine, status, error in parts)
    assert combine(made, dict.fromkeys(lost, 'gone')) == expected


KEYS = st.text(st.characters(min_codepoint=33, max_codepoint=0x2FFF, exclude_categories=['Z', 'C']), min_size=1)
TEXTS = st.text(max_size=20)
COMMON: dict[str, Any] = {'generation': st.integers(0, 2**62), 'created_at': TEXTS, 'updated_at': TEXTS}
PARTS = st.builds(Part, machine=TEXTS, status=st.sampled_from(Status), error=TEXTS, seq=st.integers(0))
ANY_RECORD = st.one_of(
    st.builds(
        DataflowRecord,
        uuid=KEYS,
        name=TEXTS,
        descriptor=TEXTS,
        status=st.sampled_from(Status),
        error=TEXTS,
        machines=st.lists(TEXTS).map(tuple),
        parts=st.lists(PARTS).map(tuple),
        presumed=st.booleans(),
        **COMMON,
    ),
    st.builds(BuildRecord, uuid=KEYS, name=TEXTS, machine=TEXTS, status=st.sampled_from(Status), error=TEXTS, **COMMON),
    st.builds(MachineRecord, id=KEYS, hostname=TEXTS, status=st.sampled_from(Presence), **COMMON),
)


@given(ANY_RECORD)
def test_a_record_survives_its_encoding(given_record: Record) -> None:
    assert decode(type(given_record), encode(given_record)) == given_record


@pytest.mark.parametrize(
    ('change', 'problem'),
    [
        ({'status': 'Sleeping'}, "status: 'Sleeping' is not a valid Status"),
        ({'generation': True}, 'generation is True, not of type int'),
        ({'generation': -1}, 'generation -1 is below zero'),
        ({'name': None}, 'name is None, not of type str'),
        ({'machines': 'A'}, "machines is 'A', not a list"),
        ({'parts': [{'machine': 'A'}]}, 'its fields are machine, not machine, status, error, seq'),
        ({'uuid': ''}, 'cannot be a key'),
        ({'more': 1}, 'its fields are '),
    ],
)
def test_what_is_not_a_record(change: dict[str, Any], problem: str) -> None:
    data = {**dataclasses.asdict(record(DataflowRecord)), **change}
    with pytest.raises(RecordError, match=problem):
        decode(DataflowRecord, json.dumps(data).encode())


@pytest.mark.parametrize('body', [b'', b'{', b'[]', b'null', b'\xff\xfe', b'{"uuid":1}'])
def test_rubbish_is_not_a_record(body: bytes) -> None:
    with pytest.raises(RecordError):
        decode(DataflowRecord, body)


def test_the_limit_is_on_the_encoded_record(monkeypatch: pytest.MonkeyPatch) -> None:
    fits = record(DataflowRecord, descriptor='x' * 100)
    monkeypatch.setattr(encoding, 'MAX_RECORD', len(encode(fits)))
    encode(fits)
    with pytest.raises(RecordError, match=r'^dataflows\.a: \d+ bytes are more than the \d+ of a record; shorten'):
        encode(record(DataflowRecord, descriptor='x' * 101))
