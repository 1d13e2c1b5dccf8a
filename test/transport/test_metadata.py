"""Metadata to JSON and back."""

from __future__ import annotations

import datetime as dt
import json
import math
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adora_ros.errors import TransportError
from adora_ros.transport.metadata import Stamp, pack, unpack, utc

STAMP = Stamp(1_700_000_000_123_456_789, 3, 42)
SENT = dt.datetime(2023, 11, 14, 22, 13, 20, 123456, tzinfo=dt.timezone.utc)
EAST = dt.timezone(dt.timedelta(hours=5, minutes=30))

datetimes = st.datetimes(
    SENT.replace(year=2, tzinfo=None),
    SENT.replace(year=9998, tzinfo=None),
    timezones=st.sampled_from([dt.timezone.utc, EAST]),
)
scalars = st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats() | st.text(max_size=10) | datetimes
parameters = st.dictionaries(st.text(max_size=6), scalars | st.lists(scalars, max_size=4), max_size=5)


def there_and_back(given_: Any) -> dict[str, Any]:
    return unpack(pack(given_, STAMP))[0]


def shown(value: Any) -> str:
    """Return a text that tells types, signs of zero, NaN and instants apart."""
    if isinstance(value, list):
        return f'[{", ".join(map(shown, value))}]'
    return repr(value.astimezone(dt.timezone.utc).replace(fold=0) if isinstance(value, dt.datetime) else value)


@given(parameters)
def test_every_parameter_comes_back_with_its_type(given_: dict[str, Any]) -> None:
    got = there_and_back(given_)
    assert got.pop('timestamp') == given_.pop('timestamp', SENT)
    assert got.keys() == given_.keys()
    assert {k: shown(v) for k, v in got.items()} == {k: shown(v) for k, v in given_.items()}


@given(parameters)
def test_the_text_is_strict_json(given_: dict[str, Any]) -> None:
    def refuse(constant: str) -> None:
        pytest.fail(f'{constant} is not JSON')

    raw = json.loads(pack(given_, STAMP), parse_constant=refuse)
    assert (raw['timestamp'], raw['incarnation'], raw['seq']) == (STAMP.timestamp, 3, 42)


@pytest.mark.parametrize('nothing', [None, {}])
def test_without_parameters_there_is_only_the_timestamp(nothing: Any) -> None:
    assert unpack(pack(nothing, STAMP)) == ({'timestamp': SENT}, 3, 42)


def test_bytes_are_read_too() -> None:
    assert unpack(pack({'a': 1}, STAMP).encode()) == ({'timestamp': SENT, 'a': 1}, 3, 42)


def test_keys_of_a_later_release_are_skipped() -> None:
    assert unpack('{"timestamp":0,"seq":1,"route":[1],"incarnation":0}') == ({'timestamp': utc(0)}, 0, 1)


@given(st.integers(-(10**18), 10**19))
def test_a_timestamp_is_exact_to_the_microsecond(timestamp: int) -> None:
    assert (utc(timestamp) - utc(0)) // dt.timedelta(microseconds=1) == timestamp // 1000
    assert utc(timestamp).tzinfo is dt.timezone.utc


def test_a_forwarded_timestamp_stays_that_of_the_origin() -> None:
    origin = there_and_back({'frame': 7})
    forwarded = unpack(pack(origin, Stamp(STAMP.timestamp + 10**9, 0, 1)))[0]
    assert forwarded == {'timestamp': SENT, 'frame': 7}


def test_a_naive_datetime_is_local_time() -> None:
    naive = dt.datetime(2024, 5, 1, 12, 30, 0, 250)  # noqa: DTZ001
    got = there_and_back({'at': naive})['at']
    assert got == naive.astimezone()
    assert got.tzinfo is dt.timezone.utc


def test_tuples_come_back_as_lists() -> None:
    assert there_and_back({'size': (640, 480), 'none': ()}) == {'timestamp': SENT, 'size': [640, 480], 'none': []}


def test_numpy_values_count_as_what_they_hold() -> None:
    got = there_and_back(
        {
            'i': np.int32(5),
            'u': np.uint8(5),
            'f': np.float32(0.5),
            'd': np.float64(0.25),
            'b': np.bool_(True),  # noqa: FBT003
            'a': np.array([1, 2]),
            'l': [np.int64(1), np.float64(2.5)],
            'n': np.float64('nan'),
        }
    )
    assert math.isnan(got.pop('n'))
    assert {k: (type(v), v) for k, v in got.items() if k != 'timestamp'} == {
        'i': (int, 5),
        'u': (int, 5),
        'f': (float, 0.5),
        'd': (float, 0.25),
        'b': (bool, True),
        'a': (list, [1, 2]),
        'l': (list, [1, 2.5]),
    }


@pytest.mark.parametrize(
    'value',
    [None, {'a': 1}, b'ab', [[1]], [None], [b'x'], dt.date(2024, 1, 1), np.zeros((2, 2)), 1j],
    ids=lambda v: type(v).__name__,
)
def test_other_values_are_sent_as_text_with_a_warning(value: Any) -> None:
    with pytest.warns(RuntimeWarning, match=f"metadata 'k' of type {type(value).__name__} is sent as text"):
        text = pack({'k': value}, STAMP)
    assert unpack(text)[0]['k'] == str(value)


def test_what_can_be_carried_warns_of_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        pack({'a': 1, 'b': [True, 'x'], 'c': SENT}, STAMP)


@pytest.mark.parametrize('value', [2**63, -(2**63) - 1, [0, 2**64], np.uint64(2**63)])
def test_an_int_beyond_64_bits_is_an_error(value: Any) -> None:
    with pytest.raises(TransportError, match=r"metadata 'k' does not fit .* 64 bits: send it as a str or a float"):
        pack({'k': value}, STAMP)


def test_a_key_has_to_be_a_str() -> None:
    with pytest.raises(TransportError, match='metadata key 1 is of type int: use a str'):
        pack({1: 2}, STAMP)  # type: ignore[dict-item]


@pytest.mark.parametrize('value', [[('a', 1)], 'abc', 5])
def test_metadata_has_to_be_a_mapping(value: Any) -> None:
    with pytest.raises(TransportError, match=f'metadata has to be a dict, not {type(value).__name__}'):
        pack(value, STAMP)


@pytest.mark.parametrize(
    'text',
    [
        '',
        '[]',
        '{}',
        'null',
        '{"timestamp":"x"}',
        '{"timestamp":1e400}',
        '{"timestamp":1,"parameters":5}',
        '{"timestamp":1,"parameters":{"a":{"unknown":1}}}',
        '{"timestamp":1,"parameters":{"a":{"float":1,"datetime":2}}}',
        '{"timestamp":1,"parameters":{"a":{}}}',
        b'\xff',
        '{"timestamp":99999999999999999999999999}',
    ],
)
def test_text_that_is_no_metadata_is_an_error(text: str | bytes) -> None:
    with pytest.raises(TransportError, match='metadata of a message is not readable'):
        unpack(text)
