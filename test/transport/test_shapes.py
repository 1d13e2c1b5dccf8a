"""Streams written and read by the shape of an earlier one are those that Arrow writes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adora_ros.transport.codec import encode, read
from adora_ros.transport.metadata import Stamp
from adora_ros.transport.ports import ArrowPort
from adora_ros.transport.shapes import PLAIN, SIZE_LIMIT, ShapeReader, ShapeWriter, elements, plain_size, shape_of

HEADER = 16
"""Bytes of a serialized message before its data."""
HEAD = b'whatever comes before'


@st.composite
def values(draw: st.DrawFn) -> pa.Array:
    kind = draw(st.sampled_from([*PLAIN, pa.bool_(), pa.string(), pa.timestamp('ns')]))
    some = draw(st.lists(st.sampled_from([0, 1, 2, 3]), max_size=4))
    array = pa.array(some, pa.uint8()).cast(pa.float64() if kind == pa.float16() else pa.int64()).cast(kind)
    if draw(st.booleans()) and len(array):
        array = pa.concat_arrays([array, pa.nulls(1, kind)])
    start = draw(st.integers(0, len(array)))
    return array.slice(start, draw(st.integers(0, len(array) - start)))


@given(st.lists(st.tuples(values(), st.integers(0, 10**12)), max_size=8))
def test_a_port_writes_what_arrow_writes_and_reads_it_whatever_came_before(sent: list[tuple[pa.Array, int]]) -> None:
    sender, receiver = ArrowPort(), ArrowPort()
    for array, seq in sent * 2:
        stamp = Stamp(1_700_000_000_123_456_789, 1, seq)
        message = sender.to_message(array, {'n': seq} if seq % 3 == 0 else None, stamp)
        expected = encode(array, {'n': seq} if seq % 3 == 0 else None, stamp=stamp)
        if plain_size(array) == sum(buffer.size for buffer in array.buffers() if buffer is not None):
            assert message[HEADER:] == expected.to_pybytes()
        decoded = receiver.from_message(message)
        assert decoded.value.type == array.type
        assert decoded.value.equals(array)
        decoded.value.validate(full=True)
        assert decoded.seq == seq
        assert decoded.metadata.get('n') == (seq if seq % 3 == 0 else None)


def stream_of(array: pa.Array, seq: int = 1) -> tuple[bytes, bytes]:
    stream = encode(array, None, stamp=Stamp(1, 0, seq)).to_pybytes()
    text = read(stream)[1]
    assert text is not None
    return stream, text


@pytest.mark.parametrize('kind', PLAIN, ids=str)
def test_the_second_stream_of_a_kind_goes_the_short_way(kind: pa.DataType) -> None:
    first, second = (pa.array(np.array(numbers), kind) for numbers in ([1, 2, 3], [4, 5, 6]))
    writer, reader = ShapeWriter(), ShapeReader()
    stream, text = stream_of(first)
    assert writer.message(first, text) is None
    assert reader.read(HEAD + stream) is None
    writer.learn(first, HEAD + stream, len(HEAD), text)
    reader.learn(first, HEAD + stream, len(HEAD), text)
    other, other_text = stream_of(second, 2)
    assert writer.message(second, other_text) == HEAD + other
    found = reader.read(HEAD + other)
    assert found is not None
    assert found[0].equals(second)
    assert found[1] == other_text


@pytest.mark.parametrize('change', [0, len(HEAD), 80, -1, -40])
def test_a_stream_that_differs_in_one_byte_around_its_elements_goes_the_long_way(change: int) -> None:
    array = pa.array(range(8), pa.uint8())
    stream, text = stream_of(array)
    message = HEAD + stream
    reader = ShapeReader()
    reader.learn(array, message, len(HEAD), text)
    changed = bytearray(message)
    changed[change] ^= 1
    assert reader.read(message) is not None
    inside = message.find(text) <= change % len(message) < message.find(text) + len(text)
    assert (reader.read(bytes(changed)) is not None) == inside
    assert reader.read(message[:-1]) is None
    assert reader.read(message[:50]) is None


@pytest.mark.parametrize(
    'array',
    [pa.array([1, None]), pa.array([True]), pa.array([], pa.uint8()), pa.array(['a']), pa.nulls(3)],
    ids=lambda array: f'{array.type} {len(array)}',
)
def test_other_arrays_have_no_shape(array: Any) -> None:
    stream, text = stream_of(array)
    assert plain_size(array) is None
    assert shape_of(array, stream, 0, text) is None


def test_long_arrays_are_not_remembered() -> None:
    array = pa.array(np.zeros(SIZE_LIMIT + 1, np.uint8))
    stream, text = stream_of(array)
    assert shape_of(array, stream, 0, text) is None


def test_the_elements_of_a_slice_are_its_own() -> None:
    array = pa.array([1, 2, 3, 4], pa.int32()).slice(1, 2)
    assert elements(array).to_pybytes() == np.array([2, 3], np.int32).tobytes()
