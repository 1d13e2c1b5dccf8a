"""Arrow values to bytes and back."""

from __future__ import annotations

import datetime as dt
import decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adora_ros.errors import AdoraError, TransportError
from adora_ros.transport.codec import as_array, decode, encode
from adora_ros.transport.metadata import Stamp

STAMP = Stamp(1_700_000_000_123_456_789, 3, 42)
SENT = dt.datetime(2023, 11, 14, 22, 13, 20, 123456, tzinfo=dt.timezone.utc)


def integers(bits: int, *, signed: bool) -> st.SearchStrategy[int]:
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else st.integers(0, 2**bits - 1)


def decimals(precision: int, scale: int) -> st.SearchStrategy[decimal.Decimal]:
    limit = 10**precision - 1
    context = decimal.Context(prec=80)
    return st.integers(-limit, limit).map(lambda n: decimal.Decimal(n).scaleb(-scale, context))


DATES = st.dates(dt.date(1900, 1, 1), dt.date(2200, 1, 1))
FLAT: list[tuple[pa.DataType, st.SearchStrategy[Any]]] = [
    (pa.null(), st.none()),
    (pa.bool_(), st.booleans()),
    *[(getattr(pa, f'int{n}')(), integers(n, signed=True)) for n in (8, 16, 32, 64)],
    *[(getattr(pa, f'uint{n}')(), integers(n, signed=False)) for n in (8, 16, 32, 64)],
    (pa.float16(), st.floats(width=16, allow_nan=False)),
    (pa.float32(), st.floats(width=32, allow_nan=False)),
    (pa.float64(), st.floats(allow_nan=False)),
    (pa.string(), st.text(max_size=8)),
    (pa.large_string(), st.text(max_size=8)),
    (pa.string_view(), st.text(max_size=20)),
    (pa.binary(), st.binary(max_size=8)),
    (pa.large_binary(), st.binary(max_size=8)),
    (pa.binary(3), st.binary(min_size=3, max_size=3)),
    (pa.decimal128(20, 4), decimals(20, 4)),
    (pa.decimal256(60, -2), decimals(60, -2)),
    (pa.date32(), DATES),
    (pa.date64(), DATES),
    (pa.time32('ms'), st.integers(0, 86_399_999)),
    (pa.time64('ns'), st.integers(0, 86_399_999_999_999)),
    *[(pa.timestamp(unit), integers(60, signed=True)) for unit in ('s', 'ms', 'us', 'ns')],
    (pa.timestamp('us', tz='UTC'), integers(60, signed=True)),
    (pa.timestamp('ns', tz='Europe/Berlin'), integers(60, signed=True)),
    *[(pa.duration(unit), integers(60, signed=True)) for unit in ('s', 'ns')],
    (
        pa.month_day_nano_interval(),
        st.tuples(integers(32, signed=True), integers(32, signed=True), integers(64, signed=True)),
    ),
]
KEYS = [(pa.int64(), integers(64, signed=True)), (pa.string(), st.text(max_size=4))]


def nullable(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | values


def list_types(inner: tuple[pa.DataType, st.SearchStrategy[Any]]) -> list[tuple[pa.DataType, st.SearchStrategy[Any]]]:
    item, values = inner
    entries = nullable(values)
    some = st.lists(entries, max_size=3)
    field = pa.field('item', item, metadata={'unit': 'm'})
    return [
        (pa.list_(field), some),
        (pa.large_list(item), some),
        (pa.list_(item, 2), st.lists(entries, min_size=2, max_size=2)),
        (pa.list_view(item), some),
        (
            pa.struct([('x', item), ('y', pa.int8())]),
            st.fixed_dictionaries({'x': entries, 'y': st.none() | st.just(1)}),
        ),
        *[(pa.map_(key, item), st.lists(st.tuples(key_values, entries), max_size=3)) for key, key_values in KEYS],
    ]


types = st.recursive(
    st.sampled_from(FLAT),
    lambda inner: inner.flatmap(lambda pair: st.sampled_from(list_types(pair))),
    max_leaves=3,
)


@st.composite
def arrays(draw: st.DrawFn, of: tuple[pa.DataType, st.SearchStrategy[Any]] | None = None) -> pa.Array:
    """Arrays of any type that Python values make, or of the given one, with nulls, sliced now and then."""
    kind, values = of or draw(types)
    items = draw(st.lists(nullable(values), max_size=8))
    array = pa.array(items, kind)
    start = draw(st.integers(0, len(array)))
    return array.slice(start, draw(st.integers(0, len(array) - start)))


def there_and_back(value: Any) -> Any:
    return decode(encode(value, None, stamp=STAMP).to_pybytes()).value


def assert_same(got: pa.Array, expected: pa.Array) -> None:
    assert got.type.equals(expected.type, check_metadata=True)
    assert got.equals(expected)
    assert got.null_count == expected.null_count
    got.validate(full=True)


@settings(max_examples=300, deadline=None)
@given(arrays())
def test_every_array_comes_back(array: pa.Array) -> None:
    assert_same(there_and_back(array), array)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(FLAT), st.data())
def test_dictionaries_come_back(flat: tuple[pa.DataType, st.SearchStrategy[Any]], data: st.DataObject) -> None:
    kind, values = flat
    if pa.types.is_null(kind) or pa.types.is_interval(kind) or kind == pa.string_view():
        kind, values = pa.string(), st.text(max_size=4)
    entries = pa.array(data.draw(st.lists(values, min_size=1, max_size=4)), kind)
    indices = data.draw(st.lists(nullable(st.integers(0, len(entries) - 1)), max_size=8))
    index_type = data.draw(st.sampled_from([pa.int8(), pa.int32(), pa.uint16()]))
    array = pa.DictionaryArray.from_arrays(pa.array(indices, index_type), entries, ordered=data.draw(st.booleans()))
    start = data.draw(st.integers(0, len(array)))
    assert_same(there_and_back(array.slice(start)), array.slice(start))


@settings(max_examples=100, deadline=None)
@given(types, st.data())
def test_chunked_arrays_come_back_as_one(of: tuple[pa.DataType, st.SearchStrategy[Any]], data: st.DataObject) -> None:
    value = pa.chunked_array(data.draw(st.lists(arrays(of), max_size=4)), of[0])
    got = there_and_back(value)
    assert pa.chunked_array([got]).equals(value)
    assert got.type.equals(value.type, check_metadata=True)


def union(mode: str) -> pa.Array:
    kinds = pa.array([0, 1, 0], pa.int8())
    if mode == 'sparse':
        return pa.UnionArray.from_sparse(kinds, [pa.array([1, 2, 3]), pa.array(['a', 'b', 'c'])])
    return pa.UnionArray.from_dense(kinds, pa.array([0, 0, 1], pa.int32()), [pa.array([1, 3]), pa.array(['b'])])


NON_NULLABLE = pa.list_(pa.field('item', pa.int32(), nullable=False))

SPECIAL = {
    'dictionary of a list': pa.array([['a', 'b'], ['a']], pa.list_(pa.dictionary(pa.int8(), pa.string()))),
    'chunked dictionary': pa.chunked_array([pa.array(['a', 'b']).dictionary_encode()] * 2),
    'chunked without chunks': pa.chunked_array([], pa.list_(pa.string())),
    'dense union': union('dense'),
    'sparse union': union('sparse'),
    'run ends': pa.RunEndEncodedArray.from_arrays(pa.array([2, 5], pa.int32()), pa.array(['a', None])),
    'not nullable': pa.array([[1], [2, 3]], NON_NULLABLE),
    'extension': pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b'0123456789abcdef', None], pa.binary(16))),
    'tensor': pa.ExtensionArray.from_storage(
        pa.fixed_shape_tensor(pa.float32(), (2, 2)), pa.array([[1, 2, 3, 4]], pa.list_(pa.float32(), 4))
    ),
    'large': pa.array(range(100_000)),
    'slice of large': pa.array(range(100_000)).slice(70_000, 3),
    'bits': pa.array([True, None, False] * 50).slice(13, 77),
    'all null': pa.array([None, None], pa.struct([('a', pa.int8())])),
    'empty struct': pa.array([{}, {}, None], pa.struct([])),
    'record batch': pa.record_batch({'a': [1, 2], 'b': ['x', None]}),
}


@pytest.mark.parametrize('value', SPECIAL.values(), ids=SPECIAL.keys())
def test_special_arrays_come_back(value: Any) -> None:
    expected = as_array(value)
    assert_same(there_and_back(value), expected)
    assert expected.to_pylist() == value.to_pylist()


def test_a_slice_does_not_carry_the_rest() -> None:
    whole = pa.array(range(100_000))
    assert encode(whole.slice(50_000, 4), None, stamp=STAMP).size < 600


def test_floats_keep_their_bits() -> None:
    bits = [0x7FF8_0000_0000_0000, 0x7FF0_0000_0000_0001, 0xFFF8_0000_0000_1234, 0x8000_0000_0000_0000]
    array = pa.array(bits, pa.uint64()).view(pa.float64())
    assert there_and_back(array).view(pa.uint64()).to_pylist() == bits


@pytest.mark.parametrize('value', [b'abc', bytearray(b'abc'), memoryview(b'abc'), memoryview(b'xabcx')[1:4]])
def test_bytes_become_uint8_as_in_dora(value: Any) -> None:
    assert_same(there_and_back(value), pa.array([97, 98, 99], pa.uint8()))


def test_empty_bytes() -> None:
    assert_same(there_and_back(b''), pa.array([], pa.uint8()))


def test_a_memoryview_of_another_format_is_sent_as_its_bytes() -> None:
    view = memoryview(b'\x01\x00\x02\x00').cast('H')
    assert there_and_back(view).to_pylist() == [1, 0, 2, 0]


def test_the_value_is_that_of_the_time_of_sending() -> None:
    data = bytearray(b'abc')
    message = encode(data, None, stamp=STAMP).to_pybytes()
    data[0] = 0
    assert decode(message).value.to_pylist() == [97, 98, 99]


def test_stamp_and_parameters_arrive() -> None:
    decoded = decode(encode(pa.array([1]), {'width': 640, 'name': 'left'}, stamp=STAMP))
    assert decoded.metadata == {'timestamp': SENT, 'width': 640, 'name': 'left'}
    assert (decoded.incarnation, decoded.seq) == (3, 42)


def test_reading_copies_nothing() -> None:
    message = encode(pa.array(range(1000)), None, stamp=STAMP).to_pybytes()
    whole = pa.py_buffer(message)
    value = decode(message).value
    data = value.buffers()[1]
    assert whole.address <= data.address
    assert data.address + data.size <= whole.address + whole.size
    del message, whole
    assert value.to_pylist() == list(range(1000))


class Odd:
    """A type that nothing can send."""


@pytest.mark.parametrize(
    ('value', 'text'),
    [
        ([1, 2], 'cannot send a value of type list, only an Arrow array or bytes: send pa.array(...)'),
        (None, 'cannot send a value of type NoneType, only an Arrow array or bytes: send pa.array(...)'),
        (5, 'cannot send a value of type int, only an Arrow array or bytes: send pa.array([5])'),
        ('x', "cannot send a value of type str, only an Arrow array or bytes: send pa.array(['x'])"),
        (
            pa.scalar(1),
            'cannot send a value of type pyarrow.lib.Int64Scalar, only an Arrow array or bytes: send pa.array([value])',
        ),
        (
            pa.table({'a': [1]}),
            'cannot send a value of type pyarrow.lib.Table, only an Arrow array or bytes: send value.to_struct_array()',
        ),
        (Odd(), f'cannot send a value of type {__name__}.Odd, only an Arrow array or bytes: send pa.array(...)'),
        (memoryview(b'abcd')[::2], 'cannot send a memoryview that is not contiguous: send bytes(view)'),
    ],
)
def test_what_cannot_be_sent_says_how(value: Any, text: str) -> None:
    with pytest.raises(TransportError) as caught:
        encode(value, None, stamp=STAMP)
    assert str(caught.value) == text
    assert isinstance(caught.value, (AdoraError, ValueError))


def test_a_long_value_is_not_spelt_out() -> None:
    with pytest.raises(TransportError) as caught:
        encode('x' * 10_000, None, stamp=STAMP)
    assert len(str(caught.value)) < 200


MESSAGE = encode(pa.array(['ab', None, 'c']), {'a': 1}, stamp=STAMP).to_pybytes()


END_MARK = 8
"""Bytes that end a stream; without them it is still one."""


def test_a_truncated_message_is_an_error() -> None:
    for size in sorted(set(range(len(MESSAGE))) - {len(MESSAGE) - END_MARK}):
        with pytest.raises(TransportError, match='not an Arrow IPC stream'):
            decode(MESSAGE[:size])
    assert decode(MESSAGE[:-END_MARK]).value.to_pylist() == ['ab', None, 'c']


def test_offsets_beyond_the_data_are_an_error() -> None:
    offsets = b''.join(n.to_bytes(4, 'little') for n in (0, 2, 2, 3))
    broken = offsets[:-4] + (1000).to_bytes(4, 'little')
    assert MESSAGE.count(offsets) == 1
    with pytest.raises(TransportError, match='not an Arrow IPC stream'):
        decode(MESSAGE.replace(offsets, broken))


@given(st.binary(max_size=200))
def test_other_bytes_are_an_error(data: bytes) -> None:
    with pytest.raises(TransportError):
        decode(data)


def stream(*batches: pa.RecordBatch, custom: dict[bytes, bytes] | None = None) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.RecordBatchStreamWriter(sink, batches[0].schema) as writer:
        for batch in batches:
            writer.write_batch(batch, custom)
    return bytes(sink.getvalue())


def test_a_stream_of_somebody_else_is_read_with_the_time_of_the_message() -> None:
    message = stream(pa.record_batch({'data': [1, 2]}))
    decoded = decode(message, timestamp=STAMP.timestamp)
    assert decoded.value.to_pylist() == [1, 2]
    assert decoded.metadata == {'timestamp': SENT}
    assert (decoded.incarnation, decoded.seq) == (None, None)
    assert decode(message).metadata == {}
    assert decode(stream(pa.record_batch({'data': [1]}), custom={b'k': b'v'})).metadata == {}


def test_streams_of_another_shape_are_errors() -> None:
    one = pa.record_batch({'value': [1]})
    with pytest.raises(TransportError, match='not several'):
        decode(stream(one, one))
    with pytest.raises(TransportError, match='one batch with one column'):
        decode(stream(pa.record_batch({'a': [1], 'b': [2]})))
    with pytest.raises(TransportError, match='no batch'):
        decode(stream(one)[: len(stream(one)) - 8 - len(one.serialize())])
    with pytest.raises(TransportError, match='metadata of a message is not readable'):
        decode(stream(one, custom={b'adora': b'{}'}))
